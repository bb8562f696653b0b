"""What a checker says of a layout."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from pytest_iclayout.geometry.findings import MAX_FINDINGS, Finding


class Verdict(BaseModel):
    """Accepted when there is no finding; a rejection always says why and, where it can, at what place.

    ``more`` counts the findings beyond the first MAX_FINDINGS.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    findings: tuple[Finding, ...] = ()
    more: int = Field(default=0, ge=0)

    @property
    def ok(self) -> bool:
        return not self.findings and self.more == 0

    @classmethod
    def of(cls, *findings: Finding | None, more: int = 0) -> Verdict:
        """A verdict from findings, leaving out those that are None, and ``more`` that are only counted."""
        found = tuple(one for one in findings if one is not None)
        return cls(findings=found[:MAX_FINDINGS], more=more + len(found[MAX_FINDINGS:]))

    def summary(self, limit: int = 5) -> str:
        """The findings for people, a line each, at most ``limit`` and then a count of the rest."""
        if self.ok:
            return "accepted"
        lines = [str(finding) for finding in self.findings[:limit]]
        if rest := len(self.findings) + self.more - len(lines):
            lines.append(f"... and {rest} more")
        return "\n".join(lines)

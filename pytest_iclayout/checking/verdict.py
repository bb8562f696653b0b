"""What a checker says of a layout."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.geometry.findings import Finding


class Verdict(BaseModel):
    """Accepted when there is no finding; a rejection always says why and, where it can, at what place."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        return not self.findings

    @classmethod
    def of(cls, *findings: Finding | None) -> Verdict:
        """A verdict from findings, leaving out those that are None."""
        return cls(findings=tuple(one for one in findings if one is not None))

    def summary(self, limit: int = 5) -> str:
        """The findings for people, a line each, at most ``limit`` and then a count of the rest."""
        if self.ok:
            return "accepted"
        lines = [str(finding) for finding in self.findings[:limit]]
        if len(self.findings) > limit:
            lines.append(f"... and {len(self.findings) - limit} more")
        return "\n".join(lines)

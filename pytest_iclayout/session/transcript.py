"""Transcripts: one JSON line a command, a last line with the document hash."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_iclayout.session.errors import ErrorCode
from pytest_iclayout.technology.errors import explain


class TranscriptError(ValueError):
    """A transcript that cannot be read or replayed; the message names file and line."""


class Outcome(BaseModel):
    """What a command did. ``affected`` for mutations, ``value`` for data, the two error fields for failures."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    revision: int
    affected: tuple[int, ...] | None = None
    value: dict[str, Any] | None = None
    error_code: ErrorCode | None = None
    error_message: str | None = None

    @property
    def ok(self) -> bool:
        return self.error_code is None

    def to_json(self) -> dict[str, Any]:
        """The transcript form: ``{"ok": {"result": "ok" or "data", ...}}`` or ``{"err": {"code", "message"}}``."""
        if self.error_code is not None:
            return {"err": {"code": self.error_code.value, "message": self.error_message}}
        body: dict[str, Any] = {"result": "ok" if self.value is None else "data", "revision": self.revision}
        if self.value is not None:
            body["value"] = self.value
        if self.affected is not None:
            body["affected"] = list(self.affected)
        return {"ok": body}


class Entry(BaseModel):
    """One executed command."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seq: int
    command: dict[str, Any]
    revision_before: int
    revision_after: int
    outcome: Outcome
    ts_start_ms: int
    ts_end_ms: int
    tokens_in: int | None = None
    tokens_out: int | None = None

    def to_json(self) -> dict[str, Any]:
        return {**self.model_dump(exclude={"outcome"}), "outcome": self.outcome.to_json()}


class PlanStep(BaseModel):
    """Narration of one iteration; takes no part in a replay."""

    model_config = ConfigDict(frozen=True)

    goal: str = ""
    intended_tools: tuple[str, ...] = ()
    expected_checks: tuple[str, ...] = ()


class _RecordedOk(BaseModel):
    result: Literal["ok", "data", "blob"]
    revision: int | None = None
    affected: list[int] | None = None


class _RecordedError(BaseModel):
    code: str
    message: str = ""


class RecordedOutcome(BaseModel):
    """An outcome as any program of the field wrote it."""

    ok: _RecordedOk | None = None
    err: _RecordedError | None = None


class RecordedCommand(BaseModel):
    """A transcript line as any program of the field wrote it; unknown fields are allowed."""

    seq: int = Field(ge=0)
    command: dict[str, Any]
    outcome: RecordedOutcome


class Transcript(BaseModel):
    """A transcript read back: commands with their recorded outcomes, and the last line."""

    origin: str
    commands: tuple[RecordedCommand, ...]
    final_hash: int
    plan: tuple[PlanStep, ...] = ()


class _LastLine(BaseModel):
    final_hash: int
    plan: tuple[PlanStep, ...] = ()


def format_transcript(entries: Iterable[Entry], final_hash: int, plan: Sequence[PlanStep] = ()) -> str:
    """The transcript's text, a line each command and the last line."""
    lines = [json.dumps(entry.to_json(), separators=(",", ":")) for entry in entries]
    last = {"final_hash": final_hash, "plan": [step.model_dump(mode="json") for step in plan]}
    lines.append(json.dumps(last, separators=(",", ":")))
    return "\n".join(lines) + "\n"


def parse_transcript(text: str, origin: str) -> Transcript:
    """Read a transcript. Raises TranscriptError with ``origin`` and the line number.

    A last line that is missing or cut off is an error: the run that wrote it did not end.
    """
    lines = [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]
    if not lines:
        raise TranscriptError(f"{origin}: empty; a transcript has a line a command and a last line with final_hash")
    commands = []
    for number, line in lines[:-1]:
        commands.append(_validate(RecordedCommand, line, f"{origin}:{number}"))
        if commands[-1].seq != len(commands) - 1:
            raise TranscriptError(
                f"{origin}:{number}: seq is {commands[-1].seq}, expected {len(commands) - 1}; "
                "a line is missing or doubled"
            )
    number, line = lines[-1]
    last = _validate(_LastLine, line, f"{origin}:{number}")
    return Transcript(origin=origin, commands=tuple(commands), final_hash=last.final_hash, plan=last.plan)


def _validate(model: type[Any], line: str, where: str) -> Any:
    try:
        data = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise TranscriptError(
            f"{where}: not a complete JSON line ({error}); the transcript is cut off or damaged"
        ) from error
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise TranscriptError(f"{where}: {explain(error)}") from error

"""Transcripts: one JSON line a command, a last line with the document hash."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NoReturn

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError, model_validator

from pytest_iclayout.session.errors import ErrorCode
from pytest_iclayout.technology.errors import explain


class TranscriptError(ValueError):
    """A transcript that cannot be read or replayed; the message names file and line."""


class BlobDigest(BaseModel):
    """What a transcript keeps of bytes: how many, and their SHA-256 in hexadecimal."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    count: int
    sha256: str

    @classmethod
    def of(cls, data: bytes) -> BlobDigest:
        return cls(count=len(data), sha256=hashlib.sha256(data).hexdigest())


class Outcome(BaseModel):
    """What a command did. ``affected`` for mutations, ``value`` for data, the two error fields for failures.

    A file is in ``data`` and its digest in ``blob``; the transcript keeps the digest only.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    revision: int
    affected: tuple[int, ...] | None = None
    value: dict[str, Any] | None = None
    blob: BlobDigest | None = None
    data: bytes | None = Field(default=None, exclude=True, repr=False)
    error_code: ErrorCode | None = None
    error_message: str | None = None

    @property
    def ok(self) -> bool:
        return self.error_code is None

    @property
    def recorded(self) -> Outcome:
        """The outcome without the bytes of a file."""
        return self if self.data is None else self.model_copy(update={"data": None})

    def to_json(self) -> dict[str, Any]:
        """The transcript form: ``{"ok": {"result", ...}}`` or ``{"err": {"code", "message"}}``.

        ``result`` is ``"ok"``, ``"data"`` with a ``value``, or ``"blob"`` with the digest of its ``bytes``.
        """
        if self.error_code is not None:
            return {"err": {"code": self.error_code.value, "message": self.error_message}}
        body: dict[str, Any] = {"result": "ok" if self.value is None else "data", "revision": self.revision}
        if self.blob is not None:
            body.update(result="blob", bytes=self.blob.model_dump())
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
    revision: StrictInt | None = None
    affected: list[StrictInt] | None = None


class _RecordedError(BaseModel):
    code: str
    message: str = ""


class RecordedOutcome(BaseModel):
    """An outcome as any program of the field wrote it."""

    ok: _RecordedOk | None = None
    err: _RecordedError | None = None

    @model_validator(mode="after")
    def _is_one(self) -> RecordedOutcome:
        if (self.ok is None) == (self.err is None):
            raise ValueError("needs either ok or err")
        return self


class RecordedCommand(BaseModel):
    """A transcript line as any program of the field wrote it; unknown fields are allowed."""

    seq: int = Field(ge=0, strict=True)
    command: dict[str, Any]
    outcome: RecordedOutcome


class Transcript(BaseModel):
    """A transcript read back: commands with their recorded outcomes, and the last line."""

    origin: str
    commands: tuple[RecordedCommand, ...]
    final_hash: int
    plan: tuple[PlanStep, ...] = ()
    lines: tuple[int, ...] = ()
    """The line of each command in the file."""

    def where(self, number: int) -> str:
        """``file:line`` of a command, for messages."""
        return f"{self.origin}:{self.lines[number]}" if number < len(self.lines) else f"{self.origin}: seq {number}"


class _LastLine(BaseModel):
    final_hash: StrictInt
    plan: tuple[PlanStep, ...] = ()


def format_transcript(entries: Iterable[Entry], final_hash: int, plan: Sequence[PlanStep] = ()) -> str:
    """The transcript's text, a line each command and the last line."""
    lines = [_json_line(entry.to_json()) for entry in entries]
    lines.append(_json_line({"final_hash": final_hash, "plan": [step.model_dump(mode="json") for step in plan]}))
    return "\n".join(lines) + "\n"


def _json_line(data: dict[str, Any]) -> str:
    return json.dumps(data, separators=(",", ":"), allow_nan=False)


def parse_transcript(text: str, origin: str) -> Transcript:
    """Read a transcript. Raises TranscriptError with ``origin`` and the line number.

    A last line that is missing or cut off is an error: the run that wrote it did not end.
    """
    # Not splitlines: programs write U+2028 and its like unescaped inside of a string.
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise TranscriptError(f"{origin}: empty; a transcript has a line a command and a last line with final_hash")
    commands = []
    for number, line in lines[:-1]:
        where = f"{origin}:{number}"
        commands.append(_validate(RecordedCommand, _load(line, where), where))
        if commands[-1].seq != len(commands) - 1:
            raise TranscriptError(
                f"{origin}:{number}: seq is {commands[-1].seq}, expected {len(commands) - 1}; "
                "a line is missing or doubled"
            )
    number, line = lines[-1]
    data = _load(line, f"{origin}:{number}")
    if isinstance(data, dict) and "command" in data and "final_hash" not in data:
        raise TranscriptError(
            f"{origin}:{number}: the last line is a command; a transcript ends with a line with final_hash, "
            "so this one is cut off"
        )
    last = _validate(_LastLine, data, f"{origin}:{number}")
    return Transcript(
        origin=origin,
        commands=tuple(commands),
        final_hash=last.final_hash,
        plan=last.plan,
        lines=tuple(number for number, _ in lines[:-1]),
    )


def _load(line: str, where: str) -> Any:
    try:
        return json.loads(line, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise TranscriptError(
            f"{where}: not a complete JSON line ({error}); the transcript is cut off or damaged"
        ) from error


def _validate(model: type[Any], data: Any, where: str) -> Any:
    try:
        return model.model_validate(data)
    except ValidationError as error:
        raise TranscriptError(f"{where}: {explain(error)}") from error


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")

"""Replaying transcripts, of ours and of other programs."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass

from pytest_iclayout.session.commands import parse_command
from pytest_iclayout.session.errors import CommandError
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import RecordedCommand, Transcript, TranscriptError

_DELETING = {"delete_cell", "boolean_combine", "import_gds"}
"""Commands that delete elements without naming all of them, or that draw others in their place."""


@dataclass(frozen=True)
class Divergence:
    """A command that did here something else than the transcript says."""

    seq: int
    message: str


@dataclass(frozen=True)
class Replay:
    session: LayoutSession
    divergences: tuple[Divergence, ...]
    refused: int
    """Commands that failed when the transcript was written; they changed nothing and are not repeated."""


def replay(transcript: Transcript, session: LayoutSession) -> Replay:
    """Apply a transcript's commands to a session.

    Commands recorded as failed are left out: they changed nothing then, and must change nothing now.
    Raises TranscriptError for a command that was applied then and is no valid command here (an
    unknown ``op``, a missing argument): from there on the documents would differ silently.
    """
    divergences: list[Divergence] = []
    refused = 0
    for number, recorded in enumerate(transcript.commands):
        if recorded.outcome.err is not None:
            refused += 1
            continue
        try:
            command = parse_command(recorded.command)
        except CommandError as error:
            raise TranscriptError(f"{transcript.where(number)}: {error.message}") from error
        outcome = session.execute(command)
        divergences.extend(_compare(recorded, outcome.error_message, outcome.affected, session.document.elements))
    return Replay(session, tuple(divergences), refused)


def _compare(
    recorded: RecordedCommand, error: str | None, affected: tuple[int, ...] | None, left: Container[int]
) -> list[Divergence]:
    if error is not None:
        return [Divergence(recorded.seq, f"applied when recorded, refused here: {error}")]
    then = None if recorded.outcome.ok is None else recorded.outcome.ok.affected
    if then is None or affected is None:
        return []
    if recorded.command.get("op") in _DELETING:
        # Programs differ in whether they list what went; ids matter where later commands use them.
        if [one for one in then if one in left] == [one for one in affected if one in left]:
            return []
    elif tuple(then) == affected:
        return []
    return [Divergence(recorded.seq, f"affected elements {then} when recorded, {list(affected)} here")]

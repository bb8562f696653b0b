"""replay:DIR: plays recorded transcripts, one a task."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pytest_iclayout.agents.protocol import AgentUnavailable, LayoutTools, Proposal, Turn
from pytest_iclayout.session.transcript import Transcript, TranscriptError, parse_transcript
from pytest_iclayout.suite.context import TaskContext
from pytest_iclayout.suite.files import read_text


class ReplayAgent:
    """Finds ``<task id>.transcript.jsonl`` below DIR, or a transcript in a folder named after the task."""

    backend = "replay"

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._folder = folder

    def start(self, context: TaskContext) -> _ReplaySession:
        found = find_transcripts(self._folder, context.task_id)
        if not found:
            raise AgentUnavailable(f"no transcript of {context.task_id} below {self._folder}")
        if len(found) > 1:
            listed = ", ".join(str(path) for path in found[:5])
            raise AgentUnavailable(f"{len(found)} transcripts of {context.task_id}: {listed}; name a narrower folder")
        text = read_text(found[0])
        transcript = parse_transcript(text, str(found[0]))
        given = [one.command for one in transcript.commands[: len(context.start)]]
        if given != list(context.start):
            raise TranscriptError(f"{found[0]}: does not begin with the layout that task {context.task_id} gives")
        return _ReplaySession(transcript, _line_numbers(text), len(context.start))


class _ReplaySession:
    def __init__(self, transcript: Transcript, lines: Sequence[int], given: int) -> None:
        self._transcript = transcript
        self._lines = lines
        self._given = given

    def propose(self, turn: Turn, layout: LayoutTools) -> Proposal:
        note = f"played {self._transcript.origin}"
        if turn.feedback is not None:
            # All that was drawn, after the follow-ups too, is there: they only have to be heard.
            return Proposal(gives_up=turn.feedback.follow_up is None, note=note)
        for recorded in self._transcript.commands[self._given :]:
            # What failed then changed nothing, and must change nothing now.
            if recorded.outcome.err is not None:
                continue
            outcome = layout.execute(recorded.command)
            if not outcome.ok:
                # From here on this is not the layout that was recorded: judging it would blame the wrong one.
                where = f"{self._transcript.origin}:{self._lines[recorded.seq]}"
                raise TranscriptError(f"{where}: applied when recorded, refused here: {outcome.error_message}")
        return Proposal(note=note)


def _line_numbers(text: str) -> list[int]:
    """The line of each command; empty lines between them are allowed."""
    return [number for number, line in enumerate(text.split("\n"), 1) if line.strip()]


def find_transcripts(folder: Path, task_id: str) -> list[Path]:
    """Transcripts of a task below a folder, sorted: the field's file names, and those of our own results."""
    named = folder.rglob(f"{task_id}.transcript.jsonl")
    ours = folder.rglob(f"{task_id}/*.transcript.jsonl")
    return sorted({*named, *ours})

"""Transcripts replayed and judged outside pytest: what ``iclayout replay`` shows."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.session.replay import replay
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import parse_transcript
from pytest_iclayout.suite.files import SuiteError, read_text
from pytest_iclayout.suite.task import Task, variant_named
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.trial.outcomes import POLICY
from pytest_iclayout.trial.record import read_record

_SUFFIX = ".transcript.jsonl"


class _FieldRecord(BaseModel):
    """What a result record of the field says of a trial; other keys are allowed."""

    model_config = ConfigDict(frozen=True)

    task_id: str
    success: bool


@dataclass(frozen=True)
class Replayed:
    """One transcript: how its replay went, our verdict where the task is known, and the record's where there is one."""

    path: Path
    task_id: str
    commands: int
    divergences: tuple[str, ...]
    document_hash: int
    verdict: Verdict | None
    recorded: bool | None

    @property
    def accepted(self) -> bool | None:
        return None if self.verdict is None else self.verdict.ok

    @property
    def differs(self) -> bool:
        return None not in (self.accepted, self.recorded) and self.accepted != self.recorded

    def to_json(self) -> dict[str, Any]:
        return {
            "transcript": str(self.path),
            "task_id": self.task_id,
            "commands": self.commands,
            "divergences": list(self.divergences),
            "document_hash": self.document_hash,
            "verdict": None if self.verdict is None else self.verdict.model_dump(mode="json"),
            "accepted": self.accepted,
            "recorded": self.recorded,
            "differs": self.differs,
        }


def transcripts_in(paths: Iterable[Path]) -> list[Path]:
    """The transcripts named, and those below folders, sorted. Raises SuiteError for a path that holds none."""
    found: list[Path] = []
    for path in paths:
        below = sorted(path.rglob("*.jsonl")) if path.is_dir() else [path]
        if not below:
            raise SuiteError(f"{path}: no transcript (*.jsonl) below this folder")
        found += below
    return found


def task_id_of(path: Path) -> str:
    """From the field's file names, ``<task id>.transcript.jsonl``; in our results, from the folder."""
    stem = path.name.removesuffix(_SUFFIX) if path.name.endswith(_SUFFIX) else path.stem
    return path.parent.name if _own_record(path).is_file() else stem


def replay_file(path: Path, tasks: Mapping[str, Task], registry: CheckerRegistry) -> Replayed:
    """Replay one transcript and judge the result with the task of its name, or the variant of one.

    Raises TranscriptError, SuiteError and RecordError, which name the file.
    """
    transcript = parse_transcript(read_text(path), str(path))
    task_id = task_id_of(path)
    task = tasks.get(task_id) or variant_named(task_id, tasks, registry)
    session = LayoutSession() if task is None else LayoutSession(task.technology, task.oracle.bench.rule_set)
    done = replay(transcript, session)
    return Replayed(
        path=path,
        task_id=task_id,
        commands=len(transcript.commands),
        divergences=tuple(f"seq {one.seq}: {one.message}" for one in done.divergences),
        document_hash=session.document_hash(),
        verdict=None if task is None else task.oracle.judge(session.export()),
        recorded=_recorded_success(path, task_id),
    )


def _own_record(path: Path) -> Path:
    """The record of a transcript in our results, ``AGENT-DIGEST.transcript.jsonl`` beside ``AGENT.json``."""
    return path.parent / f"{path.name.removesuffix(_SUFFIX).rpartition('-')[0]}.json"


def _recorded_success(path: Path, task_id: str) -> bool | None:
    own = _own_record(path)
    if own.is_file():
        record = read_record(own)
        # A trial without a verdict has nothing to compare with; a left-over transcript is another trial's.
        counts = POLICY[record.outcome].counts and record.transcript == path.name
        # A right layout is no success where the agent gave up before all follow-ups; a replay cannot show that.
        layout_decided = record.verdict is not None and record.verdict.ok == record.success
        return record.success if counts and layout_decided else None
    beside = path.parent / (path.name.removesuffix(_SUFFIX) + ".result.json")
    if not beside.is_file():
        return None
    try:
        data = json.loads(read_text(beside))
        records = [_FieldRecord.model_validate(one) for one in (data if isinstance(data, list) else [data])]
    except ValidationError as error:
        raise SuiteError(f"{beside}: no result record: {explain(error)}") from error
    except ValueError as error:
        raise SuiteError(f"{beside}: not JSON: {error}") from error
    return next((one.success for one in records if one.task_id == task_id), None)

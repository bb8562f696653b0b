"""Trial records: one JSON file a trial, written whole or not at all."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.atomic import write_atomically
from pytest_iclayout.rules.evaluate import Confusion, LayoutResult, Reading
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.trial.outcomes import OutcomeKind

SCHEMA_VERSION: Literal[1] = 1


class RecordError(ValueError):
    """A file that is no trial record; the message names it and what is wrong."""


class TaskParameters(BaseModel):
    """The values that a task's texts were rendered with; ``seed`` and ``variant`` (from 1) of drawn ones."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    values: dict[str, Any]
    seed: int | None = None
    variant: int | None = None


class TrialRecord(BaseModel):
    """One trial.

    ``task_id`` to ``quantization`` are the result record of the field (see docs/records.md); the rest
    is ours.  Times: ``wall_ms`` milliseconds, ``started_at`` ISO 8601 UTC.  Paths are relative to the record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = SCHEMA_VERSION
    task_id: str
    model: str | None = None
    suite_version: str
    success: bool
    iterations: int = Field(ge=0)
    first_proposal_violations: int | None = None
    final_violations: int | None = None
    wall_ms: int = Field(ge=0)
    backend: str
    quantization: str | None = None

    suite: str
    tier: int | None
    agent: str
    outcome: OutcomeKind
    reason: str = ""
    """Why a trial is failed, error or not_run; empty when passed."""
    traceback: str = ""
    """Where an agent or checker that crashed did so; its own frames only."""
    verdict: Verdict | None = None
    """None when none could be had."""
    note: str = ""
    technology: str
    rule_set: str
    checker: str
    task_digest: str | None = None
    """Of the task file's content, as in the suite's lock file."""
    parameters: TaskParameters | None = None
    """None for a task without parameters."""
    max_iterations: int
    follow_ups_given: int = Field(default=0, ge=0)
    """How many of the task's follow-ups the agent was told."""
    commands: int = 0
    failed_commands: int = 0
    last_command_error: str = ""
    """The operation and message of the last command that failed."""
    started_at: str
    nodeid: str
    run_id: str
    document_hash: int | None = None
    artifact: str | None = None
    artifact_sha256: str | None = None
    transcript: str | None = None
    picture: str | None = None
    engines: dict[str, str]

    @property
    def work_id(self) -> str:
        """What the record is filed by: the task's id."""
        return self.task_id

    @property
    def attachments(self) -> frozenset[str]:
        """Names of the files beside the record that belong to it."""
        # Names, never paths: what a record says must not delete anything elsewhere.
        named = (self.artifact, self.transcript, self.picture)
        return frozenset(Path(name).name for name in named if name is not None)


class RuleRecord(BaseModel):
    """One agent's deck for one rule, judged by the rule's layouts.

    Times: ``wall_ms`` milliseconds, ``started_at`` ISO 8601 UTC.  Paths are relative to the record.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_version: Literal[1] = SCHEMA_VERSION
    work: Literal["rule"] = "rule"
    """Tells these records from those of layout tasks, which have no such key."""
    rule_id: str
    group: str
    """The kind of rule, by which results are summed up."""
    suite: str
    suite_version: str
    rule_digest: str
    """Of everything that judges: categories, labels and layouts."""
    agent: str
    backend: str
    model: str | None = None
    quantization: str | None = None
    outcome: OutcomeKind
    reason: str = ""
    """Why a trial is failed, error or not_run; empty when passed."""
    traceback: str = ""
    success: bool
    error: bool = False
    """The deck did not run to its end on some layout: the agent's fault, unlike the outcome ``error``."""
    f1: float = Field(default=0, ge=0, le=1)
    """Mean over the categories; 0 for a deck in error that is read strictly."""
    categories: dict[str, Confusion] = {}
    wrong: tuple[LayoutResult, ...] = ()
    """The layouts of which the deck did not say what the labels do."""
    layouts: int = Field(default=0, ge=0)
    reading: Reading
    has_gold: bool
    """Whether the labels were held against a gold deck before."""
    language: str = "drc"
    context: str = "none"
    """What the agent was shown of the language's documentation."""
    feedback: str = "none"
    iterations: int = Field(default=0, ge=0)
    prompt_tokens: int = Field(default=0, ge=0)
    """An estimate, of the prompt with its documentation."""
    note: str = ""
    started_at: str
    wall_ms: int = Field(ge=0)
    nodeid: str
    run_id: str
    engine: str = ""
    """The application that ran the deck, and its version."""
    engines: dict[str, str]
    deck: str | None = None
    deck_sha256: str | None = None
    picture: str | None = None

    @property
    def work_id(self) -> str:
        """What the record is filed by: the rule's id."""
        return self.rule_id

    @property
    def attachments(self) -> frozenset[str]:
        """Names of the files beside the record that belong to it."""
        named = (self.deck, self.picture)
        return frozenset(Path(name).name for name in named if name is not None)


AnyRecord = TrialRecord | RuleRecord
_Record = TypeVar("_Record", bound=AnyRecord)


class Attachments(BaseModel):
    """Files written beside a record: each by the suffix of its name."""

    model_config = ConfigDict(frozen=True)

    gds: bytes | None = None
    transcript: str | None = None
    png: bytes | None = None
    deck: bytes | None = None
    deck_suffix: str = ".drc"


def record_path(results: Path, suite: str, task_id: str, agent: str) -> Path:
    """``RESULTS/suite/task/agent.json``; characters that no file name can hold become ``_`` and a digest."""
    return results / file_name(suite) / file_name(task_id) / f"{file_name(agent)}.json"


def file_name(text: str) -> str:
    """A portable file name for any text; different texts give different names."""
    safe = "".join(char if char.isascii() and (char.isalnum() or char in "-_.") else "_" for char in text)
    if safe == text and len(safe) <= 100 and safe.strip("."):
        return safe
    # No text that needs no change holds a tilde, so none can look like a changed one.
    return f"{safe[:80]}~{hashlib.sha256(text.encode()).hexdigest()[:8]}"


def write_record(path: Path, record: _Record, attachments: Attachments) -> _Record:
    """Write the attachments, then the record that names them; returns the record as written.

    Attachments carry a digest of their content in the name, so that a record never points to another
    run's file, whenever the writing is cut short.  Raises OSError (disk full, no permission) with
    nothing half-written; what an earlier run left stays as it was.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    names: dict[str, str] = {}
    for kind, suffix, content in (
        ("artifact", ".gds", attachments.gds),
        ("transcript", ".transcript.jsonl", attachments.transcript),
        ("picture", ".png", attachments.png),
        ("deck", attachments.deck_suffix, attachments.deck),
    ):
        if content is not None:
            data = content.encode() if isinstance(content, str) else content
            digest = hashlib.sha256(data).hexdigest()
            names[kind] = f"{path.stem}-{digest[:12]}{suffix}"
            write_atomically(path.parent / names[kind], data)
            if kind in ("artifact", "deck"):
                names[f"{kind}_sha256"] = digest
    written = cast(_Record, record.model_copy(update=names))
    stale = _attachments_of(path) - set(names.values())
    write_atomically(path, (written.model_dump_json(indent=2) + "\n").encode())
    for name in stale:
        (path.parent / name).unlink(missing_ok=True)
    return written


def read_record(path: Path) -> TrialRecord:
    """The record of a layout task. Raises RecordError."""
    record = read_any_record(path)
    if not isinstance(record, TrialRecord):
        raise RecordError(f"{path}: the record of a rule, not of a layout task")
    return record


def read_any_record(path: Path) -> AnyRecord:
    """The record of whatever work. Raises RecordError."""
    try:
        data = path.read_bytes()
        model: type[AnyRecord] = RuleRecord if b'"work"' in data[:200] else TrialRecord
        return model.model_validate_json(data)
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {error.strerror}") from error
    except ValidationError as error:
        raise RecordError(f"{path}: no trial record of schema version {SCHEMA_VERSION}: {explain(error)}") from error


def _attachments_of(path: Path) -> frozenset[str]:
    """The files that the record at ``path`` names. Only these go with it: others may be another run's, just written."""
    try:
        return read_any_record(path).attachments
    except RecordError:
        return frozenset()

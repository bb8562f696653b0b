"""Files of records: names that differ, and attachments that are never another run's to delete."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_iclayout.trial.outcomes import OutcomeKind
from pytest_iclayout.trial.record import Attachments, TrialRecord, file_name, read_record, write_record


@pytest.fixture
def record() -> TrialRecord:
    return TrialRecord(
        task_id="a", suite_version="1", success=False, iterations=1, wall_ms=1, backend="x", suite="s", tier=1,
        agent="x", outcome=OutcomeKind.FAILED, technology="sky130", rule_set="published", checker="c",
        max_iterations=4, started_at="2026-01-01T00:00:00+00:00", nodeid="n", run_id="r", engines={},
    )  # fmt: skip


def test_file_of_another_run_that_no_record_names_yet_is_left_alone(tmp_path: Path, record: TrialRecord) -> None:
    """Its record is about to be written: without the file it would point nowhere."""
    path = tmp_path / "x.json"
    others = tmp_path / "x-0123456789ab.gds"
    others.write_bytes(b"just written")
    write_record(path, record, Attachments(gds=b"one"))
    first = read_record(path).artifact
    write_record(path, record, Attachments(gds=b"two"))
    assert others.is_file()
    assert first is not None
    assert not (tmp_path / first).exists()


def test_record_that_names_a_path_deletes_nothing_elsewhere(tmp_path: Path, record: TrialRecord) -> None:
    victim = tmp_path / "victim"
    victim.write_text("stays")
    folder = tmp_path / "results"
    folder.mkdir()
    path = folder / "x.json"
    path.write_text(record.model_copy(update={"artifact": "../victim"}).model_dump_json())
    write_record(path, record, Attachments(gds=b"two"))
    assert victim.is_file()


def test_attachment_that_stays_the_same_survives_its_record(tmp_path: Path, record: TrialRecord) -> None:
    path = tmp_path / "x.json"
    write_record(path, record, Attachments(gds=b"one"))
    written = write_record(path, record, Attachments(gds=b"one", png=b"picture"))
    assert written.artifact is not None
    assert written.picture is not None
    assert (tmp_path / written.artifact).read_bytes() == b"one"
    assert (tmp_path / written.picture).read_bytes() == b"picture"


@given(st.text(max_size=120))
def test_changed_name_is_no_other_texts_own_name(text: str) -> None:
    name = file_name(text)
    assert name == text or file_name(name) != name
    assert "/" not in name
    assert name not in ("", ".", "..")

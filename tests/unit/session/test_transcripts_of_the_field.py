"""Transcripts that another program wrote must replay here as they ran there."""

from pathlib import Path

import pytest

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.session.replay import replay
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import format_transcript, parse_transcript

FOLDER = Path(__file__).parents[3].parent / "shared" / "data" / "transcripts_dev"
FOUND = sorted(FOLDER.rglob("*.transcript.jsonl"))

pytestmark = pytest.mark.skipif(not FOUND, reason=f"no published transcripts in {FOLDER}")


def test_all_published_transcripts_are_here():
    assert len(FOUND) == 30


@pytest.mark.parametrize("path", FOUND, ids=lambda path: f"{path.parent.name}-{path.name.split('.')[0]}")
def test_published_transcript_replays_without_divergence(path):
    transcript = parse_transcript(path.read_text(encoding="utf-8"), str(path))
    done = replay(transcript, LayoutSession())
    assert done.divergences == ()
    assert done.refused == sum(one.outcome.err is not None for one in transcript.commands)
    document = done.session.document_hash()
    assert document_hash(read_layout(done.session.export())) == document
    again = parse_transcript(format_transcript(done.session.transcript, document), "ours")
    assert replay(again, LayoutSession()).session.document_hash() == document

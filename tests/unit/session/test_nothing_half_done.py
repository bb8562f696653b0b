"""A command applies wholly or changes nothing, and its element ids mean the same shapes for ever."""

from hypothesis import given
from hypothesis import strategies as st
from session_strategies import commands, drawn_data, drawn_session, elements, saved_session

from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.io import read_layout
from pytest_iclayout.session.errors import ErrorCode
from pytest_iclayout.session.replay import replay
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import format_transcript, parse_transcript

QUERIES = {"get_cell_info", "query_shapes", "get_violations", "run_drc", "run_extract", "check_intent", "list_layers"}
QUERIES |= {"export_gds", "export_oasis", "render_png", "save_session", "netlist_compare"}
DRAWING = {"add_rect", "add_polygon", "add_path", "add_label", "place_instance", "place_array"}

sequences = st.lists(commands(), min_size=1, max_size=12)


def state(session):
    return session.document_hash(), elements(session), session.revision, session.technology


@given(sequences)
def test_failing_command_changes_nothing_and_an_applied_one_what_it_says(sequence):
    session = drawn_session()
    last_id = max(session.document.elements)
    for one in sequence:
        before = state(session)
        outcome = session.execute(one)
        now = elements(session)
        assert outcome.revision == session.revision
        assert drawn_data(session) == sorted(now.values()), "an element's handle is not what is drawn"
        if not outcome.ok:
            assert state(session) == before
            assert isinstance(outcome.error_code, ErrorCode)
            assert outcome.error_message
            continue
        if one["op"] in QUERIES:
            assert state(session) == before
            assert outcome.affected is None
            continue
        if one["op"] == "load_session":
            assert state(session) == state(saved_session())
            last_id = max(now)
            continue
        assert session.revision == before[2] + 1
        changed = {number for number in now.keys() | before[1].keys() if now.get(number) != before[1].get(number)}
        assert changed <= set(outcome.affected), "an element changed that the outcome does not name"
        new = sorted(now.keys() - before[1].keys())
        assert new == list(range(last_id + 1, last_id + 1 + len(new))), "ids count on and are never used again"
        last_id += len(new)
        if one["op"] in DRAWING:
            assert list(outcome.affected) == new
            assert len(new) == 1


@given(sequences)
def test_transcript_replays_to_the_same_document_and_the_document_survives_gds(sequence):
    session = drawn_session()
    for one in sequence:
        session.execute(one)
    text = format_transcript(session.transcript, session.document_hash())
    transcript = parse_transcript(text, "run.jsonl")
    assert len(transcript.commands) == len(session.transcript)
    done = replay(transcript, LayoutSession())
    assert done.divergences == ()
    assert done.session.document_hash() == session.document_hash() == transcript.final_hash
    assert elements(done.session) == elements(session)
    assert done.refused == sum(not entry.outcome.ok for entry in session.transcript)
    assert document_hash(read_layout(session.export())) == session.document_hash()


@given(sequences)
def test_replay_of_a_replay_is_the_same(sequence):
    session = drawn_session()
    for one in sequence:
        session.execute(one)
    once = replay(parse_transcript(format_transcript(session.transcript, 0), "a"), LayoutSession()).session
    twice = replay(parse_transcript(format_transcript(once.transcript, 0), "b"), LayoutSession())
    assert twice.refused == 0
    assert twice.session.document_hash() == session.document_hash()

"""Transcripts: the field's form, and one clear error for whatever is no transcript."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_iclayout.session.commands import CreateCell, dump_command, parse_command
from pytest_iclayout.session.errors import CommandError
from pytest_iclayout.session.replay import replay
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import PlanStep, TranscriptError, format_transcript, parse_transcript

MET1 = {"layer": 68, "datatype": 20}
RECT = {"op": "add_rect", "cell": "top", "layer": MET1, "rect": {"min": {"x": 0, "y": 0}, "max": {"x": 9, "y": 9}}}


def drawn():
    session = LayoutSession()
    session.execute({"op": "create_cell", "name": "top"}, tokens_in=120, tokens_out=7)
    session.execute(RECT)
    session.execute({"op": "get_cell_info", "cell": "top"})
    session.execute({"op": "delete_shapes", "ids": [9]})
    session.execute({"op": "route_net", "cell": "top", "net": "n", "layer": MET1, "terminals": []})
    return session


def text_of(session, plan=()):
    return format_transcript(session.transcript, session.document_hash(), plan)


def lines_of(session):
    return [json.loads(line) for line in text_of(session).splitlines()]


def test_records_have_exactly_the_fields_of_the_field():
    first, rect, info, failed, route, last = lines_of(drawn())
    times = {"ts_start_ms", "ts_end_ms", "tokens_in", "tokens_out"}
    fields = {"seq", "command", "revision_before", "revision_after", "outcome", *times}
    assert all(set(one) == fields for one in (first, rect, info, failed, route))
    assert [one["seq"] for one in (first, rect, info, failed, route)] == [0, 1, 2, 3, 4]
    assert first["command"] == {"op": "create_cell", "name": "top"}
    assert (first["tokens_in"], first["tokens_out"], rect["tokens_in"], rect["tokens_out"]) == (120, 7, None, None)
    assert first["outcome"] == {"ok": {"result": "ok", "revision": 1, "affected": []}}
    assert rect["outcome"] == {"ok": {"result": "ok", "revision": 2, "affected": [1]}}
    assert (rect["revision_before"], rect["revision_after"]) == (1, 2)
    assert set(info["outcome"]["ok"]) == {"result", "revision", "value"}
    assert info["outcome"]["ok"]["result"] == "data"
    assert (info["revision_before"], info["revision_after"]) == (2, 2)
    assert failed["outcome"] == {"err": {"code": "no_such_element", "message": "no such element 9"}}
    assert route["outcome"]["ok"]["result"] == "data"
    assert 0 <= first["ts_start_ms"] <= first["ts_end_ms"] <= rect["ts_start_ms"]
    assert last == {"final_hash": drawn().document_hash(), "plan": []}


def test_plan_is_kept_and_takes_no_part_in_a_replay():
    session, step = drawn(), PlanStep(goal="a wire", intended_tools=("add_rect",), expected_checks=("drc",))
    transcript = parse_transcript(text_of(session, [step]), "one")
    assert transcript.plan == (step,)
    last = json.loads(text_of(session, [step]).splitlines()[-1])
    assert last["plan"] == [{"goal": "a wire", "intended_tools": ["add_rect"], "expected_checks": ["drc"]}]
    assert replay(transcript, LayoutSession()).session.document_hash() == session.document_hash()


def test_formatted_transcript_is_parsed_back():
    session = drawn()
    transcript = parse_transcript(text_of(session), "one")
    assert [one.command for one in transcript.commands] == [entry.command for entry in session.transcript]
    assert transcript.final_hash == session.document_hash()
    assert [one.outcome.err is not None for one in transcript.commands] == [False, False, False, True, False]
    assert [transcript.where(number) for number in (0, 4)] == ["one:1", "one:5"]


def test_command_given_as_a_model_is_recorded_in_its_json_form():
    session = LayoutSession()
    assert session.execute(CreateCell(name="top")).ok
    assert session.transcript[0].command == dump_command(CreateCell(name="top")) == {"op": "create_cell", "name": "top"}


def test_recorded_command_does_not_change_with_what_the_caller_does_to_it_later():
    session, command = LayoutSession(), {"op": "delete_shapes", "ids": [1, 2]}
    session.execute(command)
    command["ids"].append(3)
    assert session.transcript[0].command == {"op": "delete_shapes", "ids": [1, 2]}


def nested(depth):
    value = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    "command",
    [
        {"op": "create_cell", "name": float("nan")},
        {"op": "create_cell", "name": float("inf")},
        {"op": "create_cell", "name": b"top"},
        {"op": "create_cell", "name": "top\ud800"},
        {"op": "create_cell", "name": "top", "\ud800": 1},
        {"op": "\udfff"},
        {"op": "create_cell", 3: 4},
        {"op": "create_cell", ("a", 1): 4},
        {"op": "create_cell", "name": nested(5000)},
        {"op": "create_cell", "name": object()},
        {"op": "delete_shapes", "ids": [10**5000]},
        {"op": "delete_shapes", "ids": [float("nan")]},
        {**RECT, "rect": {"min": {"x": 1e400, "y": 0}, "max": {"x": 10**400, "y": 1}}},
        {"op": nested(5000)},
        {"op": "add_label", "cell": "top", "layer": MET1, "text": b"VPWR", "position": {"x": 0, "y": 0}},
        {"op": None},
        None,
        [],
        "create_cell",
        7,
    ],
    ids=[
        "nan", "infinity", "bytes", "surrogate", "surrogate key", "surrogate op", "number key", "tuple key", "deep",
        "object", "huge id", "nan id", "infinite coordinate", "deep op", "label of bytes",
        "no op", "none", "list", "text", "number",
    ],
)  # fmt: skip
def test_command_that_json_cannot_hold_is_refused_recorded_and_replayed(command):
    session = LayoutSession()
    outcome = session.execute(command)
    assert outcome.error_code.value == "invalid_argument"
    assert "\n" not in outcome.error_message
    assert session.execute({"op": "create_cell", "name": "top"}).ok
    text = text_of(session)
    text.encode("utf-8")
    for line in text.splitlines():
        json.loads(line, parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    assert replay(parse_transcript(text, "one"), LayoutSession()).session.document_hash() == session.document_hash()


words = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(("op", "name", "cell", "ids", "layer", "rect", "points", "x")), words))
def test_whatever_an_agent_sends_is_an_outcome_and_a_line_of_the_transcript(command):
    session = LayoutSession()
    outcome = session.execute(command)
    assert not outcome.ok
    assert parse_transcript(text_of(session), "one").commands[0].outcome.err.message == outcome.error_message
    with pytest.raises(CommandError):
        parse_command(command)


OK = (
    '{"seq":%d,"command":{"op":"create_cell","name":"c%d"},"outcome":{"ok":{"result":"ok","revision":1,"affected":[]}}}'
)
LAST = '{"final_hash":7,"plan":[]}'


def record(**changes):
    return json.dumps({**json.loads(OK % (0, 0)), **changes})


def deep_json(depth):
    return '{"seq":0,"command":{"op":' + "[" * depth + "]" * depth + "}}"


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([], "run.jsonl: empty"),
        (["", "  "], "run.jsonl: empty"),
        ([OK % (0, 0)], "run.jsonl:1: the last line is a command; .* cut off"),
        ([OK % (0, 0), OK % (1, 1)], "run.jsonl:2: the last line is a command; .* cut off"),
        ([OK % (0, 0), LAST[:-5]], "run.jsonl:2: not a complete JSON line .*cut off or damaged"),
        ([OK % (0, 0), (OK % (1, 1))[:50]], "run.jsonl:2: not a complete JSON line"),
        ([(OK % (0, 0))[:50], LAST], "run.jsonl:1: not a complete JSON line"),
        (["", OK % (0, 0), "", "x", LAST], "run.jsonl:4: not a complete JSON line"),
        ([OK % (0, 0), OK % (2, 2), LAST], "run.jsonl:2: seq is 2, expected 1; a line is missing or doubled"),
        ([OK % (0, 0), OK % (0, 0), LAST], "run.jsonl:2: seq is 0, expected 1; a line is missing or doubled"),
        ([OK % (1, 0), LAST], "run.jsonl:1: seq is 1, expected 0"),
        ([record(seq=-1), LAST], "run.jsonl:1: seq: "),
        ([record(seq="0"), LAST], "run.jsonl:1: seq: "),
        ([record(seq=True), LAST], "run.jsonl:1: seq: "),
        ([record(seq=10**40), LAST], "run.jsonl:1: seq"),
        (
            [(OK % (0, 0)).replace('"seq":0', '"seq":NaN'), LAST],
            "run.jsonl:1: not a complete JSON line .NaN is no JSON number",
        ),
        ([(OK % (0, 0)).replace('"c0"', "-Infinity"), LAST], "run.jsonl:1: .*-Infinity is no JSON number"),
        ([(OK % (0, 0)).replace('"seq":0', f'"seq":{"9" * 5000}'), LAST], "run.jsonl:1: "),
        ([record(command=None), LAST], "run.jsonl:1: command: "),
        ([record(command=[]), LAST], "run.jsonl:1: command: "),
        ([record(outcome={}), LAST], "run.jsonl:1: outcome: needs either ok or err"),
        (
            [record(outcome={"ok": {"result": "ok"}, "err": {"code": "x"}}), LAST],
            "run.jsonl:1: outcome: needs either ok or err",
        ),
        ([record(outcome={"ok": {"result": "maybe"}}), LAST], "run.jsonl:1: outcome.ok.result: "),
        (
            [record(outcome={"ok": {"result": "ok", "affected": ["1"]}}), LAST],
            r"run.jsonl:1: outcome.ok.affected\[0\]: ",
        ),
        (['{"command":{}}', LAST], "run.jsonl:1: seq: required, but not given"),
        (["[]", LAST], "run.jsonl:1: needs a table of keys"),
        (["7", LAST], "run.jsonl:1: needs a table of keys"),
        ([deep_json(200_000), LAST], "run.jsonl:1: "),
        ([OK % (0, 0), "{}"], "run.jsonl:2: final_hash: required, but not given"),
        ([OK % (0, 0), '{"final_hash":"7"}'], "run.jsonl:2: final_hash: "),
        ([OK % (0, 0), '{"final_hash":1.5}'], "run.jsonl:2: final_hash: "),
        ([OK % (0, 0), '{"final_hash":7,"plan":[3]}'], r"run.jsonl:2: plan\[0\]: "),
        ([OK % (0, 0), LAST, OK % (1, 1), LAST], "run.jsonl:2: seq: required, but not given"),
    ],
    ids=lambda one: one[:45] if isinstance(one, str) else "",
)
def test_bad_transcript_names_file_and_line(lines, message):
    with pytest.raises(TranscriptError, match=f"^{message}") as raised:
        parse_transcript("\n".join(lines) + "\n", "run.jsonl")
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize("ending", ["\n", "\r\n", ""])
def test_line_ends_and_blank_lines_of_other_systems_are_read(ending):
    text = (ending or "\n").join([OK % (0, 0), "", LAST]) + ending
    assert len(parse_transcript(text, "one").commands) == 1


@pytest.mark.parametrize("mark", ["\u2028", "\u2029", "\x85"], ids=ascii)
def test_unescaped_separator_inside_of_a_string_ends_no_line(mark):
    plan = f'{{"final_hash":7,"plan":[{{"goal":"a{mark}b"}}]}}'
    assert parse_transcript(f"{OK % (0, 0)}\n{plan}\n", "one").plan[0].goal == f"a{mark}b"


def test_transcript_cut_off_anywhere_is_refused_or_whole():
    text = text_of(drawn())
    for length in range(len(text)):
        if text[:length].strip() == text.strip():
            continue
        with pytest.raises(TranscriptError, match=r"^cut\.jsonl"):
            parse_transcript(text[:length], "cut.jsonl")


def played(*records):
    lines = [json.dumps({"seq": number, **record}) for number, record in enumerate(records)]
    return replay(parse_transcript("\n".join([*lines, LAST]), "other.jsonl"), LayoutSession())


def ok(command, affected=None, result="ok"):
    return {"command": command, "outcome": {"ok": {"result": result, "revision": 1, "affected": affected}}}


TOP = ok({"op": "create_cell", "name": "top"})


def test_null_stands_for_an_argument_that_was_left_out():
    path = {
        "op": "add_path",
        "cell": "top",
        "layer": MET1,
        "width": 10,
        "points": [{"x": 0, "y": 0}, {"x": 50, "y": 0}],
    }
    done = played(
        TOP,
        ok({"op": "create_cell", "name": "child"}),
        ok({**path, "endcap": None}, [1]),
        ok({"op": "place_instance", "cell": "top", "child": "child", "transform": None}, [2]),
        ok({"op": "query_shapes", "cell": "top", "layer": None, "region": None}, result="data"),
        ok({"op": "run_drc", "cell": "top", "region": None}, result="data"),
    )
    assert done.divergences == ()
    assert done.session.revision == 4


def test_unknown_fields_of_other_programs_are_passed_over():
    extended = {**TOP, "model": "m", "outcome": {"ok": {"result": "ok", "revision": 1, "affected": [], "more": 1}}}
    assert played(extended).divergences == ()


def test_command_that_failed_when_recorded_is_not_repeated():
    refused = {
        "command": {"op": "create_cell", "name": "x"},
        "outcome": {"err": {"code": "budget_exhausted", "message": ""}},
    }
    unknown = {"command": {"op": "fly"}, "outcome": {"err": {"code": "invalid_argument"}}}
    done = played(TOP, refused, unknown)
    assert (done.refused, done.divergences) == (2, ())
    assert done.session.document.layout.cell("x") is None


@pytest.mark.parametrize(
    ("command", "message"),
    [({"op": "fly"}, "fly"), ({"op": "create_cell"}, "name: required"), ({}, "op"), ({"op": nested(50)}, "")],
    ids=["unknown op", "missing argument", "no op", "op of lists"],
)
def test_command_that_was_applied_and_is_none_here_names_file_and_line(command, message):
    with pytest.raises(TranscriptError, match=rf"^other\.jsonl:2: .*{message}"):
        played(TOP, ok(command))


def test_applied_command_that_is_refused_here_diverges():
    (one,) = played(TOP, TOP).divergences
    assert (one.seq, one.message) == (1, "applied when recorded, refused here: name: cell 'top' exists already")


def test_other_element_ids_than_recorded_diverge():
    (one,) = played(TOP, ok(RECT, [2])).divergences
    assert (one.seq, one.message) == (1, "affected elements [2] when recorded, [1] here")


def test_ids_listed_for_a_deleted_cell_may_differ_between_programs():
    assert played(TOP, ok(RECT, [1]), ok({"op": "delete_cell", "name": "top"}, [])).divergences == ()


@pytest.mark.parametrize("result", ["ok", "data", "blob"])
def test_every_kind_of_result_is_read(result):
    assert played({**TOP, "outcome": {"ok": {"result": result, "bytes": "AA=="}}}).divergences == ()

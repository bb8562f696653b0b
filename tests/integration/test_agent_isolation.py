"""What an agent can reach, and that nothing it does there changes how it is judged."""

from __future__ import annotations

import json

import pytest

from pytest_iclayout.session.replay import replay
from pytest_iclayout.session.session import LayoutSession
from pytest_iclayout.session.transcript import parse_transcript

HEAD = """
from pytest_iclayout.agents.oracle import OracleAgent
from pytest_iclayout.agents.protocol import Proposal

MET1 = {"layer": 68, "datatype": 20}

def rect(left, bottom, right, top, layer=MET1):
    return {"op": "add_rect", "cell": "top", "layer": layer,
            "rect": {"min": {"x": left, "y": bottom}, "max": {"x": right, "y": top}}}

class Agent:
    name = backend = "sly"
    def start(self, context):
        self.context = context
        return self
    def propose(self, turn, layout):
        layout.execute({"op": "create_cell", "name": "top"})
        self.act(layout)
        return Proposal(gives_up=True)

def pytest_iclayout_agents(config):
    return {"sly": lambda argument: Sly()}
"""
# One rectangle of the right kind, in a technology of another database unit or without rules.
TECHNOLOGY = """\
technology {name}
dbu_per_micron {per_micron}
layer 68 20 met1 3C78C8A0
"""


@pytest.fixture
def sly(tasks, run, pytester, records):
    """The record of a trial whose agent does what the given code says, as the body of ``act(self, layout)``."""

    def trial(body: str, **task: object) -> dict[str, object]:
        lines = "\n".join(f"        {line}" for line in body.strip().splitlines())
        pytester.makeconftest(f"{HEAD}\nclass Sly(Agent):\n    def act(self, layout):\n{lines}\n")
        tasks.write("a.toml", **task)
        run("--agent=sly", "-m", "solve")
        (record,) = records().values()
        return record

    return trial


def test_layout_has_nothing_but_execute(sly):
    record = sly("raise ValueError([name for name in dir(layout) if not name.startswith('__')])")
    assert record["reason"] == "ValueError: ['execute']"


def test_layout_takes_no_attributes_and_has_no_dictionary(sly):
    record = sly("layout.session = 1")
    assert str(record["reason"]).startswith("AttributeError: ")
    assert str(sly("vars(layout)")["reason"]).startswith("TypeError: ")


def test_context_shows_the_prompt_and_nothing_of_the_checker(sly):
    record = sly("raise ValueError(sorted(type(self.context).model_fields))")
    fields = ["max_iterations", "prompt", "rule_set", "start", "task_id", "technology"]
    assert record["reason"] == f"ValueError: {fields}"
    assert "rect_present" not in str(sly("raise ValueError(self.context.model_dump_json())")["reason"])


def test_no_subclass_of_the_oracle_is_given_the_witness(tasks, run, pytester, records):
    pytester.makeconftest(f"{HEAD}\nclass Sly(OracleAgent):\n    name = 'sly'\n")
    tasks.write("a.toml")
    run("--agent=sly", "-m", "solve")
    (record,) = records().values()
    assert (record["outcome"], record["reason"]) == ("not_run", "the oracle plays a witness and was given none")


def test_technology_without_rules_does_not_change_the_rules_of_the_judge(sly):
    """met1 of 100 dbu is too narrow, whatever technology the agent declares."""
    thin = "layout.execute(rect(0, 0, 1000, 100))"
    honest = sly(thin, checker="drc_clean:present=68/20")
    assert (honest["outcome"], honest["final_violations"]) == ("failed", 1)
    source = TECHNOLOGY.format(name="lenient", per_micron=1000)
    setting = f"assert layout.execute({{'op': 'set_technology', 'source': {source!r}}}).ok"
    own_rules = sly(f"{setting}\n{thin}", checker="drc_clean:present=68/20")
    for key in ("outcome", "final_violations", "verdict", "technology", "rule_set"):
        assert own_rules[key] == honest[key]


@pytest.mark.parametrize("per_micron", [100, 2000])
def test_layout_in_another_database_unit_is_rejected_and_not_rescaled(sly, per_micron):
    source = TECHNOLOGY.format(name="sky130", per_micron=per_micron)
    record = sly(
        f"assert layout.execute({{'op': 'set_technology', 'source': {source!r}}}).ok\n"
        "assert layout.execute(rect(0, 0, 600, 400)).ok"
    )
    assert record["outcome"] == "failed"
    assert "database unit" in str(record["reason"])


def test_technology_in_the_context_is_a_copy(sly, tasks, run, records):
    record = sly(
        "self.context.technology.rule_sets.clear()\n"
        "object.__setattr__(self.context.technology, 'dbu_per_micron', 7)\n"
        "layout.execute(rect(0, 0, 1000, 100))",
        checker="drc_clean:present=68/20",
    )
    assert (record["outcome"], record["final_violations"]) == ("failed", 1)


def test_command_that_an_agent_uses_again_is_recorded_as_it_was_sent(sly, pytester):
    """The transcript must give the document again, also where an agent builds its commands in one mapping."""
    record = sly(
        "command = rect(0, 0, 600, 400)\n"
        "layout.execute(command)\n"
        "command['rect']['max']['x'] = 9999\n"
        "command['layer']['layer'] = 1"
    )
    assert record["outcome"] == "passed"
    (path,) = (pytester.path / ".iclayout/results").rglob("*.transcript.jsonl")
    transcript = parse_transcript(path.read_text(encoding="utf-8"), str(path))
    session = LayoutSession()
    replay(transcript, session)
    assert session.document_hash() == record["document_hash"]


def test_answer_that_an_agent_alters_stays_as_it_was_in_the_transcript(sly, pytester):
    sly("layout.execute({'op': 'list_layers'}).value.clear()")
    (path,) = (pytester.path / ".iclayout/results").rglob("*.transcript.jsonl")
    answer = json.loads(path.read_text(encoding="utf-8").splitlines()[1])["outcome"]["ok"]["value"]
    assert answer


def test_snapshot_that_an_agent_loads_hides_no_command_from_the_record(sly, pytester):
    record = sly(
        "saved = layout.execute({'op': 'save_session'}).data.decode()\n"
        "assert not layout.execute({'op': 'fly'}).ok\n"
        "assert layout.execute(rect(0, 0, 10, 10)).ok\n"
        "assert layout.execute({'op': 'load_session', 'snapshot': saved}).ok\n"
        "assert layout.execute(rect(0, 0, 600, 400)).affected == (1,)"
    )
    assert (record["outcome"], record["commands"], record["failed_commands"]) == ("passed", 6, 1)
    (path,) = (pytester.path / ".iclayout/results").rglob("*.transcript.jsonl")
    transcript = parse_transcript(path.read_text(encoding="utf-8"), str(path))
    assert [one.command["op"] for one in transcript.commands] == [
        "create_cell", "save_session", "fly", "add_rect", "load_session", "add_rect",
    ]  # fmt: skip
    session = LayoutSession()
    assert replay(transcript, session).divergences == ()
    assert session.document_hash() == record["document_hash"]


@pytest.mark.parametrize(
    ("value", "recorded"),
    [
        ("{1}", "(value of type set)"),
        ("b'x'", "(value of type bytes)"),
        ("float('nan')", "(nan)"),
        ("float('inf')", "(inf)"),
        ("'\\ud800'", r"\ud800"),
    ],
)
def test_value_that_json_cannot_hold_fails_the_command_and_not_the_trial(sly, pytester, value, recorded):
    record = sly(f"assert not layout.execute(rect(0, 0, {value}, 400)).ok\nlayout.execute(rect(0, 0, 600, 400))")
    assert (record["outcome"], record["reason"], record["failed_commands"]) == ("passed", "", 1)
    (path,) = (pytester.path / ".iclayout/results").rglob("*.transcript.jsonl")
    command = json.loads(path.read_text(encoding="utf-8").splitlines()[1])["command"]
    assert command["rect"]["max"]["x"] == recorded


@pytest.mark.parametrize("command", ["[1, 2]", "'create_cell'", "None", "{(1, 2): 3}", "nested"])
def test_what_is_no_command_at_all_is_a_command_that_fails(sly, command):
    nested = "nested = []\nfor _ in range(5000): nested = [nested]\n"
    record = sly(f"{nested}assert layout.execute({command}).error_code == 'invalid_argument'")
    assert (record["outcome"], record["failed_commands"]) == ("failed", 1)


def test_agent_cannot_end_the_run(sly):
    assert sly("import pytest; pytest.exit('enough')")["reason"] == "Exit: enough"

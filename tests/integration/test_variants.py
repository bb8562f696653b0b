"""--variants: fresh instances of tasks with parameters, each a task of its own, the same wherever they are drawn."""

from __future__ import annotations

import json

import pytest

from pytest_iclayout import cli

BUNDLED = "t1_min_area_met1"

WIRE = """
id = "wire"
tier = 1
technology = "sky130"
prompt = '''In a cell named top draw one {{ layer.name }} ({{ layer.gds }}) rectangle, {{ width }} dbu
({{ width | um }} µm) wide and {{ 4 * width }} dbu high.'''
checker = "shape_count:layer={{ layer.gds }},exact=1,width={{ width }},height={{ 4 * width }}"

[parameters]
width = { default = 140, min = 140, max = 1000, step = 10 }
layer = { default = "met1", choices = [{ name = "met1", gds = "68/20" }, { name = "met2", gds = "69/20" }] }
"""

START = """
id = "grow"
tier = 2
technology = "sky130"
prompt = "Let met1 (68/20) cover {{ n }} more squares. 1 dbu is 1 nm."
checker = { name = "grown", by = "{{ n * 10000 }}" }
start = '''
{"op": "create_cell", "name": "top"}
{% for i in range(n) %}
{"op": "add_rect", "cell": "top", "layer": {"layer": 68, "datatype": 20}, "rect": {"min": {"x": {{ 1000 * i }}, "y": 0}, "max": {"x": {{ 1000 * i + 100 }}, "y": 100}}}
{% endfor %}
'''

[[solution]]
op = "add_rect"
cell = "top"
layer = { layer = 68, datatype = 20 }
rect = { min = { x = 0, y = 1000 }, max = { x = "{{ 100 * n }}", y = 1100 } }

[[two_way.bad]]
layer = "68/20"
rect = [0, 1000, "{{ 100 * n - 100 }}", 1100]

[parameters]
n = { default = 2, min = 2, max = 20 }
"""  # noqa: E501

GROWN = """
from hypothesis import strategies as st
from pytest_iclayout.checking.checker import Params
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.technology.layers import Layer

MET1 = Layer(layer=68, datatype=20)

class GrownParams(Params):
    by: int

class Grown:
    name = "grown"
    params_model = GrownParams
    needs_start = needs_solution = True
    def check(self, view, params):
        if view.region(MET1).area() == view.start.region(MET1).area() + params.by:
            return Verdict()
        return Verdict.of(Finding(rule=self.name, message="not grown"))
    def witness(self, params, bench):
        return bench.solution
    def negatives(self, params, bench):
        return {"untouched": st.just(())}
    def variants(self, params):
        return frozenset({"split"})

def pytest_iclayout_checkers():
    return [Grown()]
"""


def test_variants_stand_for_the_task_and_other_tasks_stay(tasks, collected):
    tasks.write_text("wire.toml", WIRE)
    tasks.write("plain.toml")
    assert collected("--agent=nop", "--variants=2", "--variant-seed=7") == [
        "plain.toml::accepts",
        "plain.toml::rejects",
        "plain.toml::solve[nop]",
        *(f"wire.toml::wire.s7v{number}::{item}" for number in (1, 2) for item in ("accepts", "rejects", "solve[nop]")),
    ]
    assert collected("--agent=nop", "wire.toml") == [
        "wire.toml::accepts",
        "wire.toml::rejects",
        "wire.toml::solve[nop]",
    ]


def test_variants_can_be_selected(tasks, collected):
    tasks.write_text("wire.toml", WIRE)
    tasks.write("plain.toml")
    one = [f"wire.toml::wire.s0v2::{name}" for name in ("accepts", "rejects")]
    assert collected("--variants=3", "-k", "variant and s0v2") == one
    assert collected("--variants=3", "wire.toml::wire.s0v2") == one
    assert collected("--variants=3", "wire.toml::wire.s0v2::rejects") == one[1:]
    assert collected("--variants=3", "-k", "not variant") == ["plain.toml::accepts", "plain.toml::rejects"]
    assert len(collected("--variants=3", "-k", "tier1 and shape_count")) == 6


def test_each_variant_passes_its_gate_and_has_its_record(tasks, run, records):
    tasks.write_text("wire.toml", WIRE)
    result = run("--agent=oracle", "--variants=3", "--variant-seed=5", "--iclayout-results=out")
    result.assert_outcomes(passed=9)
    result.stdout.fnmatch_lines(["gate: 6 passed; *"])
    found = list(records("out").values())
    assert [one["task_id"] for one in found] == ["wire.s5v1", "wire.s5v2", "wire.s5v3"]
    assert [(one["parameters"]["seed"], one["parameters"]["variant"]) for one in found] == [(5, 1), (5, 2), (5, 3)]
    values = [one["parameters"]["values"] for one in found]
    assert len({json.dumps(one) for one in values}) == 3
    assert all(set(one) == {"width", "layer"} for one in values)


def test_transcripts_of_variants_are_replayed_with_their_values(tasks, run, capsys):
    tasks.write_text("wire.toml", WIRE)
    run("--agent=oracle", "--agent=random", "-m", "solve", "--variants=2", "--variant-seed=5", "--iclayout-results=out")
    capsys.readouterr()
    assert cli.main(["replay", str(tasks.folder / "out"), "--tasks", str(tasks.folder)]) == 0
    printed = capsys.readouterr().out
    assert printed.count("accepted; recorded as a success") == 2
    assert printed.count("rejected; recorded as a failure") == 2
    assert "4 transcripts replayed, 4 judged, 4 of 4 as recorded" in printed
    (folder,) = (tasks.folder / "out").rglob("wire.s5v1")
    for name in ("wire.s5v999999", "wire.s5v0", "wire.s5", "wire.sxv1"):
        folder = folder.rename(folder.with_name(name))
        cli.main(["replay", str(folder), "--tasks", str(tasks.folder)])
        assert "no task of that id" in capsys.readouterr().out


def test_records_of_the_task_itself_have_the_fixed_values(tasks, run, records):
    tasks.write_text("wire.toml", WIRE)
    tasks.write("plain.toml")
    run("--agent=oracle", "-m", "solve").assert_outcomes(passed=2)
    plain, wire = records().values()
    assert plain["parameters"] is None
    assert wire["parameters"] == {
        "values": {"width": 140, "layer": {"name": "met1", "gds": "68/20"}},
        "seed": None,
        "variant": None,
    }


def test_given_layouts_and_vectors_are_rendered(tasks, run, pytester):
    pytester.makeconftest(GROWN)
    tasks.write_text("grow.toml", START)
    run("--agent=oracle").assert_outcomes(passed=3)
    run("--agent=oracle", "--variants=4").assert_outcomes(passed=12)


def test_a_run_with_workers_has_the_same_variants(xdist, tasks, pytester, collected, records):
    tasks.write_text("wire.toml", WIRE)
    names = collected("--agent=oracle", "--variants=5")
    result = pytester.runpytest_inprocess("--gate-examples=1", "--agent=oracle", "--variants=5", "-n2", "-v")
    result.assert_outcomes(passed=15)
    ran = {word for line in result.outlines for word in line.split() if word.startswith("wire.toml::")}
    assert ran == set(names)
    assert len(records()) == 5


def test_a_worker_that_dies_under_a_variant_leaves_its_record(xdist, tasks, agents, pytester, records):
    tasks.write_text("wire.toml", WIRE)
    result = pytester.runpytest_inprocess("-m", "solve", "--agent=killed", "--variants=2", "-n1")
    assert result.ret == 10
    found = records()
    assert {one["task_id"]: one["outcome"] for one in found.values()} == {"wire.s0v1": "error", "wire.s0v2": "error"}


def test_replay_looks_for_the_variant(tasks, run, records):
    tasks.write_text("wire.toml", WIRE)
    run("--agent=oracle", "--variants=2", "-m", "solve", "--iclayout-results=first")
    run("--agent=replay:first", "--variants=2", "-m", "solve").assert_outcomes(passed=2)
    run("--agent=replay:first", "-m", "solve").assert_outcomes(skipped=1)


def test_mock_says_that_it_plays_no_variants(run):
    result = run("--pyargs", "iclayout_tasks", "-k", f"{BUNDLED} and solve", "--agent=mock", "--variants=1")
    result.assert_outcomes(skipped=1)
    result.stdout.fnmatch_lines([f"*mock has no script for {BUNDLED}.s0v1; it plays {BUNDLED} with its fixed values*"])


def test_agents_are_shown_the_rendered_prompt(tasks, pytester, run):
    tasks.write_text("wire.toml", WIRE)
    pytester.makeconftest(
        """
        import json, pathlib
        class Asks:
            name = backend = "asks"
            def start(self, context):
                pathlib.Path(f"{context.task_id}.txt").write_text(context.prompt)
                return self
            def propose(self, turn, layout):
                from pytest_iclayout.agents.protocol import Proposal
                return Proposal(gives_up=True)
        def pytest_iclayout_agents(config):
            return {"asks": lambda argument: Asks()}
        """
    )
    run("--agent=asks", "-m", "solve", "--variants=2")
    first, second = ((pytester.path / f"wire.s0v{number}.txt").read_text() for number in (1, 2))
    assert first != second
    assert "{{" not in first
    assert "µm" in first


def test_tests_of_ones_own_work_on_the_fixed_task(tasks, pytester, run):
    tasks.write_text("wire.toml", WIRE)
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.layout_task("wire.toml")
        def test_it(task):
            assert (task.id, task.values["width"], task.drawn) == ("wire", 140, None)
        """
    )
    run("test_tests_of_ones_own_work_on_the_fixed_task.py", "--variants=3").assert_outcomes(passed=1)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("max = 1000", "max = 160", "wire.toml: parameters: 9 variants are asked for, and the ranges hold 5 besides"),
        ("exact=1", "exact={{ 1 if width == 140 else -1 }}", "(variant 1 of seed 0: parameters {'width': "),
    ],
)
def test_variants_that_cannot_be_had_are_one_error_of_the_file(tasks, run, shown, old, new, message):
    tasks.write_text("wire.toml", WIRE.replace(old, new))
    tasks.write("plain.toml")
    result = run("--variants=9")
    result.assert_outcomes(passed=2, errors=1)
    assert message in shown(result)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("{{ width }} dbu", "{{ widht }} dbu", "prompt: template: 'widht' is undefined; parameters are width, layer"),
        ("{{ width }} dbu", "{{ width dbu", "prompt: template: "),
        ("layer={{ layer.gds }}", "layer={{ layer.gsd }}", "checker: template: "),
        ("default = 140", "default = 141", "parameters.width: default 141 is none of 140 to 1000 in steps of 10"),
        ("[parameters]", "[parameters]\nspare = { default = 1, min = 1, max = 2 }", "parameters.spare: no text of the"),
        ('"sky130"', '"{{ layer.name }}"', "technology: 'met1' is no file beside the task"),
        ("tier = 1", 'tier = "{{ 1 }}"', "tier: "),
        ('id = "wire"', 'id = "{{ width }}"', "id: "),
    ],
)
def test_a_mistake_is_one_error_of_the_file(tasks, run, shown, old, new, message):
    tasks.write_text("wire.toml", WIRE.replace(old, new))
    result = run()
    result.assert_outcomes(errors=1)
    assert f"wire.toml: {message}" in shown(result)


def test_texts_of_a_file_without_parameters_are_no_templates(tasks, run, pytester):
    tasks.write("plain.toml", prompt="Draw {{ one }} rectangle {% on met1.")
    run().assert_outcomes(passed=2)


@pytest.mark.parametrize("option", ["--variants", "--variant-seed"])
@pytest.mark.parametrize("value", ["-1", "x", "1.5"])
def test_wrong_option(tasks, pytester, shown, option, value):
    tasks.write_text("wire.toml", WIRE)
    result = pytester.runpytest_inprocess(f"{option}={value}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert f"argument {option}: '{value}' is not a whole number of at least 0" in shown(result)


def test_ini_values(tasks, pytester, collected, shown):
    tasks.write_text("wire.toml", WIRE)
    pytester.makeini("[pytest]\niclayout_variants = 1\niclayout_variant_seed = 4")
    assert collected() == ["wire.toml::wire.s4v1::accepts", "wire.toml::wire.s4v1::rejects"]
    assert collected("--variants=0") == ["wire.toml::accepts", "wire.toml::rejects"]
    pytester.makeini("[pytest]\niclayout_variants = some")
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "ini value iclayout_variants: 'some' is not a whole number of at least 0" in shown(result)

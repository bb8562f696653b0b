"""iclayout suite list, check, lock: each fault of a suite is one line that says where, and nothing else is one."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st
from iclayout_checkers import CHECKERS

from pytest_iclayout.checking.checker import Params
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.cli import main
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.session.sketch import Sketch
from pytest_iclayout.suite import lint
from pytest_iclayout.suite.folder import bundled_folder, load_tasks
from pytest_iclayout.suite.lint import Weight, check_suite
from pytest_iclayout.suite.lock import LOCK_NAME, read_lock, task_digest
from pytest_iclayout.suite.manifest import MANIFEST_NAME, load_suite
from pytest_iclayout.technology import toml
from pytest_iclayout.technology.layers import Layer, LayerRef

MET1 = Layer(layer=68, datatype=20)

BAR = """
id = "t1_bar"
tier = 1
prompt = "In a cell named top draw one rectangle on met1 (68/20), 140 dbu wide and 2000 dbu high."
technology = "sky130"
checker = "shape_count:layer=68/20,exact=1,width=140,height=2000"
"""

PAIR = """
id = "t2_pair"
tier = 2
prompt = "In a cell named top draw {{ n }} separate shapes on met2 (69/20). Coordinates are in dbu."
technology = "sky130"
checker = "shape_count:layer=69/20,exact={{ n }}"
parameters.n = { default = 2, min = 2, max = 20 }
"""

MANIFEST = """
name = "bars"
version = "1"
tasks = ["t1_bar", "t2_pair"]
"""


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A locked suite without a fault."""
    for name, text in (("manifest", MANIFEST), ("t1_bar", BAR), ("t2_pair", PAIR)):
        (tmp_path / f"{name}.toml").write_text(text, encoding="utf-8")
    assert main(["suite", "lock", str(tmp_path)]) == 0
    return tmp_path


@pytest.fixture
def check(suite: Path, capsys: pytest.CaptureFixture[str]) -> Callable[[], tuple[int, str]]:
    """Exit code and output of ``iclayout suite check``."""
    capsys.readouterr()

    def checks() -> tuple[int, str]:
        code = main(["suite", "check", str(suite)])
        return code, capsys.readouterr().out

    return checks


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def relock(suite: Path) -> None:
    """So that the fault at hand is the only one."""
    (suite / LOCK_NAME).unlink()
    main(["suite", "lock", str(suite)])


def test_a_suite_without_a_fault(check) -> None:
    assert check() == (0, "2 tasks checked: 0 problems, 0 warnings\n")


@pytest.mark.parametrize(
    ("file", "old", "new", "message"),
    [
        ("t1_bar", "140 dbu wide and 2000 dbu high", "140 wide and 2000 high", "t1_bar.toml: prompt: names no unit"),
        (
            "t1_bar",
            "met1 (68/20)",
            "metal",
            "t1_bar.toml: prompt: does not name met1 (68/20), which the checker's layer",
        ),
        ("t1_bar", "met1 (68/20)", "met10 (168/20)", "t1_bar.toml: prompt: does not name met1 (68/20)"),
        ("t1_bar", "tier = 1", "tier = 1\nrefinement = ' '", "refinement: a follow-up may not be empty"),
        ("t1_bar", '"sky130"', '"sky130"\nprovenance = { same_as = "t9" }', "provenance.same_as: 't9' is no task"),
        ("t2_pair", "dbu.", "dbu. Keep the design rules.", ""),
        ("t2_pair", "dbu.", "dbu. The design rules do not decide.", ""),
        (
            "t2_pair",
            "draw {{ n }} separate shapes on met2 (69/20). Coordinates are in dbu",
            "draw {{ n }} shapes on {{ 'met2' if n == 2 else 'metal' }} in dbu",
            "t2_pair.toml: prompt: does not name met2 (69/20), which the checker's layer does; write the name or the "
            "number (variant 1 of seed 0)",
        ),
        ("t2_pair", "exact={{ n }}", "exact={{ n if n == 2 else -n }}", "(variant 1 of seed 0: parameters {'n': "),
        (
            "t2_pair",
            "max = 20 }",
            'max = 20 }\nparameters.require = ["n == 2"]',
            "t2_pair.toml: parameters: the ranges hold nothing but the fixed values",
        ),
        ("t2_pair", 'id = "t2_pair"', 'id = "t1_bar"', "t2_pair.toml: id: 't1_bar' is the id of"),
        ("t2_pair", "shape_count", "shape_counts", "t2_pair.toml: checker: 'shape_counts' is unknown"),
        ("t2_pair", "tier = 2", "tier = 22", "t2_pair.toml: tier: "),
        ("manifest", '"t2_pair"', '"t2_pair", "t3_gone"', "manifest.toml: tasks: no file for t3_gone"),
        ("manifest", ', "t2_pair"', "", "t2_pair.toml: id: 't2_pair' is not among tasks of"),
        ("manifest", "version", "versions", "manifest.toml: version: required, but not given; versions: unknown key"),
    ],
)
def test_a_fault_is_one_line(suite, check, capsys, file, old, new, message) -> None:
    change(suite / f"{file}.toml", old, new)
    if "versions" not in new:
        relock(suite)
    capsys.readouterr()
    code, text = check()
    lines = text.splitlines()
    if not message:
        assert (code, lines) == (0, ["2 tasks checked: 0 problems, 0 warnings"])
        return
    assert code == 1
    found = [line for line in lines if not line.startswith("note: ") and LOCK_NAME not in line]
    assert len(found) == 2, text
    assert found[0].startswith(str(suite))
    assert message in found[0]


def test_a_beginning_of_another_tier_is_a_warning(suite, check, capsys) -> None:
    change(suite / "t2_pair.toml", "tier = 2", "tier = 3")
    relock(suite)
    capsys.readouterr()
    code, text = check()
    assert code == 0
    assert re.search(
        r"^warning: .*t2_pair.toml: id: 't2_pair' does not begin with the tier; t3_ is", text, re.MULTILINE
    )
    assert text.endswith("2 tasks checked: 0 problems, 1 warnings\n")


def test_in_the_bundled_suite_it_is_a_problem(suite, monkeypatch) -> None:
    change(suite / "t2_pair.toml", "tier = 2", "tier = 3")
    change(suite / "t1_bar.toml", "t1_bar", "bar")
    change(suite / "manifest.toml", "t1_bar", "bar")
    (suite / LOCK_NAME).unlink()
    monkeypatch.setattr(lint, "bundled_folder", lambda: suite)
    found = check_suite(suite, CheckerRegistry(CHECKERS)).complaints
    assert [one.weight for one in found] == [Weight.PROBLEM] * 3
    assert "lock.toml: not there" in found[0].text
    assert "'bar' does not begin with the tier; t1_ is" in found[1].text
    assert "'t2_pair' does not begin with the tier; t3_ is" in found[2].text


@pytest.mark.parametrize(
    ("prompt", "checker", "messages"),
    [
        ("140 dbu wide and 2000 dbu high", "exact=3", ["prompt: is that of t1_bar too"]),
        ("other, in dbu", "exact=1,width=140,height=2000", ["its checker, parameters, start and intent are those of"]),
        ("other, in dbu", "exact=1,width=150,height=2000", []),
        ("other, in dbu", "min=1,width=140,height=2000", ["its checker and witness are those of t1_bar"]),
    ],
)
def test_tasks_that_are_alike(suite, check, capsys, prompt, checker, messages) -> None:
    text = BAR.replace("t1_bar", "t2_pair").replace("tier = 1", "tier = 2")
    text = text.replace("140 dbu wide and 2000 dbu high", prompt).replace("exact=1,width=140,height=2000", checker)
    (suite / "t2_pair.toml").write_text(text, encoding="utf-8")
    relock(suite)
    capsys.readouterr()
    code, shown = check()
    assert code == bool(messages)
    for message in messages:
        assert message in shown
    assert shown.count("\n") == len(messages) + 1
    change(suite / "t2_pair.toml", '"sky130"', '"sky130"\nprovenance = { same_as = ["t1_bar"] }')
    relock(suite)
    capsys.readouterr()
    assert check()[0] == ("prompt: is that" in "".join(messages))


class Loose:
    """Accepts whatever is drawn on the layer."""

    name = "loose"

    class Model(Params):
        layer: LayerRef

    params_model = Model

    def check(self, view, params):
        found = not view.region(params.layer).is_empty()
        return Verdict() if found else Verdict.of(Finding(rule=self.name, message="nothing there"))

    def witness(self, params, bench):
        return Sketch().rect(params.layer, 0, 0, 500, 500).drawing

    def negatives(self, params, bench):
        return {"none": st.just(Sketch().drawing)}

    def variants(self, params):
        return frozenset({"translate"})


class Unmoved(Loose):
    def variants(self, params):
        return frozenset()


class Ungated(Loose):
    def negatives(self, params, bench):
        return {}


class Wrong(Loose):
    def negatives(self, params, bench):
        return {"there": st.just(Sketch().rect(params.layer, 0, 0, 1, 1).drawing)}


class Unclean(Loose):
    def witness(self, params, bench):
        return Sketch().rect(params.layer, 0, 0, 5, 5).drawing


class Ruled(Unclean):
    needs_rules = True


@pytest.mark.parametrize(
    ("checker", "message"),
    [
        (Loose, None),
        (Unclean, None),
        (Unmoved, "checker: loose declares no variants; one legal change at least is needed"),
        (Ungated, "checker: checker loose declares no negatives; it may not judge; its gate must pass"),
        (Wrong, "checker: checker loose accepted the negative 'there', which is wrong; its gate must pass"),
        (
            Ruled,
            "prompt: asks for the design rules, and the checker's witness breaks m1.1, m1.6 of rule set 'published'",
        ),
    ],
)
def test_a_checker_that_may_not_judge(tmp_path, checker, message) -> None:
    text = BAR.replace("shape_count:layer=68/20,exact=1,width=140,height=2000", "loose:layer=68/20")
    (tmp_path / "t1_bar.toml").write_text(text, encoding="utf-8")
    registry = CheckerRegistry(CHECKERS)
    registry.add([checker()])
    problems = [one.text for one in check_suite(tmp_path, registry).complaints if one.weight is Weight.PROBLEM]
    if message is None:
        assert problems == []
    else:
        (problem,) = problems
        assert message in problem


@pytest.mark.parametrize(
    ("sentence", "asks"),
    [
        ("No design rule may be broken.", True),
        ("The cell must keep all design rules.", True),
        ("The design rules do not decide this task.", False),
        ("The design rules need not be kept.", False),
    ],
)
def test_what_a_prompt_says_of_rules_decides_whether_the_witness_keeps_them(tmp_path, sentence, asks) -> None:
    text = BAR.replace("shape_count:layer=68/20,exact=1,width=140,height=2000", "loose:layer=68/20")
    (tmp_path / "t1_bar.toml").write_text(text.replace("high.", f"high. {sentence}"), encoding="utf-8")
    registry = CheckerRegistry(CHECKERS)
    registry.add([Unclean()])
    complaints = [one.text for one in check_suite(tmp_path, registry).complaints if one.weight is Weight.PROBLEM]
    assert len(complaints) == asks


def test_digests_tell_content_from_its_form() -> None:
    digest = task_digest(toml.loads(BAR))
    reordered = "\n".join(reversed(BAR.strip().splitlines())) + "\n# a comment"
    assert task_digest(toml.loads(reordered)) == digest
    assert task_digest(toml.loads(BAR.replace("2000", "2001"))) != digest
    assert task_digest(toml.loads(BAR + "two_way.bad = []")) != digest


@pytest.mark.parametrize(
    ("act", "change_named"),
    [
        (lambda suite: change(suite / "t1_bar.toml", "2000", "2005"), "t1_bar changed"),
        (lambda suite: change(suite / "t2_pair.toml", "max = 20", "max = 21"), "t2_pair changed"),
        (
            lambda suite: (
                (suite / "t2_pair.toml").unlink(),
                change(suite / "manifest.toml", ', "t2_pair"', ""),
            ),
            "t2_pair removed",
        ),
        (
            lambda suite: (
                (suite / "t1_more.toml").write_text(
                    BAR.replace("t1_bar", "t1_more").replace("140", "150"), encoding="utf-8"
                ),
                change(suite / "manifest.toml", ', "t2_pair"', ', "t2_pair", "t1_more"'),
            ),
            "t1_more added",
        ),
    ],
)
def test_a_version_that_is_locked_does_not_change(suite, check, capsys, act, change_named) -> None:
    before = (suite / LOCK_NAME).read_bytes()
    act(suite)
    code, text = check()
    assert code == 1
    assert f"{LOCK_NAME}: tasks: not as locked under version 1: {change_named}; raise" in text
    assert main(["suite", "lock", str(suite)]) == 1
    assert f"version 1 is locked with other content: {change_named}; raise the version" in capsys.readouterr().err
    assert (suite / LOCK_NAME).read_bytes() == before
    change(suite / "manifest.toml", 'version = "1"', 'version = "2"')
    assert "version: '1' is locked and the manifest has '2'" in check()[1]
    assert main(["suite", "lock", str(suite)]) == 0
    capsys.readouterr()
    assert check()[0] == 0


def test_a_comment_changes_nothing(suite, check, capsys) -> None:
    change(suite / "t1_bar.toml", "tier = 1", "tier   =  1  # easy")
    assert check()[0] == 0
    assert main(["suite", "lock", str(suite)]) == 0
    assert "unchanged: version 1, 2 tasks" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["version = 1", 'version = "1"\n[tasks]\na = "12"', "no toml"])
def test_a_damaged_lock_is_a_problem(suite, check, text) -> None:
    (suite / LOCK_NAME).write_text(text, encoding="utf-8")
    code, shown = check()
    assert code == 1
    assert f"{suite / LOCK_NAME}: " in shown


def test_records_have_the_digest_of_the_lock(tasks, run, records, pytester) -> None:
    tasks.write_text("manifest.toml", MANIFEST)
    tasks.write_text("t1_bar.toml", BAR)
    tasks.write_text("t2_pair.toml", PAIR)
    assert main(["suite", "lock", str(pytester.path)]) == 0
    locked = toml.loads((pytester.path / LOCK_NAME).read_text(encoding="utf-8"))["tasks"]
    run("--agent=oracle", "-m", "solve", "--variants=1").assert_outcomes(passed=2)
    digests = {one["task_id"]: one["task_digest"] for one in records().values()}
    assert digests == {"t1_bar": locked["t1_bar"], "t2_pair.s0v1": locked["t2_pair"]}


def test_list(suite, capsys) -> None:
    capsys.readouterr()
    assert main(["suite", "list", str(suite)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "task     tier  checker      rule set   parameters  start  refinement",
        "t1_bar   1     shape_count  published",
        "t2_pair  2     shape_count  published  yes",
        "",
        "2 tasks by tier: 1: 1, 2: 1",
        "by checker: shape_count: 2",
    ]
    assert main(["suite", "list", str(suite), "--json"]) == 0
    bar, pair = json.loads(capsys.readouterr().out)
    assert bar["id"] == "t1_bar"
    assert bar["digest"] == task_digest(toml.loads(BAR))
    assert (bar["parameters"], pair["parameters"], pair["tier"], bar["start"]) == ([], ["n"], 2, False)
    assert main(["suite", "list", str(suite), "--markdown"]) == 0
    assert "| `t2_pair` | 2 | `shape_count` | `published` | yes | | |" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["list", "lock"])
def test_a_broken_file_is_bad_input_and_the_others_are_listed(suite, capsys, verb) -> None:
    change(suite / "t1_bar.toml", "tier = 1", "tier = 11")
    capsys.readouterr()
    assert main(["suite", verb, str(suite)]) == 2
    shown = capsys.readouterr()
    assert "t1_bar.toml: tier: " in shown.err
    assert ("t2_pair" in shown.out) is (verb == "list")


@pytest.mark.parametrize("verb", ["list", "check", "lock"])
@pytest.mark.parametrize(("name", "message"), [("missing", "missing: no folder"), ("empty", "empty: no task below")])
def test_a_folder_that_is_no_suite_is_bad_input(tmp_path, capsys, verb, name, message) -> None:
    (tmp_path / "empty").mkdir()
    assert main(["suite", verb, str(tmp_path / name)]) == 2
    assert message in capsys.readouterr().err


def test_only_a_suite_with_a_manifest_can_be_locked(tmp_path, capsys) -> None:
    (tmp_path / "t1_bar.toml").write_text(BAR, encoding="utf-8")
    assert main(["suite", "lock", str(tmp_path)]) == 2
    assert "manifest.toml: cannot be read" in capsys.readouterr().err


@pytest.mark.one_python
def test_the_bundled_suite_has_no_fault() -> None:
    """Its lock is the next test's."""
    found = check_suite(bundled_folder(), CheckerRegistry(CHECKERS)).complaints
    assert [str(one) for one in found if LOCK_NAME not in one.text] == []


def test_the_bundled_suite_is_locked_as_it_is() -> None:
    """Else tasks were changed, added or removed: raise the manifest's version and run ``iclayout suite lock``."""
    folder = bundled_folder()
    tasks, problems = load_tasks(folder, CheckerRegistry(CHECKERS))
    lock = read_lock(folder)
    assert problems == []
    assert lock is not None
    assert lock.version == load_suite(folder / MANIFEST_NAME).version
    assert lock.changes_to({task_id: task.digest for task_id, task in tasks.items()}) == {}


def test_what_is_listed_and_no_file_or_the_reverse_is_not_locked(suite, capsys) -> None:
    before = (suite / LOCK_NAME).read_bytes()
    manifest = suite / "manifest.toml"
    manifest.write_text(manifest.read_text().replace('"t2_pair"', '"t2_gone"'))
    assert main(["suite", "lock", str(suite)]) == 2
    assert "manifest.toml: tasks: t2_gone, t2_pair: only listed here, or only a file" in capsys.readouterr().err
    assert (suite / LOCK_NAME).read_bytes() == before

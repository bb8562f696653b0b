"""What collecting rules of the published tree looks at, and what it takes."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def gds(pytester: pytest.Pytester) -> Path:
    """The folder of a rule's layouts; a test has strayed into it."""
    folder = pytester.path / "problems" / "w" / "data" / "gds"
    for name, text in (
        ("labels.csv", "filename,W\npass/wide.gds,0\nfail/narrow.gds,1\n"),
        ("pass/wide.gds", ""),
        ("fail/narrow.gds", ""),
        ("pass/test_stray.py", "def test_stray(): pass\n"),
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder.parents[1] / "spec.yaml").write_text("id: w\ncategories: [W]\ndata_dir: data/gds\n", encoding="utf-8")
    return folder


def test_folders_of_layouts_are_looked_into_only_when_they_are_given(pytester: pytest.Pytester, gds: Path) -> None:
    def collected(*given: str) -> list[str]:
        result = pytester.runpytest_subprocess("--collect-only", "-q", "--agent=nop", *given)
        return [line for line in result.stdout.lines if "::" in line]

    rule, stray = "problems/w/spec.yaml::solve[nop]", "problems/w/data/gds/pass/test_stray.py::test_stray"
    assert collected() == collected("problems") == collected("problems/w") == [rule]
    assert collected("problems/w/data") == [stray]
    assert collected("problems/w/data/gds/pass") == [stray]


def test_collecting_published_rules_takes_no_layout_library(pytester: pytest.Pytester, gds: Path) -> None:
    (gds.parents[1] / "gold").mkdir()
    (gds.parents[1] / "gold" / "w.drc").write_text("", encoding="utf-8")
    pytester.makeconftest(
        "import sys\n"
        "def pytest_collection_finish(session):\n"
        "    print(len(session.items), 'items;', 'klayout.dbcore' in sys.modules)\n"
    )
    result = pytester.runpytest_subprocess("--collect-only", "-q", "-s")
    result.stdout.fnmatch_lines(["*2 items; False"])


NO_GOLD = """
[[rule]]
id = "w"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
pass = ["met1 0 0 1 1"]
"""
NO_GOLD_TOLD = "*rules.toml: rule w: gold: required, but not given"


@pytest.mark.parametrize("given", [".", "rules.toml"])
@pytest.mark.parametrize("manifest", [False, True])
def test_rule_without_its_gold_deck_is_told_and_neither_skipped_nor_read_as_a_task(
    pytester: pytest.Pytester, given: str, manifest: bool
) -> None:
    pytester.path.joinpath("rules.toml").write_text('technology = "sky130"' + NO_GOLD, encoding="utf-8")
    if manifest:
        pytester.path.joinpath("manifest.toml").write_text('version = "1"\ntasks = ["t"]\n', encoding="utf-8")
    result = pytester.runpytest_subprocess(given)
    result.stdout.fnmatch_lines([NO_GOLD_TOLD])


def test_file_of_rules_that_is_given_is_one_though_nearly_all_is_missing(pytester: pytest.Pytester) -> None:
    pytester.path.joinpath("rules.toml").write_text('[[rule]]\nid = "w"\n', encoding="utf-8")
    assert pytester.runpytest_subprocess().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result = pytester.runpytest_subprocess("rules.toml")
    result.stdout.fnmatch_lines(["*rules.toml: rule w: text: required, but not given; rule w: layers: required*"])

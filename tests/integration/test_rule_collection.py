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

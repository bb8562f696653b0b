"""What is odd about rules is told once a run, in few lines, whoever collected them."""

from __future__ import annotations

import pytest

SOUND = """
[[rule]]
id = "sound"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
pass = ["met1 0 0 1 1"]
fail = ["met1 0 0 0.1 1"]
gold = 'met1.width(0.14).output("sound")'
"""


@pytest.fixture
def published(pytester: pytest.Pytester) -> None:
    """Twelve rules of the published tree, without gold decks; each quoted category is a second warning.

    No layout is read where nothing is run.
    """
    for number in range(12):
        folder = pytester.path / "tree" / "problems" / f"w{number}"
        labels = "filename,{0}b\npass/wide.gds,0\nfail/narrow.gds,1\n"
        for name, text in (
            ("spec.yaml", f'id: w{number}\ncategories: ["{number}b"]\ndata_dir: data/gds\n'),
            ("data/gds/labels.csv", labels.format(number)),
            ("data/gds/pass/wide.gds", ""),
            ("data/gds/fail/narrow.gds", ""),
        ):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")


EXPECTED = [
    "24 warnings about 12 rules; all of them: iclayout rules list tree/problems",
    "  12 x category NAME: is 'NAME' in KLayout's reports, for which the published evaluator counts no deck as right "
    "(w0, w1, w10 and 9 more)",
    "  12 x no gold deck: no gold/ID.drc (w0, w1, w10 and 9 more)",
]


@pytest.mark.parametrize("options", [(), ("-n2",)])
def test_warnings_of_many_rules_are_told_once_and_by_kind(
    pytester: pytest.Pytester, published: None, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    if options:
        pytest.importorskip("xdist")
    # Nothing is run without an application, which is not needed here; the warnings are told all the same.
    monkeypatch.setenv("PATH", str(pytester.mkdir("empty")))
    run = ("tree/problems", "--agent=nop", "-p", "no:cacheprovider", *options)
    result = pytester.runpytest_subprocess(*run, timeout=120)
    result.assert_outcomes(skipped=12)
    lines = result.stdout.lines
    begin = lines.index(EXPECTED[0])
    assert lines[begin : begin + 3] == EXPECTED
    assert sum("warnings about" in line for line in lines) == 1


def test_rules_without_anything_to_run_say_what_is_missing(pytester: pytest.Pytester, published: None) -> None:
    result = pytester.runpytest_subprocess("tree/problems", "-p", "no:cacheprovider", timeout=120)
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert (
        "12 rules have no item: no gold deck for the gate, and no --agent=NAME that would write a deck"
        in result.stdout.lines
    )
    assert EXPECTED[0] in result.stdout.lines


def test_sound_rules_and_collecting_alone_are_told_nothing_of(pytester: pytest.Pytester, published: None) -> None:
    sound = pytester.path / "sound.toml"
    sound.write_text(SOUND, encoding="utf-8")
    for run in ((sound, "-k", "nothing"), ("tree/problems", "--collect-only", "--agent=nop")):
        result = pytester.runpytest_subprocess(*run, "-p", "no:cacheprovider", timeout=120)
        assert "warnings about" not in result.stdout.str()
        assert "have no item" not in result.stdout.str()

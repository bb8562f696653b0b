"""What is mutated decides what the score means: a judgement that is taken for a message would go unmeasured."""

from __future__ import annotations

import ast
from textwrap import dedent

import pytest
from sources import Comparison, called, functions, message_makers, with_pragmas

CHECKER = dedent("""
    class Bars:
        def check(self, view, params):
            bars = view.region(params.layer)
            count = bars.count()
            layer = describe(count)
            if count < params.least:
                return Verdict.of(Finding(message=layer, measured=count))
            return Verdict()

        def witness(self, params, bench):
            return bar(params.layer)

    def describe(count):
        return f"{count + 0} bars"

    def bar(layer):
        return Sketch().rect(layer, 0, 0, 1, 1)
""")
MODULE = ast.parse(CHECKER)
NODES = {one.name: one.node for one in functions(MODULE)}


def mutated(old: str, new: str) -> bool:
    """Whether a change of ``check`` counts as no different."""
    assert CHECKER.count(old) == 1
    mutant = {one.name: one.node for one in functions(ast.parse(CHECKER.replace(old, new)))}["Bars.check"]
    return Comparison(NODES["Bars.check"], message_makers([MODULE])).is_no_different(mutant)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("count < params.least", "count <= params.least"),
        ("count = bars.count()", "count = None"),  # read in the finding, and in the condition
        ("return Verdict()", "return None"),
        ("Verdict.of(Finding(message=layer, measured=count))", "Verdict()"),
    ],
)
def test_change_of_a_judgement_counts(old: str, new: str) -> None:
    assert not mutated(old, new)


@pytest.mark.parametrize(
    ("old", "new"), [("layer = describe(count)", "layer = None"), ("measured=count", "measured=None")]
)
def test_change_of_what_a_finding_says_does_not_count(old: str, new: str) -> None:
    assert mutated(old, new)


def test_functions_that_only_findings_need_are_messages_and_no_others() -> None:
    assert message_makers([MODULE]) == {"Finding", "Flaw", "describe"}


def test_function_that_another_module_judges_with_is_no_message() -> None:
    other = ast.parse("def judge(view):\n    return len(describe(view)) > 3\n")
    assert "describe" not in message_makers([MODULE, other])


EXPLAINING = dedent("""
    def differences(view, wanted):
        if len(view) != len(wanted):
            yield from in_words(view, wanted)

    def in_words(view, wanted):
        for one in view:
            yield from unlike(one, wanted)
        yield Flaw(f"required: {wanted}")

    def unlike(one, wanted):
        if one + 1 < len(wanted):
            yield Flaw(f"{one} is wrong")
""")


def explaining(old: str = "", new: str = "") -> set[str]:
    assert not old or EXPLAINING.count(old) == 1
    return {*message_makers([ast.parse(EXPLAINING.replace(old, new) if old else EXPLAINING)])} - {"Finding", "Flaw"}


def test_findings_that_follow_one_that_is_made_in_any_case_are_messages() -> None:
    assert explaining() == {"in_words", "unlike"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('    yield Flaw(f"required: {wanted}")', "    if wanted:\n            yield Flaw(wanted)"),
        ("    for one in view:", "    if not view:\n        return\n    for one in view:"),
        ("yield from in_words(view, wanted)", "yield len(list(in_words(view, wanted)))"),
        ("yield from in_words(view, wanted)", "yield from map(in_words, view, wanted)"),
    ],
)
def test_findings_that_may_be_none_or_that_are_looked_at_are_a_judgement(old: str, new: str) -> None:
    assert not explaining(old, new)


def test_pragmas_leave_what_judges() -> None:
    marked = with_pragmas(CHECKER, {"Bars.check", "describe"}, message_makers([MODULE])).splitlines()
    free = [line.strip() for line in marked if line.strip() and "pragma" not in line]
    assert "count = bars.count()" in free
    assert "if count < params.least:" in free
    assert "def check(self, view, params):" in free
    for line in ("def witness(self, params, bench):", "def describe(count):", "def bar(layer):"):
        assert f"{line}  # pragma: no mutate block" in [one.strip() for one in marked]
    assert "layer = describe(count)  # pragma: no mutate" in [one.strip() for one in marked]


def test_lines_name_the_function_that_holds_them() -> None:
    lines = CHECKER.splitlines()
    assert called(CHECKER, [lines.index("def describe(count):") + 1]) == {"describe"}
    assert called(CHECKER, [lines.index("        bars = view.region(params.layer)") + 1]) == {"Bars.check"}

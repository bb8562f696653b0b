"""Every name that a user can write or meet has its row in a table of the page where users look, and no other has.

The names come from the code, so that neither can change without the other.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints
from unittest.mock import MagicMock

import pytest
from iclayout_checkers import CHECKERS
from iclayout_checkers.labels import NetLabel
from pydantic import BaseModel

from pytest_iclayout import cli, deck_options, hookspecs, options, plugin, terminal
from pytest_iclayout.agents.protocol import DeckProposal, DeckTurn, Feedback, Proposal, Turn
from pytest_iclayout.agents.registry import BUILT_IN
from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.checking.variants import MOVED, PLACED
from pytest_iclayout.drc.decks.execution import Execution
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.intent import ForbiddenPair, Intent, IntentNet, Terminal
from pytest_iclayout.geometry.netlist import Difference, ExpectedNet, Netlist
from pytest_iclayout.rules.deck_edits import MutantKind
from pytest_iclayout.rules.prompt import RuleContext
from pytest_iclayout.rules.regression import RuleStatus
from pytest_iclayout.rules.toml_spec import RuleFileSpec, RuleSpec, StructureSpec
from pytest_iclayout.session.commands import Command
from pytest_iclayout.session.errors import ErrorCode
from pytest_iclayout.session.generators.registry import GENERATORS
from pytest_iclayout.session.pcells import PCELLS
from pytest_iclayout.session.transcript import Entry, Outcome
from pytest_iclayout.suite.context import TaskContext
from pytest_iclayout.suite.files import read_toml
from pytest_iclayout.suite.listing import listed, markdown_table, summary_lines
from pytest_iclayout.suite.lock import Lock
from pytest_iclayout.suite.manifest import Manifest
from pytest_iclayout.suite.parameters import CONDITIONS, Choice, Span
from pytest_iclayout.suite.sniff import TASK_KEYS
from pytest_iclayout.suite.task import LayoutTaskFile, Rectangle
from pytest_iclayout.technology.load import builtin_names
from pytest_iclayout.technology.models import Connection, Rule, RuleKind, Technology, TechnologyLayer
from pytest_iclayout.technology.text import _FORMS
from pytest_iclayout.trial.outcomes import OutcomeKind
from pytest_iclayout.trial.record import RuleRecord, TrialRecord

DOCS = Path(__file__).parents[2] / "docs"
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"`([^`]+)`")


def section(page: str, heading: str) -> str:
    """The text under a heading, up to the next heading of any level."""
    text = _FENCE.sub("", (DOCS / page).read_text(encoding="utf-8"))
    start = re.search(rf"^#+ {re.escape(heading)}$", text, re.MULTILINE)
    assert start is not None, f"docs/{page} has no heading {heading!r}"
    return re.split(r"^#+ ", text[start.end() :], maxsplit=1, flags=re.MULTILINE)[0]


def rows(page: str, heading: str) -> dict[str, set[str]]:
    """The table rows of a section: the name that begins the first cell, and the names in backticks in the others."""
    found = {}
    for line in section(page, heading).splitlines():
        first, *others = line.strip("|").split(" | ") if line.startswith("| `") else ("",)
        name = re.match(r"`([\w-]+)", first.strip())
        if name:
            found[name[1]] = {
                word for cell in others for span in _SPAN.findall(cell) for word in re.findall(r"[\w-]+", span)
            }
    return found


def calls(adder: MagicMock) -> set[str]:
    return {call.args[0] for call in adder.call_args_list}


def added_options() -> set[str]:
    parser = MagicMock()
    options.add_options(parser)
    return calls(parser.getgroup().addoption) | calls(parser.addoption)


def added_deck_options() -> set[str]:
    parser = MagicMock()
    deck_options.add_options(parser)
    return calls(parser.getgroup().addoption)


def added_ini_values() -> set[str]:
    parser = MagicMock()
    options.add_options(parser)
    return calls(parser.addini)


def first_words(texts: Iterable[str]) -> set[str]:
    return {re.split(r"\W", text, maxsplit=1)[0] for text in texts}


def hooks() -> set[str]:
    return {name for name in vars(hookspecs) if name.startswith("pytest_iclayout_")}


def exit_codes() -> set[str]:
    """6 is new; the page is the same for a pytest that does not have it."""
    return {str(code.value) for code in pytest.ExitCode} | {"6", str(terminal.EXIT_INFRASTRUCTURE)}


def values(kinds: Iterable[Any]) -> set[str]:
    return {kind.value for kind in kinds}


def verbs() -> dict[str, argparse.ArgumentParser]:
    """By their words: ``results``, ``suite list``."""
    return dict(verbs_of(cli._parser(), ""))


def verbs_of(parser: argparse.ArgumentParser, words: str) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = [one for one in parser._actions if isinstance(one, argparse._SubParsersAction)]
    if not below:
        yield words, parser
    for name, verb in below[0].choices.items() if below else ():
        yield from verbs_of(verb, f"{words} {name}".strip())


def arguments(verb: argparse.ArgumentParser) -> set[str]:
    """Option names, and what positional arguments are called in the help."""
    return {one.option_strings[-1] if one.option_strings else str(one.metavar) for one in verb._actions} - {"--help"}


def keys(model: type[BaseModel]) -> set[str]:
    return set(model.model_fields)


def written_keys(model: type[BaseModel]) -> set[str]:
    """As they stand in a file."""
    return {field.alias or name for name, field in model.model_fields.items()}


SURFACES = {
    "options": ("running.md", "Options", added_options()),
    "deck options": ("deck-regression.md", "Options", added_deck_options()),
    "ini values": ("running.md", "Ini values", added_ini_values()),
    "markers": ("running.md", "Markers", first_words(options.MARKERS)),
    "exit codes": ("running.md", "Exit codes", exit_codes()),
    "agents": ("agents.md", "Built-in agents", set(BUILT_IN)),
    "context": ("agents.md", "What an agent is shown", keys(TaskContext)),
    "context of a rule": ("rules.md", "What an agent is shown", keys(RuleContext)),
    "turn": ("agents.md", "Turn", keys(Turn)),
    "feedback": ("agents.md", "Feedback", keys(Feedback)),
    "proposal": ("agents.md", "Proposal", keys(Proposal)),
    "deck turn and proposal": ("agents.md", "Decks", keys(DeckTurn) | keys(DeckProposal)),
    "checkers": ("checkers.md", "Bundled checkers", set(CHECKERS)),
    "variants": ("checkers.md", "Variants", set(MOVED | PLACED)),
    "outcome of a command": ("commands.md", "Outcomes", keys(Outcome) | {"ok"}),
    "error codes": ("commands.md", "Error codes", values(ErrorCode)),
    "transcript": ("commands.md", "Transcripts", keys(Entry)),
    "netlist": (
        "commands.md",
        "Netlists",
        keys(Netlist) | keys(ExpectedNet) | set(get_args(get_type_hints(Difference)["kind"])),
    ),
    "generators": ("generators.md", "Generators", set(GENERATORS)),
    "pcells": ("generators.md", "PCells", set(PCELLS)),
    "fixtures": ("fixtures.md", "What they give", set(plugin.__all__)),
    "record": ("records.md", "Fields", keys(TrialRecord)),
    "record of a rule": ("records.md", "Fields of rules", keys(RuleRecord)),
    "findings": ("records.md", "Findings", keys(Finding)),
    "outcomes": ("records.md", "Outcomes", values(OutcomeKind)),
    "technology": ("technology.md", "Technology files", keys(Technology)),
    "layers": ("technology.md", "Layers", keys(TechnologyLayer)),
    "connections": ("technology.md", "Connections", keys(Connection)),
    "rules": ("technology.md", "Rules", keys(Rule)),
    "rule kinds": ("technology.md", "Rule kinds", values(RuleKind)),
    "built-in technologies": ("technology.md", "Built-in technologies", set(builtin_names())),
    "line syntax": ("technology.md", "Line syntax", set(_FORMS)),
    "task file": ("tasks.md", "Task files", keys(LayoutTaskFile)),
    "two_way": ("tasks.md", "Two-way vectors", keys(Rectangle)),
    "intent": ("tasks.md", "Intent", keys(Intent) | keys(IntentNet) | keys(Terminal) | keys(ForbiddenPair)),
    "parameters": ("tasks.md", "Parameters", keys(Span) | keys(Choice) | {CONDITIONS}),
    "manifest": ("tasks.md", "Manifest", keys(Manifest)),
    "files of rules": ("rules.md", "Rules in TOML", written_keys(RuleFileSpec) | written_keys(RuleSpec)),
    "structure": ("rules.md", "Layouts from a structure", keys(StructureSpec)),
    "execution": ("drc.md", "Executions", keys(Execution) | {"layout"}),
    "lock": ("suite.md", "Digests", keys(Lock)),
    "mutants of decks": ("rules.md", "How good are the layouts", values(MutantKind)),
    "net label": ("checkers.md", "A net to label", keys(NetLabel)),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_page_has_a_row_for_each_name_and_for_no_other(surface: str) -> None:
    page, heading, names = SURFACES[surface]
    assert set(rows(page, heading)) == names


def test_page_explains_each_status_of_a_rule_of_a_deck() -> None:
    shown = re.findall(r"^\| `([^`]+)` \|", section("deck-regression.md", "Statuses"), re.MULTILINE)
    assert set(shown) == values(RuleStatus)


@pytest.mark.parametrize("verb", verbs())
def test_page_explains_each_argument_of_a_verb(verb: str) -> None:
    pages = {
        "results": "records.md",
        "replay": "commands.md",
        "suite": "suite.md",
        "rules": "rules.md",
        "drc": "drc.md",
        "doctor": "drc.md",
    }
    page = pages[verb.split()[0]]
    assert set(rows(page, f"iclayout {verb}")) == arguments(verbs()[verb])


@pytest.mark.parametrize("model", get_args(get_args(Command)[0]), ids=lambda model: model.model_fields["op"].default)
def test_page_names_each_argument_of_a_command(model: type[BaseModel]) -> None:
    documented = rows("commands.md", "Commands")
    op = model.model_fields["op"].default
    assert op in documented, f"docs/commands.md has no row for {op}"
    assert keys(model) - {"op"} <= documented[op]


def test_page_has_no_row_for_a_command_that_does_not_exist() -> None:
    known = {model.model_fields["op"].default for model in get_args(get_args(Command)[0])}
    assert set(rows("commands.md", "Commands")) <= known


@pytest.mark.parametrize("name", CHECKERS)
def test_page_explains_each_parameter_of_a_checker(name: str) -> None:
    params = keys(CheckerRegistry(CHECKERS).get(name).params_model)
    assert set(rows("checkers.md", name)) == params


@pytest.mark.parametrize("name", [*GENERATORS, *PCELLS])
def test_page_explains_each_parameter_of_a_generator_or_pcell_with_its_default_and_range(name: str) -> None:
    fields = {**GENERATORS, **PCELLS}[name].params.model_fields
    documented = parameter_rows(name)
    assert set(documented) == set(fields)
    for parameter, info in fields.items():
        default, accepted = documented[parameter]
        assert default == ("required" if info.is_required() else str(info.default).replace("True", "true"))
        limits = [rule.ge if hasattr(rule, "ge") else rule.le for rule in info.metadata if not hasattr(rule, "strict")]
        words = limits or list(get_args(info.annotation))
        assert [str(word) for word in words if not re.search(rf"\b{word}\b", accepted)] == []


def parameter_rows(name: str) -> dict[str, tuple[str, str]]:
    """Default and accepted values of each parameter, as the page says."""
    found = {}
    for line in section("generators.md", name).splitlines():
        if line.startswith("| `"):
            parameter, default, accepted, _ = (cell.strip() for cell in line.strip("|").split(" | "))
            found[parameter.strip("`")] = (default, accepted)
    return found


@pytest.mark.parametrize("name", sorted(hooks()))
def test_some_page_shows_each_hook(name: str) -> None:
    page = {"pytest_iclayout_agents": "agents.md", "pytest_iclayout_checkers": "checkers.md"}[name]
    text = (DOCS / page).read_text(encoding="utf-8")
    assert f"`{name}`" in text, f"docs/{page} does not name {name}"
    assert f"def {name}(" in text, f"docs/{page} has no example of {name}"


def test_page_has_the_table_of_bundled_tasks(bundled_tasks) -> None:
    """Remade by writing between the marks what ``iclayout suite list --markdown`` prints."""
    listing = listed(bundled_tasks)
    text = (DOCS / "suite.md").read_text(encoding="utf-8")
    shown = re.search(r"^<!-- iclayout suite list --markdown -->\n(.*?)\n<!-- end -->$", text, re.MULTILINE | re.DOTALL)
    assert shown is not None
    assert shown[1].splitlines() == [*markdown_table(listing), "", *summary_lines(listing)]


def test_page_names_the_keys_by_which_a_task_is_known() -> None:
    text = section("tasks.md", "Which TOML files are collected")
    listed = re.search(r"with one of the keys\s+((?:`\w+`,?\s+)+)", text)
    assert listed is not None
    assert tuple(_SPAN.findall(listed[1])) == TASK_KEYS


def test_architecture_shows_the_layers_that_are_held() -> None:
    contracts = read_toml(DOCS.parent / "pyproject.toml")["tool"]["importlinter"]["contracts"]
    (held,) = (one["layers"] for one in contracts if one["type"] == "layers")
    shown = re.search(r"^```text\n(technology <.*?)^```$", (DOCS / "architecture.md").read_text("utf-8"), re.M | re.S)
    assert shown is not None
    assert [set(re.findall(r"\w+", layer)) for layer in shown[1].split("<")] == [
        {name.strip().removeprefix("pytest_iclayout.") for name in layer.split("|")} for layer in reversed(held)
    ]

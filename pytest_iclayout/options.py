"""Command line, ini values and what is made of them at the start of a run."""

from __future__ import annotations

import argparse
import uuid
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import pytest

from pytest_iclayout import defaults

if TYPE_CHECKING:
    from pytest_iclayout.agents.protocol import Agent
    from pytest_iclayout.checking.checker import Checker
    from pytest_iclayout.checking.registry import CheckerRegistry
    from pytest_iclayout.trial.rule_runner import RuleTrialSettings


MARKERS = (
    "solve: an agent solves a layout task or writes a deck for a rule (one for each --agent)",
    "gate: a task's oracle accepts its witness (accepts) and rejects its negatives (rejects); a rule's gold deck meets "
    "its labels (accepts) and its layouts tell mutated decks (rejects)",
    "rule: an item of a rule, for which a DRC deck is written",
    "deck: an item of a --deck, which is judged by labelled layouts",
    "layout_task(path): the task file that the fixtures task, checker and agent_session of a test work on",
)


@dataclass(frozen=True)
class Settings:
    """The plugin's part of the configuration, validated."""

    agent_specs: tuple[str, ...]
    max_iterations: int
    gate_examples: int
    results: Path
    run_id: str
    variants: int
    variant_seed: int
    sandbox: bool
    """Whether decks run contained."""
    rule_feedback: str
    lenient_crash: bool
    rule_timeout_s: int
    """What a deck may take on one layout, by the clock and of the processor."""
    context: str
    """What agents are shown of the DRC language's documentation: none, docs or a file's path."""

    @property
    def gate_pictures(self) -> Path:
        """Folder of pictures of layouts that an oracle got wrong."""
        return self.results / ".gate"

    @property
    def gate_database(self) -> Path:
        """Folder of the gate's failing examples, which a later run tries first."""
        return self.results / ".examples"


_CONTEXTS: dict[str, Literal["none", "docs"]] = {"none": "none", "docs": "docs"}
settings_key = pytest.StashKey[Settings]()
_checkers_key = pytest.StashKey["tuple[int, CheckerRegistry]"]()
"""The checkers, and of how many implementations of the hook."""
_agents_key = pytest.StashKey["tuple[Agent, ...]"]()
_rule_settings_key = pytest.StashKey["RuleTrialSettings"]()


def _at_least_one(text: str) -> int:
    return _whole_number(text, 1)


def _at_least_zero(text: str) -> int:
    return _whole_number(text, 0)


def _whole_number(text: str, least: int) -> int:
    try:
        value = int(text)
    except ValueError:
        value = least - 1
    if value < least:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {least}")
    return value


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("iclayout", "integrated-circuit layout tasks (pytest-iclayout)")
    group.addoption(
        "--agent",
        action="append",
        default=[],
        metavar="AGENT",
        help="let this agent solve the tasks; may be given several times. mock: plays scripts, needs no model. "
        "oracle: plays each checker's witness (all must pass). nop: does nothing, "
        "random: draws clutter (all must fail both). "
        "replay:DIR: plays the transcripts below DIR. Without --agent only the gate runs. "
        "Example: pytest --pyargs iclayout_tasks --agent=mock -k tier1",
    )
    group.addoption(
        "--max-iterations",
        type=_at_least_one,
        default=defaults.MAX_ITERATIONS,
        metavar="N",
        help=f"propose-verify-correct iterations that an agent has for a task (default: {defaults.MAX_ITERATIONS})",
    )
    group.addoption(
        "--gate-examples",
        type=_at_least_one,
        default=None,
        metavar="N",
        help="negatives, and variants, that the gate tries for each task, spread over their names "
        f"(default: the ini value iclayout_gate_examples, else {defaults.GATE_EXAMPLES})",
    )
    group.addoption(
        "--iclayout-results",
        type=Path,
        default=None,
        metavar="DIR",
        help="folder of trial records; a later run of the same task and agent replaces its record "
        f"(default: the ini value iclayout_results, else {defaults.RESULTS} in the current folder)",
    )
    group.addoption(
        "--variants",
        type=_at_least_zero,
        default=None,
        metavar="N",
        help="instead of each task with parameters, N instances of it with values drawn from the parameters' ranges; "
        f"tasks without parameters stay (default: the ini value iclayout_variants, else {defaults.VARIANTS}: "
        "the tasks as they are)",
    )
    group.addoption(
        "--variant-seed",
        type=_at_least_zero,
        default=None,
        metavar="S",
        help="whole number that --variants draws with: the same values for the same number, on every machine "
        f"(default: the ini value iclayout_variant_seed, else {defaults.VARIANT_SEED})",
    )
    group.addoption(
        "--rule-feedback",
        choices=["none", "compile"],
        default="none",
        help="what an agent is told of its deck for a rule. none: it hands in one deck, as in the published setting. "
        "compile: whether the deck runs on an empty layout, and it may correct it, --max-iterations times",
    )
    group.addoption(
        "--lenient-crash",
        action="store_true",
        help="read a deck's runs as the published evaluator of rules does: a crash on a clean layout counts as right "
        "(default: a deck that does not run to its end on every layout is in error)",
    )
    group.addoption(
        "--rule-timeout",
        type=_at_least_one,
        default=defaults.RULE_TIMEOUT_S,
        metavar="S",
        help="seconds that a deck may take on one layout of a rule, by the clock and of the processor; one that takes "
        f"longer is in error (default: {defaults.RULE_TIMEOUT_S})",
    )
    group.addoption(
        "--context",
        default="none",
        metavar="none|docs|FILE",
        help="documentation of the DRC language put in front of a rule's prompt. docs: what the installed KLayout "
        "carries; FILE: a text file of yours (default: none)",
    )
    group.addoption(
        "--unsafe-no-sandbox",
        action="store_true",
        help="run decks and Python checkers without containment: only those that you trust",
    )
    parser.addini(
        "iclayout_results", "folder of trial records, from the rootdir (default: see --iclayout-results)", default=""
    )
    parser.addini("iclayout_gate_examples", f"as --gate-examples (default: {defaults.GATE_EXAMPLES})", default="")
    parser.addini("iclayout_variants", f"as --variants (default: {defaults.VARIANTS})", default="")
    parser.addini("iclayout_variant_seed", f"as --variant-seed (default: {defaults.VARIANT_SEED})", default="")


def configure(config: pytest.Config) -> None:
    """Register markers and validate the options. Raises pytest.UsageError."""
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    config.stash[settings_key] = Settings(
        agent_specs=tuple(dict.fromkeys(config.getoption("agent"))),
        max_iterations=config.getoption("max_iterations"),
        gate_examples=_number(config, "gate_examples", _at_least_one, defaults.GATE_EXAMPLES),
        results=_results_folder(config),
        run_id=_run_id(config),
        variants=_number(config, "variants", _at_least_zero, defaults.VARIANTS),
        variant_seed=_number(config, "variant_seed", _at_least_zero, defaults.VARIANT_SEED),
        sandbox=not config.getoption("unsafe_no_sandbox"),
        rule_feedback=config.getoption("rule_feedback"),
        lenient_crash=config.getoption("lenient_crash"),
        rule_timeout_s=config.getoption("rule_timeout"),
        context=config.getoption("context"),
    )
    if config.getoption("context") not in _CONTEXTS and not Path(config.getoption("context")).is_file():
        raise pytest.UsageError(f"--context: {config.getoption('context')!r} is neither none, docs nor a file")
    if config.getoption("context") not in _CONTEXTS:
        rule_settings(config)  # reads it: what is no text is told at once
    if config.getoption("agent"):
        agents(config)
    if config.hook.pytest_iclayout_checkers.get_hookimpls():
        checkers(config)


def checkers(config: pytest.Config) -> CheckerRegistry:
    """All checkers: the plugin's own and those of the hook. Raises pytest.UsageError.

    A conftest.py in a folder is only loaded when that folder is collected, so they may become more.
    """
    known, implemented = config.stash.get(_checkers_key, None), config.hook.pytest_iclayout_checkers.get_hookimpls()
    if known is None or known[0] != len(implemented):
        from iclayout_checkers import CHECKERS

        from pytest_iclayout.checking.registry import CheckerError, CheckerRegistry

        registry = CheckerRegistry(CHECKERS)
        try:
            for found in config.hook.pytest_iclayout_checkers(config=config):
                registry.add(_checkers_of_hook(found))
        except CheckerError as error:
            raise pytest.UsageError(str(error)) from error
        config.stash[_checkers_key] = known = len(implemented), registry
    return known[1]


def _checkers_of_hook(found: Any) -> list[Checker]:
    """What a hook returned, if it is checkers: instances with all that the protocol asks for."""
    from pytest_iclayout.checking.registry import CheckerError

    wanted = ("name", "params_model", "check", "witness", "negatives", "variants")
    several = list(found) if isinstance(found, Iterable) else [found]
    for one in several:
        missing = [name for name in wanted if not hasattr(one, name)]
        if isinstance(one, type) or missing:
            what = f"the class {one.__name__}, not an instance" if isinstance(one, type) else type(one).__name__
            lacks = f" without {', '.join(missing)}" if missing else ""
            raise CheckerError(f"a hook pytest_iclayout_checkers returned {what}{lacks}; return a list of checkers")
    return several


def agents(config: pytest.Config) -> tuple[Agent, ...]:
    """The agents of ``--agent``, in order. Raises pytest.UsageError."""
    if not config.stash[settings_key].agent_specs:
        return ()
    if _agents_key not in config.stash:
        from pytest_iclayout.agents.registry import AgentNameError, AgentRegistry
        from pytest_iclayout.trial.crashes import encodable

        registry = AgentRegistry()
        try:
            for found in config.hook.pytest_iclayout_agents(config=config):
                if not isinstance(found, Mapping) or not all(callable(make) for make in found.values()):
                    raise AgentNameError(
                        "a hook pytest_iclayout_agents returned no mapping of names to factories "
                        f"(returned {type(found).__name__}); return {{'mine': make_agent}}"
                    )
                registry.add(found)
            made = tuple(registry.make(spec) for spec in config.stash[settings_key].agent_specs)
        except ValueError as error:  # AgentNameError, and what a factory of others says of its argument
            raise pytest.UsageError(f"--agent: {error}") from error
        for one in made:
            for key in ("name", "backend"):
                text = getattr(one, key, None)
                if not isinstance(text, str) or not text or encodable(text) != text:
                    raise pytest.UsageError(
                        f"--agent: {type(one).__name__} needs a name and a backend, both text ({key} is {text!r})"
                    )
        names = [one.name for one in made]
        double = sorted({name for name in names if names.count(name) > 1})
        if double:
            # Items and records go by this name: one agent's would replace the other's.
            raise pytest.UsageError(f"--agent: two agents are called {', '.join(double)}; each needs its own name")
        config.stash[_agents_key] = made
    return config.stash[_agents_key]


def rule_settings(config: pytest.Config) -> RuleTrialSettings:
    """How agents are tried at rules, with the documentation that they are shown. Raises pytest.UsageError."""
    if _rule_settings_key not in config.stash:
        from pytest_iclayout.rules.documentation import DocumentationError, documentation
        from pytest_iclayout.rules.evaluate import Reading
        from pytest_iclayout.trial.rule_runner import RuleFeedback, RuleTrialSettings

        settings = config.stash[settings_key]
        try:
            text = documentation(_CONTEXTS.get(settings.context) or Path(settings.context))
        except DocumentationError as error:
            raise pytest.UsageError(f"--context: {error}") from error
        config.stash[_rule_settings_key] = RuleTrialSettings(
            max_iterations=settings.max_iterations,
            run_id=settings.run_id,
            feedback=RuleFeedback(settings.rule_feedback),
            reading=Reading.LENIENT if settings.lenient_crash else Reading.STRICT,
            context=settings.context,
            documentation=text,
        )
    return config.stash[_rule_settings_key]


def parametrize_agents(metafunc: pytest.Metafunc) -> None:
    """A test of one's own that asks for ``agent_session`` runs once for each ``--agent``."""
    if "agent_session" in metafunc.fixturenames:
        names = [one.name for one in agents(metafunc.config)]
        none = pytest.param(0, marks=pytest.mark.skip(reason="needs an agent: --agent=NAME"), id="no agent")
        metafunc.parametrize("agent_session", range(len(names)) or [none], ids=names or None, indirect=True)


def _number(config: pytest.Config, name: str, read: Callable[[str], int], default: int) -> int:
    """The option of that name, else the ini value ``iclayout_`` with it. Raises pytest.UsageError."""
    given: Any = config.getoption(name)
    if given is not None:
        return int(given)
    text = config.getini(f"iclayout_{name}")
    try:
        return read(text) if text else default
    except argparse.ArgumentTypeError as error:
        raise pytest.UsageError(f"ini value iclayout_{name}: {error}") from error


def _results_folder(config: pytest.Config) -> Path:
    given: Path | None = config.getoption("iclayout_results")
    ini: str = config.getini("iclayout_results")
    if given is None and ini:
        folder, source = config.rootpath / ini, "ini value iclayout_results"
    else:
        # Not below the rootdir: where a suite is named by its path, pytest takes that for it.
        folder, source = config.invocation_params.dir / (given or defaults.RESULTS), "--iclayout-results"
    if folder.exists() and not folder.is_dir():
        raise pytest.UsageError(f"{source}: {folder} is not a folder")
    return folder


def _run_id(config: pytest.Config) -> str:
    worker_input: dict[str, Any] | None = getattr(config, "workerinput", None)  # xdist.XdistHooks puts it there
    return uuid.uuid4().hex if worker_input is None else str(worker_input["iclayout_run_id"])

"""The pytest plugin: hooks only, each of which delegates.

Loaded by every pytest run on an installation, so nothing heavy is imported here: the models,
klayout and Hypothesis come in with the first task file that is collected.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_iclayout import broken, deck_options, options, terminal, xdist
from pytest_iclayout.fixtures import agent_session, checker, deck_pool, highest_folder, layout_session, task

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

__all__ = ["agent_session", "checker", "deck_pool", "layout_session", "task"]


def pytest_addoption(parser: pytest.Parser) -> None:
    options.add_options(parser)
    deck_options.add_options(parser)


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    from pytest_iclayout import hookspecs

    pluginmanager.add_hookspecs(hookspecs)


def pytest_configure(config: pytest.Config) -> None:
    options.configure(config)
    config.stash[terminal.tally_key] = terminal.Tally()
    config.pluginmanager.register(config.stash[terminal.tally_key], "iclayout-tally")
    if xdist.is_installed(config):
        config.pluginmanager.register(xdist.XdistHooks(config), "iclayout-xdist")
    decks = deck_options.configure(config)
    if decks is not None:
        from pytest_iclayout import deck_items

        deck_items.register(config, decks)


def pytest_ignore_collect(collection_path: Path) -> bool | None:
    """What lies in folders beside a published rule are its layouts and its deck; pytest asks of no path it is given."""
    from pytest_iclayout.rules.sniff import lies_in_published_rule

    return lies_in_published_rule(collection_path) or None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    from pytest_iclayout.rules.sniff import has_rule_table, may_be_rules

    given = parent.session.isinitpath(file_path)
    if may_be_rules(file_path) or (given and has_rule_table(file_path)):
        from pytest_iclayout import rule_items

        return rule_items.RuleFile.from_parent(parent, path=file_path)
    if file_path.suffix != ".toml":
        return None
    from pytest_iclayout.suite.sniff import may_be_ours

    top = highest_folder(file_path, parent.config)
    if not (may_be_ours(file_path, top) or given):
        return None
    from pytest_iclayout import collect

    return collect.collect_toml(file_path, parent)


def pytest_sessionstart(session: pytest.Session) -> None:
    session.config.pluginmanager.register(broken.BrokenFiles(session), "iclayout-broken-files")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    options.parametrize_agents(metafunc)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    terminal.annotate(item, call, report)
    return report


def pytest_report_teststatus(report: pytest.TestReport) -> tuple[str, str, str] | None:
    return terminal.test_status(report)


def pytest_report_header(config: pytest.Config) -> list[str]:
    return terminal.header(config)


def pytest_terminal_summary(terminalreporter: TerminalReporter, config: pytest.Config) -> None:
    terminal.summarize(terminalreporter, config)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    terminal.set_exit_status(session, exitstatus)

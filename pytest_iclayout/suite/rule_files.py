"""Rules by the paths that name them, in any of the formats."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from pytest_iclayout.rules.rule import Rule, RuleError
from pytest_iclayout.rules.sniff import SPEC_NAME, TABLE_SUFFIXES, is_published_rule, may_be_rules


def rules_of(path: Path) -> Iterator[Rule | RuleError]:
    """The rules of a file (TOML, a published ``spec.yaml``, a dataset's table of rules), or of all such files below
    a folder, in the order of their paths; a bad file, or a dataset's bad row, is its error and the others go on.

    Raises RuleError for a path without a file of rules.
    """
    if not path.is_dir():
        yield from _of_file(path)
        return
    found = False
    for file in _files(path):
        found = True
        yield from _of_file(file)
    if not found:
        raise RuleError(f"{path}: no file of rules below this folder")


def _files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        folders.sort()
        if SPEC_NAME in names and is_published_rule(Path(place, SPEC_NAME)):
            folders.clear()  # below are its thousands of layouts
        for name in sorted(names):
            file = Path(place, name)
            if file.is_file() and may_be_rules(file):
                yield file


def load_rules(path: Path, suite: str = "", suite_version: str = "") -> tuple[Rule, ...]:
    """The rules of one file, in whatever form. Raises RuleError for the first thing that is wrong."""
    found = tuple(_of_file(path, suite, suite_version))
    for one in found:
        if isinstance(one, RuleError):
            raise one
    return tuple(one for one in found if isinstance(one, Rule))


def _of_file(path: Path, suite: str = "", suite_version: str = "") -> Iterator[Rule | RuleError]:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            # Reading a pipe that nobody writes to would never end.
            raise RuleError(f"{path}: a pipe, socket or device, not a file")
        # Each form with what it takes: a thousand published rules are collected without a layout library.
        if path.name == SPEC_NAME:
            from pytest_iclayout.rules.published import load_published_rule

            yield load_published_rule(path, suite, suite_version)
        elif path.suffix in TABLE_SUFFIXES:
            from pytest_iclayout.rules.dataset import iterate_dataset

            yield from iterate_dataset(path, suite, suite_version)
        else:
            from pytest_iclayout.rules.toml_file import load_rule_file

            yield from load_rule_file(path, suite, suite_version)
    except RuleError as error:
        yield error

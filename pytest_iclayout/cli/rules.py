"""``iclayout rules``: rules and their gold decks."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_iclayout.cli.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_iclayout.rules.coverage import LanguageCoverage
    from pytest_iclayout.rules.rule import Rule


def add_verb(verbs: Verbs) -> None:
    parser = verbs.add_parser("rules", help="look at rules and their gold decks, write them as a published tree")
    below = parser.add_subparsers(required=True, metavar="VERB")
    add_list(below)
    add_export(below)
    add_coverage(below)


def add_list(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "list",
        help="show rules as a table",
        description="Show rules as a table, and what is odd about them. The exit code is 2 when one cannot be used. "
        "Example: iclayout rules list problems",
    )
    _add_paths(parser, "PATH", "*", "(default: the bundled suite)")
    parser.add_argument("--json", action="store_true", help="print one JSON array")
    parser.set_defaults(run=_list)


def add_export(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "export",
        help="write rules as a published tree",
        description="Write rules as a published tree, DIR/problems/ID for each: spec.yaml, the gold deck, layouts and "
        "labels. A rule that is there already is replaced. Example: iclayout rules export my-rules.toml tree",
    )
    _add_paths(parser, "FILE", "+", "")
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder that problems/ is made in")
    parser.set_defaults(run=_export)


def _add_paths(parser: argparse.ArgumentParser, name: str, number: str, more: str) -> None:
    text = "a TOML file of rules, a published rule's spec.yaml, a dataset's table of rules, or a folder with such files"
    parser.add_argument("paths", type=Path, nargs=number, metavar=name, help=f"{text} {more}".strip())


def add_coverage(verbs: Verbs) -> None:
    parser = verbs.add_parser(
        "coverage",
        help="count the methods of the DRC language that gold decks use",
        description="Count the methods of KLayout's DRC language that gold decks use, and name those that none uses. "
        "Example: iclayout rules coverage my-rules.toml",
    )
    parser.add_argument(
        "paths",
        type=Path,
        nargs="*",
        metavar="FILE",
        help="a TOML file of rules, a published rule's spec.yaml, a deck (.drc), or a folder with files of rules "
        "(default: the bundled suite)",
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.set_defaults(run=_coverage)


def _list(options: argparse.Namespace) -> int:
    from pytest_iclayout.rules.rule import RuleError
    from pytest_iclayout.suite.folder import bundled_folder

    rules, errors = _rules(options.paths or [bundled_folder()])
    if options.json:
        print(json.dumps([_row(rule) for rule in rules], indent=2))
    else:
        print(*_table(rules), sep="\n")
    if errors:
        raise RuleError("\niclayout: ".join(errors))
    return 0


def _export(options: argparse.Namespace) -> int:
    from pytest_iclayout.rules.published import load_published_rule
    from pytest_iclayout.rules.rule import RuleError
    from pytest_iclayout.rules.writing import PROBLEMS, write_published

    rules, errors = _rules(options.paths)
    if errors:
        raise RuleError("\niclayout: ".join(errors))
    written = [load_published_rule(path) for path in write_published(rules, options.folder)]
    for rule in written:
        for warning in rule.warnings:
            print(f"{rule.id}: {warning}")
    layouts = sum(len(rule.layouts) for rule in written)
    print(f"{options.folder / PROBLEMS}: {len(written)} rules with {layouts} layouts written")
    return 0


def _rules(paths: Iterable[Path]) -> tuple[list[Rule], list[str]]:
    """The rules, with their layouts, and what is wrong with the others."""
    from pytest_iclayout.rules.rule import RuleError
    from pytest_iclayout.suite.rule_files import rules_of

    rules: list[Rule] = []
    errors: list[str] = []
    for path in paths:
        for one in rules_of(path):
            try:
                if isinstance(one, RuleError):
                    raise one
                len(one.layouts)  # those of a structure are only made now
            except RuleError as error:
                errors.append(str(error))
            else:
                rules.append(one)
    return rules, errors


def _row(rule: Rule) -> dict[str, object]:
    return {
        "id": rule.id,
        "group": rule.group,
        "categories": list(rule.category_names),
        "layouts": len(rule.layouts),
        "violating": sum(bool(one.violates) for one in rule.layouts),
        "gold": rule.gold is not None,
        "warnings": list(rule.warnings),
        "path": str(rule.path),
    }


def _table(rules: Sequence[Rule]) -> list[str]:
    """With the warnings below, and the sums."""
    cells = [("rule", "group", "categories", "layouts", "violating", "gold", "warnings")]
    for rule in rules:
        row = _row(rule)
        cells.append(
            (
                rule.id,
                rule.group,
                str(len(rule.categories)),
                str(row["layouts"]),
                str(row["violating"]),
                "yes" if row["gold"] else "no",
                str(len(rule.warnings) or ""),
            )
        )
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
    warnings = [f"{rule.id}: {warning}" for rule in rules for warning in rule.warnings]
    layouts = sum(len(rule.layouts) for rule in rules)
    return [*lines, "", *warnings, f"{len(rules)} rules, {layouts} layouts, {len(warnings)} warnings"]


def _coverage(options: argparse.Namespace) -> int:
    from pytest_iclayout.rules.coverage import language_coverage
    from pytest_iclayout.suite.folder import bundled_folder

    found = language_coverage(text for path in options.paths or [bundled_folder()] for text in _gold_texts(path))
    print(found.model_dump_json(indent=2) if options.json else _coverage_text(found))
    return 0


def _coverage_text(found: LanguageCoverage) -> str:
    from textwrap import fill

    total = len(found.used) + len(found.missing)
    lines = [
        f"{len(found.used)} of {total} methods of the DRC language of KLayout {found.klayout} "
        f"are used, by {found.decks} deck(s)"
    ]
    by_object: dict[str, list[str]] = {}
    for name, objects in found.missing.items():
        by_object.setdefault("/".join(objects), []).append(name)
    for kind, names in sorted(by_object.items()):
        lines.append(fill(f"missing, {kind}: {' '.join(names)}", 100, subsequent_indent="  ", break_on_hyphens=False))
    return "\n".join(lines)


def _gold_texts(path: Path) -> Iterator[str]:
    """The gold decks that a path names. Raises RuleError for a path without one."""
    from pytest_iclayout.rules.rule import RuleError
    from pytest_iclayout.suite.rule_files import rules_of

    if path.suffix == ".drc":
        try:
            yield path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise RuleError(f"{path}: cannot be read: {error.strerror}") from error
        return
    for rule in rules_of(path):
        if isinstance(rule, RuleError):
            raise rule
        gold = rule.gold_deck()
        if gold is not None:
            yield gold.files[gold.name].decode("utf-8", "replace")

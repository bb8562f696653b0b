"""``iclayout rules``: rules and their gold decks."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_iclayout.cli.verbs import Verbs

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_iclayout.rules.coverage import LanguageCoverage


def add_verb(verbs: Verbs) -> None:
    parser = verbs.add_parser("rules", help="look at rules and their gold decks")
    below = parser.add_subparsers(required=True, metavar="VERB")
    add_coverage(below)


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
    from pytest_iclayout.rules.published import load_published_rule
    from pytest_iclayout.rules.rule import RuleError
    from pytest_iclayout.rules.sniff import SPEC_NAME, is_published_rule
    from pytest_iclayout.rules.toml_file import load_rule_file
    from pytest_iclayout.suite.sniff import looks_like_rules

    if path.suffix == ".drc":
        try:
            yield path.read_text(encoding="utf-8", errors="replace")
        except OSError as error:
            raise RuleError(f"{path}: cannot be read: {error.strerror}") from error
        return
    if path.is_dir():
        files = [
            one
            for one in sorted(path.rglob("*"))
            if (one.suffix == ".toml" and looks_like_rules(one)) or is_published_rule(one)
        ]
        if not files:
            raise RuleError(f"{path}: no file of rules below this folder")
    else:
        files = [path]
    for file in files:
        for rule in (load_published_rule(file),) if file.name == SPEC_NAME else load_rule_file(file):
            gold = rule.gold_deck()
            if gold is not None:
                yield gold.files[gold.name].decode("utf-8", "replace")

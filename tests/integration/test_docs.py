"""The pages' examples, run as a reader runs them: in an empty folder, from top to bottom of the page.

A fenced block with ``file=NAME`` after its language is written to the folder.  In a ``console`` block
each line ``$ pytest ...``, ``$ iclayout ...`` or ``$ python ...`` is run, with the environment variables that are
set before it (``$ NAME=value pytest ...``); it must end with exit code 0, or with N where
the line ends in ``# exit N``, and print the lines that follow it in the block, in their order (``...`` stands
for any text).  Other programs (installing, ``./setup``) are not run.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_iclayout.drc.decks.engines import find_engines

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
NEED_THE_APPLICATION = {"agents.md", "deck-regression.md", "drc.md", "fixtures.md", "rules.md"}
_FENCE = re.compile(r"^```(?P<info>[^\n]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]*))?\)")


class Command(NamedTuple):
    words: list[str]
    exit_code: int
    expected: list[str]
    variables: dict[str, str]


class File(NamedTuple):
    name: str
    content: str


def steps(page: Path) -> list[Command | File]:
    """What a reader does, in order."""
    found: list[Command | File] = []
    for fence in _FENCE.finditer(page.read_text(encoding="utf-8")):
        name = re.search(r"\bfile=(\S+)", fence["info"])
        if name:
            found.append(File(name[1], fence["body"]))
        elif fence["info"] == "console":
            found.extend(_commands(fence["body"]))
    return found


def _commands(console: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", console, flags=re.MULTILINE)[1:]:
        line, *output = part.splitlines()
        words = shlex.split(line, comments=True)
        variables = {}
        while re.match(r"[A-Z_]+=", words[0]):
            name, _, value = words.pop(0).partition("=")
            variables[name] = value
        if words[0] in ("pytest", "iclayout", "python"):
            code = re.search(r"# exit (\d+)$", line)
            yield Command(words, int(code[1]) if code else 0, [one for one in output if one.strip(" .")], variables)


def with_commands(page: Path) -> bool:
    return any(isinstance(step, Command) for step in steps(page))


@pytest.mark.parametrize("page", [page for page in PAGES if with_commands(page)], ids=lambda page: page.name)
def test_examples_of_a_page_do_what_the_page_says(page: Path, tmp_path: Path) -> None:
    if page.name in NEED_THE_APPLICATION and not find_engines():
        pytest.skip("no KLayout application on PATH")
    for step in steps(page):
        if isinstance(step, File):
            path = tmp_path / step.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(step.content, encoding="utf-8")
            continue
        done = subprocess.run(
            [program(step.words[0]), *step.words[1:]],
            cwd=tmp_path,
            env={**environment(), **step.variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == step.exit_code, f"$ {shlex.join(step.words)}\n{done.stdout}"
        lines = [f"{re.escape(one.rstrip()).replace(re.escape('...'), '.*')}$" for one in step.expected]
        pytest.LineMatcher([one.rstrip() for one in done.stdout.splitlines()]).re_match_lines(lines)


def program(name: str) -> str:
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    assert found is not None, f"{name} is not installed beside {sys.executable}"
    return found


def environment() -> dict[str, str]:
    """That of a reader: what the run around this test sets for pytest is not passed on."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST_", "ICLAYOUT_", "COV_"))}
    return {**kept, "COLUMNS": "160"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page: Path) -> None:
    for name, heading in _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8"))):
        target = page.parent / name if name else page
        assert target.exists(), f"{page.name} links to {name}, which does not exist"
        if heading:
            assert heading in anchors(target), (
                f"{page.name} links to {name}#{heading}; it has {sorted(anchors(target))}"
            )


def anchors(page: Path) -> set[str]:
    """Headings as the fragments that GitHub makes of them."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    headings = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}

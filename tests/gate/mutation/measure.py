"""Measures the gate: mutates the checkers with mutmut and reports which mutants the gate lets live.

    python tests/gate/mutation/measure.py [MODULE ...]

MODULE is the name of a module in checkers/, or a pattern; without one all are measured.  docs/oracles.md tells what
is measured and how to read the result.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import fnmatch
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import grimp
import iclayout_checkers
from iclayout_checkers import CHECKERS
from sources import Comparison, called, functions, message_makers, with_pragmas

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent
PACKAGE = "iclayout_checkers"

CONFIGURATION = """\
[tool.mutmut]
source_paths = ["{package}"]
only_mutate = {modules}
"""


class Fate(str, Enum):
    """What becomes of a mutant; one that is late comes to no end."""

    LIVED = "lived"
    KILLED = "killed"
    LATE = "late"


class Change(NamedTuple):
    """A mutant as the table of survivors names it: numbers of mutants would shift with every edit."""

    function: str
    """``module.function`` or ``module.Class.method``."""
    old: str
    """The lines that differ, without indentation."""
    new: str

    @property
    def module(self) -> str:
        return self.function.partition(".")[0]

    def __str__(self) -> str:
        old = "".join(f"\n  - {line}" for line in self.old.splitlines())
        return self.function + old + "".join(f"\n  + {line}" for line in self.new.splitlines())


@dataclass(frozen=True)
class Mutant:
    change: Change
    fate: Fate


class MeasureError(Exception):
    """The measurement could not be made."""


class Bench:
    """A folder in which mutmut finds the checkers under the name that they are imported by."""

    def __init__(self, folder: Path, patterns: Sequence[str]) -> None:
        self.folder = folder
        self.sources = {
            path.stem: path.read_text(encoding="utf-8")
            for path in sorted(Path(iclayout_checkers.__file__).parent.glob("*.py"))
        }
        self.wanted = {name for name in self.sources if any(fnmatch.fnmatch(name, one) for one in patterns or ["*"])}
        if unknown := [one for one in patterns if not fnmatch.filter(self.sources, one)]:
            raise MeasureError(
                f"no module of {PACKAGE} is named {', '.join(unknown)}; there are {', '.join(self.sources)}"
            )
        self._environment = os.environ | {
            "ICLAYOUT_MUTATION_CHECKERS": ",".join(_checkers_that_use(self.wanted)),
            "PYTHONHASHSEED": "0",
        }
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self._trees = {name: ast.parse(source) for name, source in self.sources.items()}
        self._makers = message_makers(list(self._trees.values()))

    def find_functions(self) -> dict[str, dict[str, frozenset[str]]]:
        """For "judging" and "drawing", the functions that the gate calls, by module."""
        calls = self.folder / "calls.json"
        self._replay("calls", calls)
        found = json.loads(calls.read_text(encoding="utf-8"))
        return {
            purpose: {
                name: called(source, [line for file, line in lines if file == f"{name}.py"])
                for name, source in self.sources.items()
            }
            for purpose, lines in found.items()
        }

    def write_sources(self, judging: Mapping[str, frozenset[str]]) -> None:
        package = self.folder / PACKAGE
        package.mkdir()
        mutated = []
        for name, source in self.sources.items():
            if name in self.wanted and judging[name]:
                mutated.append(f"{PACKAGE}/{name}.py")
                source = with_pragmas(source, judging[name], self._makers)
            (package / f"{name}.py").write_text(source, encoding="utf-8")
        text = CONFIGURATION.format(package=PACKAGE, modules=json.dumps(mutated or ["none.py"]))
        (self.folder / "pyproject.toml").write_text(text, encoding="utf-8")

    def make_mutants(self) -> None:
        self._run("mutmut", ["-c", "from mutmut.__main__ import create_mutants; create_mutants(1)"])

    def mutants(self) -> list[Mutant]:
        """With what became of them: all but those that differ from the checker in the contents of findings alone."""
        changes = {key: change for name in sorted(self.wanted) for key, change in self._changes(name)}
        names, fates = self.folder / "names.json", self.folder / "fates.json"
        names.write_text(json.dumps([*changes]), encoding="utf-8")
        self._replay("fates", names, fates)
        found = json.loads(fates.read_text(encoding="utf-8"))
        return [Mutant(change, Fate(found[key])) for key, change in changes.items()]

    def _changes(self, name: str) -> Iterator[tuple[str, Change]]:
        made = self.folder / "mutants" / PACKAGE / f"{name}.py.meta"
        if made.exists():
            keys = json.loads(made.read_text(encoding="utf-8"))["exit_code_by_key"]
            yield from _read_changes(name, made.with_suffix("").read_text(encoding="utf-8"), keys, self._makers)

    def uncalled(self, found: Mapping[str, Mapping[str, frozenset[str]]]) -> list[str]:
        return [
            f"{name}.{one.name}"
            for name in sorted(self.wanted)
            for one in functions(self._trees[name])
            if not any(one.name in called[name] for called in found.values())
        ]

    def decorated(self, judging: Mapping[str, frozenset[str]]) -> list[str]:
        """Functions that judge and that mutmut leaves alone."""
        return [
            f"{name}.{one.name}"
            for name in sorted(self.wanted)
            for one in functions(self._trees[name])
            if one.name in judging[name] and one.is_decorated
        ]

    def _replay(self, what: str, *paths: Path) -> None:
        self._run(what, [str(HERE / "replay.py"), what, *map(str, paths)])

    def _run(self, what: str, arguments: list[str]) -> None:
        log = self.folder / f"{what}.log"
        # mutmut's checkers go before those that are installed; as long as there are none, the latter are run.
        environment = {"PYTHONPATH": os.pathsep.join(map(str, (self.folder / "mutants", HERE.parent)))}
        with log.open("w", encoding="utf-8") as output:
            done = subprocess.run(
                [sys.executable, *arguments],
                cwd=self.folder,
                env=self._environment | environment,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        if done.returncode:
            text = log.read_text(encoding="utf-8")
            raise MeasureError(f"{what} ended with {done.returncode}; its output:\n{text[-4000:]}")


def _checkers_that_use(modules: set[str]) -> list[str]:
    graph = grimp.build_graph(PACKAGE)
    found = []
    for checker, place in CHECKERS.items():
        home = place.partition(":")[0]
        used = {home, *graph.find_upstream_modules(home)}
        if used & {f"{PACKAGE}.{name}" for name in modules}:
            found.append(checker)
    return found


def _read_changes(
    module: str, source: str, keys: Iterable[str], makers: frozenset[str]
) -> Iterator[tuple[str, Change]]:
    """From a module as mutmut writes it: the originals and all mutants stand in it as functions."""
    lines = source.splitlines()
    by_name = {one.node.name: one for one in functions(ast.parse(source))}
    comparisons: dict[str, Comparison] = {}
    for key in keys:
        mutant = by_name[key.rpartition(".")[2]]
        mangled = mutant.node.name.rpartition("__mutmut_")[0]
        original = by_name[f"{mangled}__mutmut_orig"]
        name = mangled[2:].replace("ǁ", ".")
        if mangled not in comparisons:
            original.node.name = name.rpartition(".")[2]
            comparisons[mangled] = Comparison(original.node, makers)
        if not comparisons[mangled].is_no_different(mutant.node):
            old, new = (lines[one.first_line : one.last_line] for one in (original, mutant))
            # The first line names the function; a default value that changed stands there in a short signature.
            head = lines[mutant.first_line - 1].replace(mutant.node.name, f"{mangled}__mutmut_orig")
            change = _difference([lines[original.first_line - 1], *old], [head, *new])
            yield key, Change(f"{module}.{name}", *change)


def _difference(old: list[str], new: list[str]) -> tuple[str, str]:
    marked = [one for one in difflib.ndiff(old, new) if one[:2] in ("- ", "+ ")]
    return tuple("\n".join(one[2:].strip() for one in marked if one[0] == sign) for sign in "-+")  # type: ignore[return-value]


class Survivors:
    """The table of mutants that are known to live, each with the reason."""

    def __init__(self, path: Path) -> None:
        rows = tomllib.loads(path.read_text(encoding="utf-8")).get("survivors", [])
        self.reasons: dict[Change, str] = {}
        self.count: Counter[Change] = Counter()
        for row in rows:
            change = Change(row["function"], row["old"], row["new"])
            self.reasons[change] = row["reason"]
            self.count[change] += row.get("times", 1)


def report(mutants: Sequence[Mutant], known: Survivors, modules: set[str]) -> bool:
    """Print the result; whether no mutant lives but those of the table."""
    print(f"{'module':24} {'mutants':>8} {'killed':>8} {'lived':>8}")
    for module in sorted({one.change.module for one in mutants}):
        here = [one for one in mutants if one.change.module == module]
        dead = sum(one.fate != Fate.LIVED for one in here)
        print(f"{module:24} {len(here):8} {dead:8} {len(here) - dead:8}")
    dead = sum(one.fate != Fate.LIVED for one in mutants)
    late = sum(one.fate == Fate.LATE for one in mutants)
    print(f"score: {dead} of {len(mutants)} mutants killed, {dead / max(1, len(mutants)):.2%}; {late} of them by time")
    lived = Counter(one.change for one in mutants if one.fate == Fate.LIVED)
    new = lived - known.count
    for change, times in sorted(new.items()):
        print(f"lives and is not in the table{f', {times} times' if times > 1 else ''}: {change}")
    for change in sorted(known.count - lived):
        if change.module in modules:
            exists = any(one.change == change for one in mutants)
            print(f"in the table, but {'killed' if exists else 'no mutant'} now: {change}")
    return not new


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure the gate by mutating the checkers.")
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="a module in checkers/, or a pattern")
    parser.add_argument("--folder", type=Path, default=Path(".tox") / "mutation", help="where to work; is emptied")
    options = parser.parse_args()
    try:
        bench = Bench(options.folder.resolve(), options.modules)
        found = bench.find_functions()
        bench.write_sources(found["judging"])
        bench.make_mutants()
        mutants = bench.mutants()
    except MeasureError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print("not mutated, because decorated:", ", ".join(bench.decorated(found["judging"])) or "none")
    uncalled = bench.uncalled(found)
    print("called by no gate:", ", ".join(uncalled) or "none")
    return 0 if report(mutants, Survivors(HERE / "survivors.toml"), bench.wanted) else 1


if __name__ == "__main__":
    sys.exit(main())

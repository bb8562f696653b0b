"""Runs the gate of one task for each checker with many seeds: no verdict may depend on what Hypothesis draws.

python tests/gate/many_seeds.py [--seeds 20] [--examples 50]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import iclayout_tasks
from iclayout_checkers import CHECKERS

from pytest_iclayout.checking.registry import CheckerRegistry
from pytest_iclayout.suite.manifest import MANIFEST_NAME, load_suite
from pytest_iclayout.suite.task import is_task_file, load_task


def one_file_a_checker() -> list[Path]:
    """Of several tasks the one of the highest tier, whose geometry is the richest."""
    folder = Path(iclayout_tasks.__path__[0])
    suite, registry = load_suite(folder / MANIFEST_NAME), CheckerRegistry(CHECKERS)
    found: dict[str, tuple[int, Path]] = {}
    for path in sorted(folder.rglob("*.toml")):
        if is_task_file(path, suite):
            task = load_task(path, suite, registry)
            found[task.oracle.checker.name] = max(
                found.get(task.oracle.checker.name, (0, path)), (task.spec.tier, path)
            )
    return [path for _, path in found.values()]


def main() -> int:
    parser = argparse.ArgumentParser(description="Run the gate of one task for each checker with many seeds.")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--examples", type=int, default=50)
    options = parser.parse_args()
    files = [str(path) for path in one_file_a_checker()]
    print(f"{len(files)} checkers, {options.seeds} seeds, {options.examples} examples", flush=True)
    environment = {name: value for name, value in os.environ.items() if name != "CI"}  # there all seeds are one
    failed = []
    for seed in range(options.seeds):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run(
                [sys.executable, "-m", "pytest", *files, "-q", "-n2", "-p", "no:cacheprovider", "-m", "gate",
                 f"--gate-examples={options.examples}", f"--hypothesis-seed={seed}",
                 f"--iclayout-results={folder}"],
                capture_output=True, text=True, env=environment, check=False,
            )  # fmt: skip
        print(f"seed {seed}: {done.stdout.splitlines()[-1] if done.stdout else done.stderr}", flush=True)
        if done.returncode:
            failed.append(seed)
            print(done.stdout[-6000:])
    print(f"{options.seeds - len(failed)} of {options.seeds} seeds passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

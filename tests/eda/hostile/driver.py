"""Runs hostile decks and scripts, and prints what became of them as JSON.

Started by test_hostile.py inside a PID namespace: one of the decks signals every process that it can see.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import threading
from pathlib import Path
from typing import Any

import klayout.db as db
from script_runs import ScriptRunner

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.sandbox.fork_server import JobResult
from pytest_iclayout.sandbox.policy import Limits
from pytest_iclayout.technology import toml

LIMITS = Limits(wall_s=4, cpu_s=2, memory_bytes=1 << 30, file_bytes=32 << 20, folder_bytes=64 << 20, descriptors=64)
HEAD = 'source($input)\nreport("suite", $output)\nm1 = input(1, 0)\n'
PLACES = ("/tmp", "/dev/shm", "/var/tmp")


def layout() -> bytes:
    made = db.Layout()
    made.create_cell("TOP").shapes(made.layer(1, 0)).insert(db.Box(0, 0, 200, 1000))
    options = db.SaveLayoutOptions()
    options.format = "GDS2"
    return bytes(made.write_bytes(options))


def processes() -> set[int]:
    return {int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()}


def files() -> set[str]:
    """What hostile decks try to leave: by the names that they use."""
    found = (path for place in PLACES if Path(place).is_dir() for path in Path(place).iterdir())
    return {str(path) for path in found if path.name.startswith(("iclayout-hostile", "pwned"))}


def main(decks: list[str]) -> None:
    heard: list[str] = []
    listener = socket.create_server(("127.0.0.1", 9)) if os.geteuid() == 0 else None
    if listener is not None:
        threading.Thread(target=lambda: heard.append(str(listener.accept())), daemon=True).start()
    ours = Path(__file__).with_name("decks.toml")
    jobs = {name: Deck.of_text(HEAD + one["code"]) for name, one in toml.loads(ours.read_text()).items()}
    jobs |= {path: Deck.of_file(Path(path)) for path in decks}
    found: dict[str, Any] = {}
    with DeckPool(children=2, limits=LIMITS) as pool:
        well = Deck.of_text(HEAD + 'm1.width(0.3).output("OK")')
        (first,) = run_all(pool, well, [layout()])
        before, known = processes(), files()
        for name, deck in jobs.items():
            one, again = run_all(pool, deck, [layout()]) + run_all(pool, well, [layout()])
            found[name] = {
                "status": one.status.value,
                "reason": one.reason,
                "log": one.log[-300:],
                "wall_s": one.wall_s,
                "next": again.status.value,
                "next_items": again.items,
                "left_processes": len(processes() - before),
                "left_files": sorted(files() - known),
            }
        restarts = pool.restarts
    scripts, script_restarts = run_scripts()
    told = {"first": first.status.value, "restarts": restarts, "heard": heard, "jobs": found}
    print(json.dumps({**told, "scripts": scripts, "script_restarts": script_restarts}))


def run_scripts() -> tuple[dict[str, Any], int]:
    """What became of each script and of a good one after it, and how often the server died."""
    table = toml.loads(Path(__file__).with_name("scripts.toml").read_text())
    found: dict[str, Any] = {}
    with ScriptRunner() as runner:
        well, limits = "print('well')", LIMITS.model_copy(update={"wall_s": 8.0})
        runner.submit(well, limits)[1].result()
        before, known = processes(), files() | outside(runner)
        for name, script in table.items():
            job, future = runner.submit(script["code"], LIMITS)
            result = future.result()
            again = runner.submit(well, limits)[1].result()
            log = job / "log"
            found[name] = {
                "ended": ending(result),
                "log": log.read_bytes()[-300:].decode(errors="replace") if log.exists() else "",
                "wall_s": result.wall_s,
                "next": ending(again),
                "left_processes": len(processes() - before),
                "left_files": sorted((files() | outside(runner)) - known),
            }
        return found, runner.server.restarts


def ending(result: JobResult) -> str:
    """The words of scripts.toml."""
    if result.ended_for is not None:
        return result.ended_for
    if result.signal is not None:
        return "signal"
    return "ok" if result.ended_well and result.runs == (0,) else "error"


def outside(runner: ScriptRunner) -> set[str]:
    """What lies beside the jobs' folders and scripts."""
    return {str(path) for path in runner.folder.iterdir() if not path.name.startswith("job")}


if __name__ == "__main__":
    main(sys.argv[1:])

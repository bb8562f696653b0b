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

from pytest_iclayout.drc.decks.deck import Deck
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.drc.decks.script_pool import ScriptPool
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
    """What became of each script and of a good one after it, and how often the server died.

    A script has left its report before it attacks, so that one which comes to its end counts as run.
    """
    table = toml.loads(Path(__file__).with_name("scripts.toml").read_text())
    found: dict[str, Any] = {}
    reported = "import sys; open(sys.argv[2], 'w').write('{\"OK\": 1}'); del sys\n"
    well = Deck.of_text(reported, "well.py")
    with ScriptPool(children=2, limits=LIMITS) as pool:
        run_all(pool, well, [layout()])
        before, known = processes(), files()
        for name, script in table.items():
            (one,) = run_all(pool, Deck.of_text(reported + script["code"], "checker.py"), [layout()])
            (again,) = run_all(pool, well, [layout()])
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
        return found, pool.restarts


if __name__ == "__main__":
    main(sys.argv[1:])

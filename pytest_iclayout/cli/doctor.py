"""``iclayout doctor``: what this machine has for the work, and what to do about what it has not."""

from __future__ import annotations

import argparse
import json
import os
from typing import NamedTuple

from pytest_iclayout.cli.verbs import EXIT_DIFFERS, Verbs


class _Found(NamedTuple):
    name: str
    found: str
    """Empty for what is missing."""
    advice: str
    needed: bool
    """Whether something does not work without it."""


def add_verb(verbs: Verbs) -> None:
    verb = verbs.add_parser(
        "doctor",
        help="say what is installed and what is missing",
        description="Say which programs and means of containment were found, what is missing, and the command that "
        "installs it. The exit code is 1 when decks cannot be run, or not contained. Example: iclayout doctor",
    )
    verb.add_argument("--json", action="store_true", help="print one JSON array")
    verb.set_defaults(run=_doctor)


def _doctor(options: argparse.Namespace) -> int:
    found = _look()
    if options.json:
        print(json.dumps([one._asdict() for one in found], indent=2))
    else:
        width = max(len(one.name) for one in found)
        for one in found:
            print(f"{one.name:<{width}}  {one.found or 'missing'}{'' if one.found else f': {one.advice}'}")
    return EXIT_DIFFERS if any(one.needed and not one.found for one in found) else 0


def _look() -> list[_Found]:
    from importlib.metadata import version

    from pytest_iclayout.drc.decks.engines import EngineUnavailable, find_engine, find_engines
    from pytest_iclayout.sandbox.policy import SandboxUnavailable, support

    try:
        find_engine()
        lacking = ""
    except EngineUnavailable as error:
        lacking = str(error)
    means = support()
    try:
        means.require()
        refused = ""
    except SandboxUnavailable as error:
        refused = str(error)
    run_as = "jobs run as nobody" if os.geteuid() == 0 else "jobs run as you"
    return [
        _Found("klayout module", version("klayout"), "pip install klayout", True),
        *(
            _Found("KLayout application", f"{one.kind} {one.version} ({one.program})", "", True)
            for one in find_engines()
        ),
        *([_Found("KLayout application", "", lacking, True)] if lacking else []),
        _Found("containment", "" if refused else f"system call filter for {means.machine}; {run_as}", refused, True),
        _Found("Landlock", f"version {means.landlock}" if means.landlock else "", "Linux 5.13 or later", False),
        _Found(
            "bubblewrap", means.bubblewrap or "", "apt-get install bubblewrap (only needed without Landlock)", False
        ),
        _Found("processors", str(len(os.sched_getaffinity(0))), "", True),
    ]

"""What bubblewrap is told to show of the file system."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

from pytest_iclayout.sandbox.bubblewrap import wrapped


def test_folders_above_what_is_shown_are_open_to_the_jobs_user() -> None:
    words = wrapped("bwrap", ["server"], [Path("/opt/tools/bin")], [Path("/var/tmp/work")])
    made = [place for word, place in pairwise(words) if word == "--dir"]
    assert made == ["/opt", "/opt/tools", "/var", "/var/tmp"]
    assert words.count("0755") == len(made)
    assert words.index("/opt") < words.index("/opt/tools/bin")


def test_what_the_system_shows_anyway_is_not_shown_again() -> None:
    words = wrapped("bwrap", ["server"], [Path("/usr/lib/klayout")], [Path("/dev/shm/work")])
    assert "/usr/lib/klayout" not in words
    assert "--dir" not in words
    assert words[-3:] == ["/", "--", "server"]

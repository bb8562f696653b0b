"""The fixture deck_pool: one application a worker, gone at the end; skipped where there is none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.eda

TESTS = """
import os

import klayout.db as db
import pytest

from pytest_iclayout.drc.decks.deck import Deck

DECK = Deck.of_text('source($input)\\nreport("r", $output)\\ninput(1, 0).width(0.14).output("W")')


@pytest.mark.parametrize("width", range(130, 150))
def test_width(deck_pool, width):
    layout = db.Layout()
    layout.create_cell("top").shapes(layout.layer(1, 0)).insert(db.Box(0, 0, width, 1000))
    (done,) = deck_pool.run(DECK, [layout.write_bytes(db.SaveLayoutOptions())])
    with open("servers", "a") as stream:
        print(deck_pool._server._process.pid, deck_pool._folder.path, file=stream)
    assert done.result().violated == ({"W"} if width < 140 else set())
"""


def _pytest(folder: Path, *arguments: str, path: str | None = None) -> str:
    (folder / "test_width.py").write_text(TESTS)
    environment = os.environ | ({} if path is None else {"PATH": path})
    command = [sys.executable, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.usefixtures("contained_klayout")
@pytest.mark.parametrize("workers", [1, 2])
def test_each_worker_has_one_application_that_goes_with_it(tmp_path: Path, workers: int) -> None:
    assert "20 passed" in _pytest(tmp_path, *([] if workers == 1 else [f"-n{workers}"]))
    servers = {tuple(line.split()) for line in (tmp_path / "servers").read_text().splitlines()}
    assert len(servers) == workers
    assert [pid for pid, _ in servers if Path(f"/proc/{pid}").exists()] == []
    assert [folder for _, folder in servers if Path(folder).exists()] == []


def test_without_an_application_tests_are_skipped_with_what_to_install(tmp_path: Path) -> None:
    found = _pytest(tmp_path, path=str(Path(sys.executable).parent))
    assert "20 skipped" in found
    assert "no KLayout application 0.28 or newer on PATH" in found
    assert "apt-get install klayout" in found

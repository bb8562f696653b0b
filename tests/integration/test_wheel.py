"""The wheel alone: built, installed into an environment of its own, and run in an empty folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

from pytest_iclayout import __version__

pytestmark = pytest.mark.one_python

ROOT = Path(__file__).parents[2]
PACKAGES = {"pytest_iclayout": "pytest_iclayout", "iclayout_checkers": "checkers", "iclayout_tasks": "tasks"}
"""Names as installed, and their folders in the source."""


def checked(command: list[str | Path], folder: Path, **environment: str) -> str:
    """Standard output of a command; fails the test with all that a failing one printed."""
    keep = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "PYTEST", "COV_"))}
    done = subprocess.run(
        [str(one) for one in command], cwd=folder, env={**keep, **environment}, capture_output=True, text=True
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy: setuptools leaves its build folder, and takes what an earlier one left, in the source."""
    source = tmp_path_factory.mktemp("source")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    for name in PACKAGES.values():
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    built = tmp_path_factory.mktemp("built")
    checked([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", built, "."], source)
    (path,) = built.iterdir()
    return path


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the wheel; dependencies are those of the running environment."""
    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False, symlinks=True)
    packages = Path(sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)}))
    checked(
        [sys.executable, "-m", "pip", "--python", folder / "bin/python", "install", "--quiet", "--no-deps", wheel], ROOT
    )
    # Plain lines of a .pth file add folders; the editable install of the project there is a finder that only a
    # .pth file of that folder would start, and those are not read from here.
    present = {Path(sysconfig.get_path(name)) for name in ("purelib", "platlib")}
    (packages / "running_environment.pth").write_text("".join(f"{path}\n" for path in sorted(present)))
    return folder


def test_wheel_holds_every_module_and_data_file_and_nothing_else(wheel: Path):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    expected = {
        f"{package}/{path.relative_to(ROOT / folder)}"
        for package, folder in PACKAGES.items()
        for path in (ROOT / folder).rglob("*")
        if path.suffix in (".py", ".toml", ".rb", ".j2") or path.name == "py.typed"
    }
    assert held == expected
    assert {"pytest_iclayout/py.typed", "iclayout_tasks/manifest.toml"} <= held


def test_modules_that_run_are_the_wheels(environment: Path, tmp_path: Path):
    """Else the tests below would pass on the working tree."""
    script = "import pytest_iclayout, iclayout_checkers, iclayout_tasks\n" + "\n".join(
        f"print({name}.__file__)" for name in PACKAGES
    )
    files = checked([environment / "bin/python", "-c", script], tmp_path).split()
    assert len(files) == len(PACKAGES)
    assert all(Path(file).is_relative_to(environment) for file in files), files


def test_bundled_tasks_pass_with_nothing_but_the_wheel(environment: Path, tmp_path: Path):
    output = checked(
        [environment / "bin/python", "-m", "pytest", "--pyargs", "iclayout_tasks", "--agent=mock", "-k", "tier1"],
        tmp_path,
    )
    tasks = len(list((ROOT / "tasks/layout/tier1").glob("*.toml")))
    assert re.search(rf"^=+ {3 * tasks} passed, \d+ deselected in ", output, re.MULTILINE), output
    assert re.search(rf"^mock +1 +{tasks} +0 +0 +0 ", output, re.MULTILINE), output
    assert len(list((tmp_path / ".iclayout/results").rglob("mock.json"))) == tasks > 0


def test_results_of_that_run_replay_with_the_installed_program(environment: Path, tmp_path: Path):
    program = environment / "bin/iclayout"
    assert checked([program, "--version"], tmp_path) == f"pytest-iclayout {__version__}\n"
    checked(
        [environment / "bin/python", "-m", "pytest", "--pyargs", "iclayout_tasks", "--agent=mock", "-m", "solve",
         "-k", "t1_place_met1_rect"],
        tmp_path,
    )  # fmt: skip
    assert "1 transcripts replayed, 1 judged, 1 of 1 as recorded" in checked(
        [program, "replay", ".iclayout/results"], tmp_path
    )

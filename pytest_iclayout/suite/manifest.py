"""manifest.toml: what makes a folder of task files a suite."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_iclayout.suite.files import SuiteError, read_toml
from pytest_iclayout.suite.sniff import MANIFEST_NAME as MANIFEST_NAME
from pytest_iclayout.suite.sniff import manifest_above
from pytest_iclayout.technology.errors import explain


class Manifest(BaseModel):
    """``version`` and ``tasks`` (ids) as published; ``name`` defaults to the folder's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = Field(default=None, pattern=r"^[A-Za-z0-9_.\-]+$")
    version: str = Field(min_length=1)
    tasks: tuple[str, ...] = Field(min_length=1)


class Suite(BaseModel):
    """Where a task belongs. See also :func:`suite_of_folder`."""

    model_config = ConfigDict(frozen=True)

    name: str
    version: str
    folder: Path
    tasks: tuple[str, ...] = ()


def load_suite(manifest_path: Path) -> Suite:
    """Raises SuiteError that names the file and the key."""
    try:
        manifest = Manifest.model_validate(read_toml(manifest_path))
    except ValidationError as error:
        raise SuiteError(f"{manifest_path}: {explain(error)}; keys are name, version and tasks") from error
    double = sorted({task for task in manifest.tasks if manifest.tasks.count(task) > 1})
    if double:
        raise SuiteError(f"{manifest_path}: tasks: {', '.join(double)} is listed twice")
    folder = manifest_path.parent
    return Suite(name=manifest.name or folder.name, version=manifest.version, folder=folder, tasks=manifest.tasks)


@lru_cache(maxsize=4096)
def _suite_of_manifest(manifest_path: Path, modified_ns: int) -> Suite:
    return load_suite(manifest_path)


def suite_above(folder: Path, top: Path) -> Suite | None:
    """The suite that the files of ``folder`` belong to. Raises SuiteError for a broken manifest."""
    manifest_path = manifest_above(folder, top)
    if manifest_path is None:
        return None
    return _suite_of_manifest(manifest_path, manifest_path.stat().st_mtime_ns)


def suite_of_folder(folder: Path) -> Suite:
    """The suite of task files outside every suite: named after their folder."""
    return Suite(name=folder.name or "tasks", version="unversioned", folder=folder)

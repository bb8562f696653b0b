"""manifest.lock.toml: what each task of a published version was, as digests of content."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_iclayout.geometry.atomic import write_atomically
from pytest_iclayout.suite.files import SuiteError, read_toml
from pytest_iclayout.technology.errors import explain

LOCK_NAME = "manifest.lock.toml"


class LockedError(SuiteError):
    """The version at hand is locked with other content."""


class Lock(BaseModel):
    """A suite's version, and the digest of each task by its id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    version: str = Field(min_length=1)
    tasks: dict[str, Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]] = Field(min_length=1)

    def changes_to(self, tasks: Mapping[str, str]) -> dict[str, str]:
        """What became of the tasks that are not as locked, by id: ``added``, ``removed`` or ``changed``."""
        found = {}
        for task_id in sorted({*self.tasks, *tasks}):
            if task_id not in self.tasks:
                found[task_id] = "added"
            elif task_id not in tasks:
                found[task_id] = "removed"
            elif self.tasks[task_id] != tasks[task_id]:
                found[task_id] = "changed"
        return found


def task_digest(data: Mapping[str, Any]) -> str:
    """SHA-256, in hexadecimal digits, of a task file's content: what TOML reads in it, not how it is written.

    Over UTF-8 JSON with sorted keys and no spaces.  Templates count as they stand, with their parameters.
    """
    text = json.dumps(data, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def read_lock(folder: Path) -> Lock | None:
    """The lock of the suite in a folder, if there is one. Raises SuiteError that names the file and the key."""
    path = folder / LOCK_NAME
    if not path.exists():
        return None
    try:
        return Lock.model_validate(read_toml(path))
    except ValidationError as error:
        raise SuiteError(f"{path}: {explain(error)}; iclayout suite lock writes it") from error


def write_lock(folder: Path, version: str, tasks: Mapping[str, str]) -> bool:
    """Lock the tasks under a version; False where they are locked so already.

    Raises LockedError where they are not what is locked under this version: a version that has been cited says
    what was measured.
    """
    path = folder / LOCK_NAME
    locked = read_lock(folder)
    if locked is not None and locked.version == version:
        changes = locked.changes_to(tasks)
        if not changes:
            return False
        raise LockedError(
            f"{path}: version {version} is locked with other content: {in_words(changes)}; "
            "raise the version in the manifest"
        )
    lines = [
        "# Written by iclayout suite lock.",
        f"version = {json.dumps(version)}",
        "",
        "[tasks]",
        *(f"{json.dumps(task_id)} = {json.dumps(digest)}" for task_id, digest in sorted(tasks.items())),
    ]
    write_atomically(path, ("\n".join(lines) + "\n").encode())
    return True


def in_words(changes: Mapping[str, str]) -> str:
    return ", ".join(f"{task_id} {what}" for task_id, what in changes.items())

"""Executions that are known already, by what went into them."""

from __future__ import annotations

import sqlite3
import threading
import time
from pathlib import Path

from pydantic import ValidationError

from pytest_iclayout.drc.decks.execution import Execution

_MOST = 200_000
_WAIT_S = 10


class ExecutionStore:
    """An SQLite file, safe for many processes; the ``most`` executions used last are kept.

    The key is a digest of deck, layout, engine, its version and the limits, so that nothing else can change what an
    execution gives.  A store that cannot be used (a full disk, a damaged file) answers nothing and keeps nothing:
    the deck is run then.
    """

    def __init__(self, path: Path, most: int = _MOST) -> None:
        self._path = path
        self._most = most
        self._local = threading.local()
        self._puts = 0

    def get(self, key: str) -> Execution | None:
        try:
            database = self._database()
            row = database.execute("SELECT execution FROM executions WHERE key = ?", (key,)).fetchone()
            if row is None:
                return None
            found = Execution.model_validate_json(row[0])
            with database:
                database.execute("UPDATE executions SET used = ? WHERE key = ?", (time.time(), key))
        except (sqlite3.Error, OSError, ValidationError):
            return None
        return found

    def put(self, key: str, execution: Execution) -> None:
        try:
            with self._database() as database:
                database.execute(
                    "INSERT OR REPLACE INTO executions (key, execution, used) VALUES (?, ?, ?)",
                    (key, execution.model_dump_json(), time.time()),
                )
                self._puts += 1
                if self._puts % 1000 == 1:
                    database.execute(
                        "DELETE FROM executions WHERE key IN"
                        " (SELECT key FROM executions ORDER BY used DESC LIMIT -1 OFFSET ?)",
                        (self._most,),
                    )
        except (sqlite3.Error, OSError):
            return

    def _database(self) -> sqlite3.Connection:
        found: sqlite3.Connection | None = getattr(self._local, "database", None)
        if found is None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            found = sqlite3.connect(self._path, timeout=_WAIT_S)
            found.execute("PRAGMA journal_mode = WAL")
            found.execute("PRAGMA synchronous = NORMAL")
            found.execute(
                "CREATE TABLE IF NOT EXISTS executions (key TEXT PRIMARY KEY, execution TEXT NOT NULL, used REAL)"
            )
            self._local.database = found
        return found

"""Tables of a dataset: Parquet files and JSON lines, read as rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pytest_iclayout.rules.rule import RuleError

Row: TypeAlias = dict[str, Any]


def read_rows(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Row]]:
    """The rows with those of ``columns`` that the table has, each with its place for messages: ``FILE:ROW``, from 1.

    Raises RuleError for a table that cannot be read, and for Parquet without pyarrow.
    """
    return _parquet(path, columns) if path.suffix == ".parquet" else _json_lines(path, columns)


def _json_lines(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Row]]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                if not line.strip():
                    continue
                place = f"{path}:{number}"
                try:
                    row = json.loads(line)
                except (ValueError, RecursionError) as error:
                    raise RuleError(f"{place}: not JSON: {error}") from error
                if not isinstance(row, dict):
                    raise RuleError(f"{place}: needs an object with a key for each column")
                yield place, {name: row[name] for name in columns if name in row}
    except OSError as error:
        raise RuleError(f"{path}: cannot be read: {error.strerror}") from error


def _parquet(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, Row]]:
    try:
        import pyarrow
        import pyarrow.parquet as parquet
    except ImportError as error:
        raise RuleError(f"{path}: reading Parquet needs pyarrow: pip install 'pytest-iclayout[dataset]'") from error
    try:
        with parquet.ParquetFile(path) as file:
            known = [name for name in columns if name in file.schema_arrow.names]
            number = 0
            for batch in file.iter_batches(batch_size=1024, columns=known):
                for row in batch.to_pylist():
                    number += 1
                    yield f"{path}:{number}", row
    except (OSError, ValueError, ArithmeticError, pyarrow.ArrowException) as error:  # times may be beyond Python's
        raise RuleError(f"{path}: not readable as Parquet: {' '.join(str(error).split())[:200]}") from error

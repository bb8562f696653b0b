"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A path beside ``path`` to write to; it is flushed to the disk and takes its place when the block ends well.

    Raises OSError (disk full, no permission) and leaves no partial file, nor any when the block raises;
    what stood at ``path`` stays then.  The file has the permissions that the umask gives.
    """
    # Created through the kernel with a name of its own, which applies the umask; mkstemp's is the owner's only.
    # A name too long for the file system must not come of a long name that is not.
    beside = path.with_name(f".{uuid.uuid4().hex}.part")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        yield beside
        os.fsync(descriptor)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)


def write_atomically(path: Path, data: bytes) -> None:
    """Write ``data`` as :func:`replacing` does."""
    with replacing(path) as beside:
        beside.write_bytes(data)

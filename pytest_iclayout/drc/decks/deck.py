"""A deck: the script with the files that it includes."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict

_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*%include[ \t]+(.+?)[ \t\r]*$", re.MULTILINE)
_MOST_FILES = 200


class DeckError(ValueError):
    """A deck that cannot be read; the message names the file."""


class Deck(BaseModel):
    """``files`` are by their path relative to the deck's folder; the script is among them, as ``name``."""

    model_config = ConfigDict(frozen=True)

    name: str
    files: dict[str, bytes]

    @classmethod
    def of_text(cls, text: str | bytes, name: str = "deck.drc") -> Deck:
        """A deck that is not in a file, and so includes none."""
        return cls(name=name, files={name: text.encode() if isinstance(text, str) else text})

    @classmethod
    def of_file(cls, path: Path) -> Deck:
        """A deck with all that its lines ``# %include FILE`` name, and theirs.

        Only files in the deck's folder and below are taken along; others are not there when the deck runs.
        Raises DeckError.
        """
        folder = path.resolve().parent
        files: dict[str, bytes] = {}
        waiting = [path.resolve()]
        while waiting:
            one = waiting.pop()
            key = str(PurePosixPath(one.relative_to(folder)))
            if key in files:
                continue
            if len(files) == _MOST_FILES:
                raise DeckError(f"{path}: includes more than {_MOST_FILES} files")
            try:
                files[key] = one.read_bytes()
            except OSError as error:
                if one == path.resolve():
                    raise DeckError(f"{path}: cannot be read: {error.strerror}") from error
                continue  # what is missing is the engine's to say
            for match in _INCLUDE.finditer(files[key]):
                included = (one.parent / match[1].decode("utf-8", "surrogateescape").strip("\"'")).resolve()
                if included.is_relative_to(folder):
                    waiting.append(included)
        return cls(name=path.name, files=files)

    @property
    def digest(self) -> str:
        """Of all files with their names, in hexadecimal."""
        found = hashlib.sha256(self.name.encode("utf-8", "surrogateescape"))
        for name, data in sorted(self.files.items()):
            found.update(f"\0{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            found.update(data)
        return found.hexdigest()

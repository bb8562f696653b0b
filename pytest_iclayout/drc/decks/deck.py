"""A deck: the script with the files that it includes."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cached_property
from pathlib import Path, PurePosixPath

from pydantic import BaseModel, ConfigDict, field_validator

_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*%include[ \t]+(.+?)[ \t\r]*$", re.MULTILINE)
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAKEN = ("input", "output", "deck_error", "deck_name", "child_begun")
"""What the server sets for itself."""
_MOST_FILES = 200
_MOST_BYTES = 64 << 20
"""Of one file; the largest decks of foundries have some megabytes."""


class DeckError(ValueError):
    """A deck that cannot be read; the message names the file."""


class Deck(BaseModel):
    """``files`` are by their path relative to a common folder; the script is among them, as ``name``.

    ``variables`` are what ``klayout -rd NAME=VALUE`` sets, beside ``input`` and ``output``.  In a value ``{input}`` and
    ``{output}`` stand for the layout's and the report's file, for decks that know them by other names.

    ``flat_markers`` has the markers of a deck in deep mode reported for each place of a cell, in the top cell: KLayout
    reports them once a cell, beside one of its places.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    files: dict[str, bytes]
    variables: dict[str, str] = {}
    flat_markers: bool = False

    @field_validator("variables")
    @classmethod
    def _are_nameable(cls, variables: dict[str, str]) -> dict[str, str]:
        for name in variables:
            if not _VARIABLE.fullmatch(name) or name in _TAKEN:
                raise ValueError(
                    f"{name!r} is no variable that can be set; accepted are names of letters, digits and _ other than "
                    f"{', '.join(_TAKEN)}"
                )
        return variables

    @classmethod
    def of_text(cls, text: str | bytes, name: str = "deck.drc") -> Deck:
        """A deck that is not in a file, and so includes none."""
        return cls(name=name, files={name: encoded(text) if isinstance(text, str) else text})

    @classmethod
    def of_file(cls, path: Path, root: Path | None = None) -> Deck:
        """A deck with all that its lines ``# %include FILE`` name, and theirs.

        They must lie below ``root``, by default the deck's folder: a deck that somebody else wrote could show any
        file by including it.  Raises DeckError.
        """
        path = path.resolve()
        root = path.parent if root is None else root.resolve()
        if not path.is_relative_to(root):
            raise DeckError(f"{path}: not below the root {root}")
        files: dict[str, bytes] = {}
        waiting = [(path, "")]
        while waiting:
            one, by = waiting.pop()
            key = str(PurePosixPath(one.relative_to(root)))
            if key in files:
                continue
            if len(files) == _MOST_FILES:
                raise DeckError(f"{path}: includes more than {_MOST_FILES} files")
            try:
                if one.exists() and not (one.is_file() or one.is_dir()):  # a pipe would be waited for without end
                    raise DeckError(f"{one}: no regular file{by}")
                with one.open("rb") as stream:
                    files[key] = stream.read(_MOST_BYTES + 1)
                if len(files[key]) > _MOST_BYTES:
                    raise DeckError(f"{one}: has more than {_MOST_BYTES >> 20} MB{by}")
            except OSError as error:
                raise DeckError(f"{one}: cannot be read{by}: {error.strerror}") from error
            for match in _INCLUDE.finditer(files[key]):
                name = match[1].decode("utf-8", "surrogateescape").strip("\"'")
                included = (one.parent / name).resolve()
                if not included.is_relative_to(root):
                    raise DeckError(f"{one}: includes {name}, which is not below {root}; name a root above both")
                waiting.append((included, f", which {one.name} includes"))
        return cls(name=str(PurePosixPath(path.relative_to(root))), files=files)

    @property
    def text(self) -> str:
        """The script; what is not UTF-8 in it, which KLayout refuses, as lone surrogates."""
        return self.files[self.name].decode("utf-8", "surrogateescape")

    @cached_property
    def digest(self) -> str:
        """Of all files with their names, in hexadecimal."""
        found = hashlib.sha256(self.name.encode("utf-8", "surrogateescape"))
        for name, data in sorted(self.files.items()):
            found.update(f"\0{name}\0{len(data)}\0".encode("utf-8", "surrogateescape"))
            found.update(data)
        if self.variables or self.flat_markers:
            found.update(f"\0{json.dumps([self.variables, self.flat_markers], sort_keys=True)}".encode())
        return found.hexdigest()


def encoded(text: str) -> bytes:
    """A script's text as its file has it: bytes that were not UTF-8 are those bytes again."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # other surrogates, which no file has: a model's answer may
        return text.encode("utf-8", "surrogatepass")

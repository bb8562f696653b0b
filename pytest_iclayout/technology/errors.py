"""Validation errors as one line that a task author or an agent can act on."""

from __future__ import annotations

import reprlib
from typing import TYPE_CHECKING

from pydantic import ValidationError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

_LONGEST_VALUE = 60
"""Characters of a refused value that are repeated in a message: enough to recognise it."""
_MOST_FAULTS = 10
"""That are told of one document."""
_REPR = reprlib.Repr()
"""Of nested values no more than can show: YAML's aliases make some bytes a tree of billions."""
_REPR.maxlevel = 3
_REPR.maxlist = _REPR.maxtuple = _REPR.maxdict = _REPR.maxset = _REPR.maxfrozenset = 20
_REPR.maxstring = _REPR.maxlong = _REPR.maxother = 1000


def explain(error: ValidationError) -> str:
    """All faults of a validation error in one line: ``where: what (given value)``, joined with ``; ``.

    ``where`` is the path of keys and list positions, e.g. ``layers[3].color``; a fault of the whole document has
    none.
    """
    faults = error.errors(include_url=False, include_context=True)
    lines: list[str] = []
    for fault in faults:
        here = fault["loc"]
        if any(len(other["loc"]) > len(here) > 0 and other["loc"][: len(here)] == here for other in faults):
            continue  # follows from a fault inside: a list of refused entries is also "too short"
        line = _line(fault)
        if line not in lines:
            lines.append(line)
    more = [f"and {len(lines) - _MOST_FAULTS} more"] if len(lines) > _MOST_FAULTS else []
    return "; ".join([*lines[:_MOST_FAULTS], *more])


def _line(fault: ErrorDetails) -> str:
    kind, message, given, context = fault["type"], fault["msg"], fault.get("input"), fault.get("ctx", {})
    where = _path(fault["loc"])
    prefix = f"{where}: " if where else ""
    if kind == "extra_forbidden":
        return f"{prefix}unknown key"
    if kind == "missing":
        return f"{prefix}required, but not given"
    if kind == "union_tag_invalid":
        name = context["discriminator"].strip("'")
        return f"{prefix}{name}: {context['tag']!r} is unknown; known are {context['expected_tags']}".replace("'", "")
    if kind == "union_tag_not_found":
        return f"{prefix}{context['discriminator']}: required, but not given".replace("'", "")
    if kind in ("value_error", "assertion_error"):
        # Our own validators: their text already quotes what was given.
        return prefix + message.split(", ", 1)[1]
    if kind in ("model_type", "dict_type", "model_attributes_type"):
        return f"{prefix}needs a table of keys (given {short(given)})"
    if kind in ("list_type", "tuple_type"):
        return f"{prefix}needs a list (given {short(given)})"
    return f"{prefix}{message[:1].lower()}{message[1:]} (given {short(given)})"


def _path(parts: tuple[int | str, ...]) -> str:
    """Keys and positions as somebody would write them. An empty part is no key: a model put it there for a list."""
    text = ""
    for part in parts:
        if part == "[key]":  # pydantic's, of a key that is wrong itself
            text += " (the key)"
        elif isinstance(part, int):
            text += f"[{part}]"
        elif part:
            text += f".{part}" if text else part
    return text


def short(value: object) -> str:
    """A refused value, as it is repeated in a message."""
    text = _REPR.repr(value)
    return text if len(text) <= _LONGEST_VALUE else f"{text[: _LONGEST_VALUE - 1]}…"

"""Reading a checker's name and parameters from a task file."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class CheckerSpec(BaseModel):
    """A checker's name and its parameters, not yet validated by the checker."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    params: dict[str, Any] = {}


def parse_checker_string(text: str) -> CheckerSpec:
    """Read ``name`` or ``name:key=value,key=value``.

    Integers become numbers, ``true`` and ``false`` become booleans, anything else stays text.
    Raises ValueError that says what is accepted.
    """
    name, colon, rest = text.partition(":")
    if not name.strip() or (colon and not rest.strip()):
        raise ValueError(f"{text!r} is no checker; write NAME or NAME:key=value,key=value")
    params: dict[str, Any] = {}
    for part in rest.split(",") if colon else ():
        key, equals, value = part.partition("=")
        if not key.strip() or not equals or not value.strip():
            raise ValueError(f"{part!r} in {text!r} is no parameter; write key=value")
        if key.strip() in params:
            raise ValueError(f"{key.strip()!r} is given twice in {text!r}")
        params[key.strip()] = _value(value.strip())
    return CheckerSpec(name=name.strip(), params=params)


def _value(text: str) -> int | bool | str:
    if text in ("true", "false"):
        return text == "true"
    digits = text[1:] if text[:1] in "+-" else text
    return int(text) if digits.isdecimal() and digits.isascii() else text

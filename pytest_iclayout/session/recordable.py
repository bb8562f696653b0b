"""What a transcript keeps of a command, however strange it is."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from pydantic import BaseModel

_DEEPEST = 32
"""Levels of a command; a valid one has 4.  Python cannot even show a value of a thousand levels."""


def recordable(command: Any) -> dict[str, Any]:
    """What a transcript keeps of a command, valid or not: an own copy that JSON can hold.

    A valid command is kept as it was given.  Of an invalid one, what JSON does not have (NaN, bytes, keys
    that are no text, a value nested without end) is replaced by a word for it.
    """
    copy, _ = json_copy(command)
    return copy if isinstance(copy, dict) else {"given": copy}


def json_copy(value: Any) -> tuple[Any, list[str]]:
    """A copy with words for what JSON does not have, and these words."""
    foreign: list[str] = []

    def replaced(word: str) -> str:
        foreign.append(word)
        return f"({word})"

    def copy(one: Any, depth: int) -> Any:
        if one is None or isinstance(one, bool):
            return one
        if isinstance(one, str):
            text = one.encode("utf-8", "backslashreplace").decode("utf-8")
            if text != one:
                foreign.append("lone surrogate")
            return text
        if isinstance(one, int):
            return int(one) if one.bit_length() <= 1024 else replaced(f"integer of {one.bit_length()} bits")
        if isinstance(one, float):
            return one if isfinite(one) else replaced(str(one))
        if isinstance(one, BaseModel):
            return one.model_dump(mode="json")
        if depth > _DEEPEST:
            return replaced(f"place below {_DEEPEST} levels")
        if isinstance(one, Mapping):
            keys = (key if isinstance(key, str) else replaced(f"key of type {type(key).__name__}") for key in one)
            return {copy(key, depth): copy(item, depth + 1) for key, item in zip(keys, one.values(), strict=True)}
        if isinstance(one, list | tuple):
            return [copy(item, depth + 1) for item in one]
        return replaced(f"value of type {type(one).__name__}")

    return copy(value, 0), foreign

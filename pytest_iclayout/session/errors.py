"""Structured command errors."""

from __future__ import annotations

from enum import Enum


class ErrorCode(str, Enum):
    NO_SUCH_CELL = "no_such_cell"
    NO_SUCH_ELEMENT = "no_such_element"
    INVALID_ARGUMENT = "invalid_argument"
    NO_SUCH_LAYER = "no_such_layer"
    ENGINE_ERROR = "engine_error"
    BUDGET_EXHAUSTED = "budget_exhausted"


class CommandError(Exception):
    """A command that could not be carried out; the document is as it was before."""

    def __init__(self, code: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message

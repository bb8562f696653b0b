"""What a record keeps of an exception of somebody else's code."""

from __future__ import annotations

import traceback

_LONGEST_TRACEBACK = 8000
"""Characters of a crash's traceback that a record keeps: its end, where the crash is."""


def frames_below(error: BaseException, runner: str) -> str:
    """The traceback of a crash without the frames of the file ``runner``: who wrote the agent looks for their own."""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code.co_filename == runner:
        frames = frames.tb_next
    try:
        text = "".join(traceback.format_exception(type(error), error, frames))
    except Exception:  # as in text_of
        text = "".join(traceback.format_tb(frames))
    return text if len(text) <= _LONGEST_TRACEBACK else "...\n" + text[-_LONGEST_TRACEBACK:]


def text_of(value: object) -> str:
    try:
        return str(value)
    except Exception:  # an exception of somebody else's class may fail to say what it is
        return "(its text cannot be had)"


def encodable(text: str) -> str:
    """Text that UTF-8 can hold: messages about file names and bytes may contain lone surrogates."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")

"""Who was tried, as records name it."""

from __future__ import annotations

from typing import Any

from pytest_iclayout.agents.protocol import Agent
from pytest_iclayout.trial.crashes import encodable, text_of


def identity_of(agent: Agent) -> dict[str, Any]:
    """``agent``, ``backend``, ``model`` and ``quantization`` of a record.

    They are read when the trial has ended, as an agent may learn only then which model answered.  Whatever it has
    there becomes text: a finished trial is not lost for it.
    """
    return {
        "agent": _text(agent, "name"),
        "backend": _text(agent, "backend"),
        "model": _text(agent, "model"),
        "quantization": _text(agent, "quantization"),
    }


def _text(agent: Agent, attribute: str) -> str | None:
    try:
        value = getattr(agent, attribute, None)
    except Exception as error:  # a property of somebody else's class
        value = f"({attribute} cannot be had: {type(error).__name__})"
    return None if value is None else encodable(text_of(value))

"""What the parameter models of generators and PCells share."""

from __future__ import annotations

from typing import Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.technology.errors import explain

Metal = Literal["li1", "met1", "met2", "met3"]
"""Conductors that a generator draws on, by their names in the technology."""


class Params(BaseModel):
    """Lengths in dbu. What is left out has its default; a key that is unknown is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


AnyParams = TypeVar("AnyParams", bound=Params)


def validate_params(model: type[AnyParams], given: dict[str, Any]) -> AnyParams:
    """Raises CommandError (invalid_argument) that names the parameter and what is accepted."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, f"params: {explain(error)}") from error


def refuse(parameter: str, message: str) -> CommandError:
    """The error for a parameter that does not go with the others."""
    return CommandError(ErrorCode.INVALID_ARGUMENT, f"params: {parameter}: {message}")

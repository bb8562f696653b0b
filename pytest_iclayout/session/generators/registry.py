"""The generators by their ids."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.session.generators.fill import FillParams, fill
from pytest_iclayout.session.generators.guard_ring import GuardRingParams, guard_ring
from pytest_iclayout.session.generators.limits import Limits
from pytest_iclayout.session.generators.pad_ring import PadRingParams, pad_ring
from pytest_iclayout.session.generators.parameters import Params, validate_params
from pytest_iclayout.session.generators.seal_ring import SealRingParams, seal_ring
from pytest_iclayout.session.generators.shapes import Shapes
from pytest_iclayout.session.generators.structure import StructureParams, structure
from pytest_iclayout.session.generators.via_farm import ViaFarmParams, via_farm
from pytest_iclayout.technology.models import Technology


@dataclass(frozen=True)
class Generator:
    """A parameter model and the pure function that draws."""

    params: type[Params]
    draw: Callable[[Any, Limits], Shapes]


GENERATORS = {
    "guard_ring": Generator(GuardRingParams, guard_ring),
    "via_farm": Generator(ViaFarmParams, via_farm),
    "pad_ring": Generator(PadRingParams, pad_ring),
    "seal_ring": Generator(SealRingParams, seal_ring),
    "fill": Generator(FillParams, fill),
    "test_structure": Generator(StructureParams, structure),
}


def generate(generator_id: str, params: dict[str, Any], technology: Technology) -> Shapes:
    """The shapes of a generator.

    Raises CommandError: invalid_argument for an unknown generator or parameters that it does not take,
    no_such_layer or engine_error for a technology that lacks a layer or a rule that it needs,
    budget_exhausted for too many shapes.
    """
    generator = GENERATORS.get(generator_id)
    if generator is None:
        known = ", ".join(GENERATORS)
        raise CommandError(ErrorCode.INVALID_ARGUMENT, f"generator_id: {generator_id!r} is unknown; known are {known}")
    return generator.draw(validate_params(generator.params, params), Limits(technology))

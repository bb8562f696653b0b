"""Parameters of the generators: one model a generator, and the flat form in which a task gives them."""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pytest_iclayout.checking.checker import Params
from pytest_iclayout.technology.errors import explain

ConductorName = Literal["li1", "met1", "met2", "met3"]


def _int(low: int, high: int) -> Any:
    return Field(ge=low, le=high, strict=True)


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GuardRingParams(_Frozen):
    layer: ConductorName = "li1"
    region_width: Annotated[int, _int(300, 1_000_000)] = 2000
    region_height: Annotated[int, _int(300, 1_000_000)] = 2000
    ring_width: Annotated[int, _int(300, 1_000_000)] = 400
    taps: Annotated[bool, Field(strict=True)] = True

    @property
    def has_taps(self) -> bool:
        """Only li1 is reached by contacts."""
        return self.taps and self.layer == "li1"


class ViaFarmParams(_Frozen):
    cut: Literal["mcon", "via", "via2"] = "mcon"
    rows: Annotated[int, _int(1, 256)] = 3
    cols: Annotated[int, _int(1, 256)] = 3


class PadRingParams(_Frozen):
    die_width: Annotated[int, _int(10_000, 4_000_000)] = 200_000
    die_height: Annotated[int, _int(10_000, 4_000_000)] = 200_000
    pad_pitch: Annotated[int, _int(600, 1_000_000)] = 100_000
    pad_size: Annotated[int, _int(300, 500_000)] = 60_000
    power_pads: Annotated[int, _int(0, 4096)] = 4


class SealRingParams(_Frozen):
    stack: Literal["li1_met1", "up_to_met2", "up_to_met3"] = "up_to_met3"
    die_width: Annotated[int, _int(900, 4_000_000)] = 100_000
    die_height: Annotated[int, _int(900, 4_000_000)] = 100_000
    ring_width: Annotated[int, _int(300, 100_000)] = 900

    @model_validator(mode="after")
    def _is_a_frame(self) -> SealRingParams:
        if 2 * self.ring_width >= min(self.die_width, self.die_height):
            raise ValueError(f"ring_width {self.ring_width} leaves nothing of the die inside the ring")
        return self


class FillParams(_Frozen):
    layer: ConductorName = "li1"
    region_width: Annotated[int, _int(600, 1_000_000)] = 10_000
    region_height: Annotated[int, _int(600, 1_000_000)] = 10_000
    tile: Annotated[int, _int(300, 100_000)] = 400
    target_density_permille: Annotated[int, _int(1, 900)] = 400

    @model_validator(mode="after")
    def _holds_a_tile(self) -> FillParams:
        if self.tile > min(self.region_width, self.region_height):
            raise ValueError(f"tile {self.tile} is larger than the region")
        return self


class StructureParams(_Frozen):
    kind: Literal["van_der_pauw", "contact_chain", "comb", "serpentine"] = "van_der_pauw"
    layer: ConductorName = "li1"
    feature_width: Annotated[int, _int(300, 50_000)] = 400
    feature_length: Annotated[int, _int(300, 500_000)] = 2000
    count: Annotated[int, _int(2, 128)] = 8

    @model_validator(mode="after")
    def _is_elongated(self) -> StructureParams:
        if self.kind in ("comb", "serpentine") and self.feature_length <= self.feature_width:
            raise ValueError(f"a {self.kind} needs a feature_length of more than its feature_width")
        return self


GENERATORS: dict[str, type[_Frozen]] = {
    "guard_ring": GuardRingParams,
    "via_farm": ViaFarmParams,
    "pad_ring": PadRingParams,
    "seal_ring": SealRingParams,
    "fill": FillParams,
    "test_structure": StructureParams,
}


class GeneratorParams(Params):
    """``id`` and what that generator takes; lengths in dbu, layers by their names."""

    id: str
    layer: str | None = None
    region_width: int | None = None
    region_height: int | None = None
    ring_width: int | None = None
    taps: bool | None = None
    cut: str | None = None
    rows: int | None = None
    cols: int | None = None
    die_width: int | None = None
    die_height: int | None = None
    pad_pitch: int | None = None
    pad_size: int | None = None
    power_pads: int | None = None
    stack: str | None = None
    tile: int | None = None
    target_density_permille: int | None = None
    kind: str | None = None
    feature_width: int | None = None
    feature_length: int | None = None
    count: int | None = None

    @model_validator(mode="before")
    @classmethod
    def _fits_the_generator(cls, value: Any) -> Any:
        """On the values as they were given: ``true`` is no number here, nor ``1`` a truth."""
        if isinstance(value, dict) and "id" in value:
            _own(value)
        return value

    @cached_property
    def own(self) -> BaseModel:
        """The generator's own parameters, with its defaults."""
        return _own(self.model_dump(exclude_none=True))


def _own(given: dict[str, Any]) -> BaseModel:
    name = given["id"]
    if not isinstance(name, str) or name not in GENERATORS:
        raise ValueError(f"id: {name!r} is no generator; known are {', '.join(GENERATORS)}")
    model = GENERATORS[name]
    try:
        return model.model_validate({key: value for key, value in given.items() if key != "id"})
    except ValidationError as error:
        raise ValueError(f"{name}: {explain(error)}; {name} takes {', '.join(model.model_fields)}") from error

"""A process technology as validated data: layers, conductor connections and design rules."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, model_validator

from pytest_iclayout.technology.layers import Layer, LayerRef


class TechnologyError(ValueError):
    """A technology that cannot be used; the message names the file and the key or line."""


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TechnologyLayer(_Frozen):
    """One drawn layer. ``color`` is RRGGBBAA; heights are in nm above the silicon surface."""

    name: str = Field(min_length=1)
    layer: LayerRef
    color: str = Field(default="808080FF", pattern=r"^[0-9A-Fa-f]{8}$")
    z_bottom_nm: int | None = None
    thickness_nm: int | None = Field(default=None, gt=0)
    label: LayerRef | None = None
    """The layer whose texts name nets of this one."""


class Connection(_Frozen):
    """Two conductors joined where both overlap ``cut``; without a cut, where they overlap."""

    bottom: LayerRef
    top: LayerRef
    cut: LayerRef | None = None


NO_RULES = "none"
"""Name of the rule set without a rule, which every technology has."""


class RuleKind(str, Enum):
    """What a rule measures; the terms are KLayout's (https://www.klayout.de/doc/manual/drc_ref.html)."""

    WIDTH = "width"
    SPACE = "space"
    SEPARATION = "separation"
    ENCLOSURE = "enclosure"
    EXTENSION = "extension"
    AREA = "area"
    HOLE_AREA = "hole_area"
    EXACT_SIZE = "exact_size"

    @property
    def takes_two_layers(self) -> bool:
        return self in (RuleKind.SEPARATION, RuleKind.ENCLOSURE, RuleKind.EXTENSION)

    @property
    def is_area(self) -> bool:
        return self in (RuleKind.AREA, RuleKind.HOLE_AREA)


class Rule(_Frozen):
    """One geometric design rule on merged regions.

    ``value`` is in dbu, or in dbu² for the two area kinds.  ``layer`` is the measured layer: the
    inner one of an enclosure (``layer`` is enclosed by ``other_layer``), the one that reaches
    beyond ``other_layer`` of an extension, the first of a separation.
    """

    id: str = Field(min_length=1, pattern=r"^[\x21-\x7e]+$")
    kind: RuleKind
    layer: LayerRef
    other_layer: LayerRef | None = None
    value: int = Field(ge=0, strict=True)
    overlap_is_error: bool = True
    """Separation only: layers that overlap (so that there is no space to measure) break the rule."""
    outside_is_error: bool = True
    """Enclosure and extension: an inner shape that is not covered (enclosure), or a layer that ends
    within the other one (extension), breaks the rule."""
    source: str = ""
    """The row of the published table that the rule was transcribed from."""
    description: str = ""

    @model_validator(mode="after")
    def _layers_fit_kind(self) -> Rule:
        if self.kind.takes_two_layers != (self.other_layer is not None):
            need = "needs" if self.kind.takes_two_layers else "does not take"
            raise ValueError(f"rule {self.id}: kind {self.kind.value} {need} other_layer")
        return self

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.layer,) if self.other_layer is None else (self.layer, self.other_layer)


class Technology(_Frozen):
    """Layers, connections and named rule sets of one process.

    ``cut_by`` maps a conductor to the layer that interrupts it: diffusion does not conduct under
    poly, where the transistor channel is.
    """

    name: str = Field(min_length=1)
    dbu_per_micron: int = Field(default=1000, gt=0, strict=True)
    layers: tuple[TechnologyLayer, ...] = Field(min_length=1)
    connections: tuple[Connection, ...] = ()
    cut_by: dict[str, str] = Field(default_factory=dict)
    """Layer names: conductor -> the layer that interrupts it."""
    rule_sets: dict[str, tuple[Rule, ...]] = Field(default_factory=dict)

    _is_known_consistent: bool = PrivateAttr(default=False)

    @model_validator(mode="after")
    def _is_consistent(self) -> Technology:
        # pydantic asks again wherever the technology becomes a field of another model.
        if not self._is_known_consistent:
            self._require_consistency()
            self._is_known_consistent = True
        return self

    def _require_consistency(self) -> None:
        names = [entry.name for entry in self.layers]
        pairs = [entry.layer for entry in self.layers]
        for kind, values in (("layer name", names), ("layer", [str(pair) for pair in pairs])):
            double = sorted({value for value in values if values.count(value) > 1})
            if double:
                raise ValueError(f"{kind} {', '.join(double)} is declared twice")
        known = set(pairs)
        for connection in self.connections:
            _require_known(known, (connection.bottom, connection.top), "a connection")
            if connection.cut is not None:
                _require_known(known, (connection.cut,), "a connection")
        for conductor, cutter in self.cut_by.items():
            for name in (conductor, cutter):
                if name not in names:
                    raise ValueError(f"cut_by names {name!r}, which is no layer of the technology")
        for set_name, rules in self.rule_sets.items():
            seen: set[tuple[str, Layer, Layer | None]] = set()
            for rule in rules:
                _require_known(known, rule.layers, f"rule {rule.id} of rule set {set_name!r}")
                key = (rule.id, rule.layer, rule.other_layer)
                if key in seen:
                    raise ValueError(f"rule set {set_name!r} has rule {rule.id} twice for the same layers")
                seen.add(key)

    @property
    def dbu_um(self) -> float:
        """The database unit in µm, as KLayout's ``Layout.dbu``."""
        return 1.0 / self.dbu_per_micron

    def layer_named(self, name: str) -> Layer:
        """The GDS pair of a layer name. Raises TechnologyError that lists the names."""
        for entry in self.layers:
            if entry.name == name:
                return entry.layer
        known = ", ".join(entry.name for entry in self.layers)
        raise TechnologyError(f"technology {self.name} has no layer named {name!r}; it has {known}")

    def entry(self, layer: Layer) -> TechnologyLayer | None:
        """The layer's entry, or None when the technology does not declare it."""
        return next((entry for entry in self.layers if entry.layer == layer), None)

    def name_of(self, layer: Layer) -> str:
        """The layer's name, or its ``68/20`` form when it has none here."""
        entry = self.entry(layer)
        return str(layer) if entry is None else entry.name

    def __contains__(self, layer: object) -> bool:
        return isinstance(layer, Layer) and self.entry(layer) is not None

    def rule_set(self, name: str) -> tuple[Rule, ...]:
        """The rules of a named set; ``none`` is the empty one. Raises TechnologyError that lists the names."""
        if name == NO_RULES:
            return ()
        try:
            return self.rule_sets[name]
        except KeyError:
            known = ", ".join(sorted(self.rule_sets)) or "none"
            raise TechnologyError(f"technology {self.name} has no rule set {name!r}; it has {known}") from None


def _require_known(known: set[Layer], layers: Iterable[Layer], where: str) -> None:
    for layer in layers:
        if layer not in known:
            raise ValueError(f"{where} names layer {layer}, which the technology does not declare")

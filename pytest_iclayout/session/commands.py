"""The commands of a layout session: one frozen model each, told apart by ``op``.

All lengths are in dbu.  Every coordinate is bounded (see ``geometry.shapes.COORD_LIMIT``).
"""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from pytest_iclayout.geometry.io import MAX_RECORD_POINTS
from pytest_iclayout.geometry.shapes import COORD_LIMIT, Coord, Point, Rect, Transform
from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.session.recordable import json_copy
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.layers import Layer

MAX_POINTS = MAX_RECORD_POINTS
"""Points of one polygon or path: more would be split when the document is written."""

MAX_ARRAY_COUNT = 32_767
"""Columns or rows of one array: a GDS II record holds 15 bits."""

MAX_TEXT = 200_000_000
"""Characters of a file or snapshot within a command."""

# GDS II cell names are printable ASCII; KLayout writes $ for anything else, which would rename cells.
CellName = Annotated[str, Field(min_length=1, max_length=1024, pattern=r"^[A-Za-z0-9_$.?\-]+$")]
ElementId = Annotated[int, Field(ge=1, le=2**63 - 1, strict=True)]
Length = Annotated[int, Field(ge=1, le=COORD_LIMIT, strict=True)]
Count = Annotated[int, Field(ge=1, le=MAX_ARRAY_COUNT, strict=True)]
Pixels = Annotated[int, Field(ge=16, le=4096, strict=True)]


def _default_if_null(default: Any) -> BeforeValidator:
    """Transcripts in the field write null for an optional argument that was left out."""
    return BeforeValidator(lambda value: default if value is None else value)


def _base64_of_numbers(value: Any) -> Any:
    """Programs of the field write bytes as a list of numbers, too."""
    if not isinstance(value, list) or not all(isinstance(one, int) and 0 <= one <= 255 for one in value):
        return value
    return base64.b64encode(bytes(value)).decode("ascii")


class _Command(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CreateCell(_Command):
    """Create an empty cell."""

    op: Literal["create_cell"] = "create_cell"
    name: CellName


class DeleteCell(_Command):
    """Delete a cell and every instance of it."""

    op: Literal["delete_cell"] = "delete_cell"
    name: CellName


class AddRect(_Command):
    """Draw a rectangle."""

    op: Literal["add_rect"] = "add_rect"
    cell: CellName
    layer: Layer
    rect: Rect


class AddPolygon(_Command):
    """Draw a polygon of 3 or more points."""

    op: Literal["add_polygon"] = "add_polygon"
    cell: CellName
    layer: Layer
    points: tuple[Point, ...] = Field(min_length=3, max_length=MAX_POINTS)


class AddPath(_Command):
    """Draw a path of 2 or more points; square and round ends reach half the width beyond the end points."""

    op: Literal["add_path"] = "add_path"
    cell: CellName
    layer: Layer
    width: Length
    points: tuple[Point, ...] = Field(min_length=2, max_length=MAX_POINTS)
    endcap: Annotated[Literal["flat", "square", "round"], _default_if_null("flat")] = "flat"


class AddLabel(_Command):
    """Place a text; a text on a conductor's label layer names its net."""

    op: Literal["add_label"] = "add_label"
    cell: CellName
    layer: Layer
    text: str = Field(min_length=1, max_length=512)
    position: Point


class PlaceInstance(_Command):
    """Place a cell in another one."""

    op: Literal["place_instance"] = "place_instance"
    cell: CellName
    child: CellName
    transform: Annotated[Transform, _default_if_null({})] = Transform()


class PlaceArray(_Command):
    """Place a regular array of a cell; columns go along x, rows along y, before the transform's rotation."""

    op: Literal["place_array"] = "place_array"
    cell: CellName
    child: CellName
    transform: Annotated[Transform, _default_if_null({})] = Transform()
    columns: Count
    rows: Count
    column_pitch: Coord
    row_pitch: Coord


class TransformShapes(_Command):
    """Move, rotate, mirror or magnify elements in place; their ids stay."""

    op: Literal["transform_shapes"] = "transform_shapes"
    ids: tuple[ElementId, ...] = Field(min_length=1)
    transform: Transform


class DeleteShapes(_Command):
    """Delete elements."""

    op: Literal["delete_shapes"] = "delete_shapes"
    ids: tuple[ElementId, ...] = Field(min_length=1)


class QueryShapes(_Command):
    """List a cell's own elements, those on a layer and those that touch a region."""

    op: Literal["query_shapes"] = "query_shapes"
    cell: CellName
    layer: Layer | None = None
    region: Rect | None = None


class GetCellInfo(_Command):
    """Counts and bounding box of a cell."""

    op: Literal["get_cell_info"] = "get_cell_info"
    cell: CellName


class ListLayers(_Command):
    """The technology's layers."""

    op: Literal["list_layers"] = "list_layers"


class SetTechnology(_Command):
    """Replace the session's technology by a technology file's text."""

    op: Literal["set_technology"] = "set_technology"
    source: str = Field(max_length=1_000_000)


class RunDrc(_Command):
    """Run the session's rule set on a cell, within a region if one is given."""

    op: Literal["run_drc"] = "run_drc"
    cell: CellName
    region: Rect | None = None


class GetViolations(_Command):
    """The violations of the last run_drc."""

    op: Literal["get_violations"] = "get_violations"


class RouteNet(_Command):
    """Connect points by rectangles on one layer, as wide as the layer's width rule asks."""

    op: Literal["route_net"] = "route_net"
    cell: CellName
    net: str = Field(min_length=1, max_length=512)
    layer: Layer
    terminals: tuple[Point, ...] = Field(max_length=10_000)


class RunExtract(_Command):
    """Extract a cell's nets."""

    op: Literal["run_extract"] = "run_extract"
    cell: CellName


class CheckIntent(_Command):
    """Compare a cell's nets with a connectivity intent (JSON text)."""

    op: Literal["check_intent"] = "check_intent"
    cell: CellName
    intent: str = Field(max_length=1_000_000)


class BooleanCombine(_Command):
    """Combine polygons: they are deleted, the polygons of the result are drawn. Paths are left alone."""

    op: Literal["boolean_combine"] = "boolean_combine"
    cell: CellName
    bool_op: Literal["union", "intersection", "difference", "xor"]
    ids: tuple[ElementId, ...] = Field(min_length=2)
    layer: Layer


class AlignShapes(_Command):
    """Move elements to one side, or to the middle, of the box around all of them."""

    op: Literal["align_shapes"] = "align_shapes"
    ids: tuple[ElementId, ...] = Field(min_length=2)
    align: Literal["left", "right", "center_x", "top", "bottom", "center_y"]


class DistributeShapes(_Command):
    """Move elements between the first and the last one of a row so that all gaps are equal."""

    op: Literal["distribute_shapes"] = "distribute_shapes"
    ids: tuple[ElementId, ...] = Field(min_length=3)
    axis: Literal["horizontal", "vertical"]


class OffsetShapes(_Command):
    """Move the edges of polygons outward (positive) or inward. Paths are left alone."""

    op: Literal["offset_shapes"] = "offset_shapes"
    ids: tuple[ElementId, ...] = Field(min_length=1)
    delta: Coord


class BuildViaStack(_Command):
    """Draw a square cut and around it a square on each of two conductors, as the enclosure rules ask."""

    op: Literal["build_via_stack"] = "build_via_stack"
    cell: CellName
    lower_layer: Layer
    upper_layer: Layer
    cut_layer: Layer
    center: Point
    cut_size: Length
    default_enclosure: Annotated[int, Field(ge=0, le=COORD_LIMIT, strict=True)]


class RunGenerator(_Command):
    """Draw what a generator makes of its parameters."""

    op: Literal["run_generator"] = "run_generator"
    cell: CellName
    generator_id: str = Field(min_length=1, max_length=64)
    params: Annotated[dict[str, Any], _default_if_null({})] = Field(default_factory=dict)


class PlacePcell(_Command):
    """Place a parameterised cell; the cell is drawn where there is none with these parameters."""

    op: Literal["place_pcell"] = "place_pcell"
    cell: CellName
    pcell: str = Field(min_length=1, max_length=64)
    params: Annotated[dict[str, Any], _default_if_null({})] = Field(default_factory=dict)
    transform: Annotated[Transform, _default_if_null({})] = Transform()


class NetlistCompare(_Command):
    """Compare a cell's nets with a netlist (JSON text)."""

    op: Literal["netlist_compare"] = "netlist_compare"
    cell: CellName
    expected: str = Field(max_length=1_000_000)


class ExportGds(_Command):
    """The document as a GDS file."""

    op: Literal["export_gds"] = "export_gds"


class ExportOasis(_Command):
    """The document as an OASIS file."""

    op: Literal["export_oasis"] = "export_oasis"


class ImportGds(_Command):
    """Replace the document by that of a file (base64 text); its elements get new ids."""

    op: Literal["import_gds"] = "import_gds"
    bytes: Annotated[str, BeforeValidator(_base64_of_numbers)] = Field(max_length=MAX_TEXT)


class RenderPng(_Command):
    """A picture of a region of a cell, the first top cell if none is named."""

    op: Literal["render_png"] = "render_png"
    region: Rect
    width: Pixels
    height: Pixels
    cell: CellName | None = None


class SaveSession(_Command):
    """A snapshot of the session: document with ids, revision, technology and transcript."""

    op: Literal["save_session"] = "save_session"


class LoadSession(_Command):
    """Replace document, revision, technology and transcript by those of a snapshot."""

    op: Literal["load_session"] = "load_session"
    snapshot: str = Field(max_length=MAX_TEXT)


Command = Annotated[
    CreateCell
    | DeleteCell
    | AddRect
    | AddPolygon
    | AddPath
    | AddLabel
    | PlaceInstance
    | PlaceArray
    | TransformShapes
    | DeleteShapes
    | QueryShapes
    | GetCellInfo
    | ListLayers
    | SetTechnology
    | RunDrc
    | GetViolations
    | RouteNet
    | RunExtract
    | CheckIntent
    | BooleanCombine
    | AlignShapes
    | DistributeShapes
    | OffsetShapes
    | BuildViaStack
    | RunGenerator
    | PlacePcell
    | NetlistCompare
    | ExportGds
    | ExportOasis
    | ImportGds
    | RenderPng
    | SaveSession
    | LoadSession,
    Field(discriminator="op"),
]

_ADAPTER: TypeAdapter[Command] = TypeAdapter(Command)


def parse_command(data: Any) -> Command:
    """Validate one command given as a mapping.

    Raises CommandError (invalid_argument) whose message names the argument and what is accepted.
    """
    given, foreign = json_copy(data)
    if foreign:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, f"a command is JSON data, which has no {foreign[0]}")
    try:
        return _ADAPTER.validate_python(given)
    except ValidationError as error:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, explain(error)) from error


def dump_command(command: Command) -> dict[str, Any]:
    """The JSON form of a command, ``op`` first, as transcripts hold it."""
    return command.model_dump(mode="json")


def command_schema() -> dict[str, Any]:
    """The JSON schema of all commands, for agents and their tools."""
    return _ADAPTER.json_schema()

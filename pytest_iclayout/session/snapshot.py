"""A session as text, to go on with later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import klayout.db as db
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from pytest_iclayout.geometry.extent import ExtentError
from pytest_iclayout.geometry.shapes import COORD_LIMIT, Coord
from pytest_iclayout.session.document import Document, Element
from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.session.files import check_extents
from pytest_iclayout.session.transcript import Entry
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import Technology


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


Place = tuple[Coord, Coord]


class _Rect(_Frozen):
    kind: Literal["rect"] = "rect"
    box: tuple[Coord, Coord, Coord, Coord]

    def to_db(self) -> db.Box:
        return db.Box(*self.box)


class _Polygon(_Frozen):
    kind: Literal["polygon"] = "polygon"
    points: tuple[Place, ...] = Field(min_length=3)

    def to_db(self) -> db.Polygon:
        # Raw: with all points as they were, whatever KLayout would leave out.
        return db.Polygon([db.Point(*one) for one in self.points], True)


class _Path(_Frozen):
    kind: Literal["path"] = "path"
    points: tuple[Place, ...] = Field(min_length=1)
    width: Annotated[int, Field(ge=0, le=COORD_LIMIT)]
    begin: Coord
    end: Coord
    round: bool

    def to_db(self) -> db.Path:
        return db.Path([db.Point(*one) for one in self.points], self.width, self.begin, self.end, self.round)


class _Label(_Frozen):
    kind: Literal["label"] = "label"
    text: str
    at: Place
    turn: Annotated[int, Field(ge=0, le=7)]

    def to_db(self) -> db.Text:
        return db.Text(self.text, db.Trans(self.turn % 4, self.turn >= 4, *self.at))


class _Instance(_Frozen):
    kind: Literal["instance"] = "instance"
    child: str
    magnification: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    angle: Annotated[float, Field(allow_inf_nan=False)]
    mirror: bool
    at: Place
    a: Place
    b: Place
    columns: Annotated[int, Field(ge=0)]
    rows: Annotated[int, Field(ge=0)]

    def to_db(self, child: int) -> db.CellInstArray:
        trans = db.ICplxTrans(self.magnification, self.angle, self.mirror, *self.at)
        if self.columns == 0:
            return db.CellInstArray(child, trans)
        return db.CellInstArray(child, trans, db.Vector(*self.a), db.Vector(*self.b), self.columns, self.rows)


class SavedElement(_Frozen):
    """One element; ``layer`` is null for instances."""

    id: Annotated[int, Field(ge=1)]
    cell: str
    layer: Layer | None
    drawn: Annotated[_Rect | _Polygon | _Path | _Label | _Instance, Field(discriminator="kind")]


class Snapshot(_Frozen):
    """Everything of a session but its rule set and limits, which are those of who began it."""

    format: Literal["iclayout-session-1"] = "iclayout-session-1"
    revision: Annotated[int, Field(ge=0)]
    next_id: Annotated[int, Field(ge=1)]
    technology: Technology
    cells: tuple[str, ...]
    elements: tuple[SavedElement, ...]
    transcript: tuple[Entry, ...]


@dataclass(frozen=True)
class Loaded:
    """A snapshot with its document drawn again."""

    snapshot: Snapshot
    document: Document


def save(document: Document, technology: Technology, revision: int, transcript: list[Entry]) -> bytes:
    """JSON text in UTF-8."""
    snapshot = Snapshot(
        revision=revision,
        next_id=document.next_id,
        technology=technology,
        cells=tuple(sorted(str(cell.name) for cell in document.layout.each_cell())),
        elements=tuple(_saved(document, element) for element in document.elements.values()),
        transcript=tuple(transcript),
    )
    return snapshot.model_dump_json().encode("utf-8")


def load(text: str) -> Loaded:
    """Raises CommandError (invalid_argument) for a text that is no whole snapshot."""
    try:
        snapshot = Snapshot.model_validate_json(text)
    except ValidationError as error:
        raise _broken(explain(error)) from error
    document = Document()
    document.layout.dbu = snapshot.technology.dbu_um
    for name in snapshot.cells:
        if document.layout.cell(name) is not None:
            raise _broken(f"cell {name!r} is there twice")
        document.layout.create_cell(name)
    _check_hierarchy(snapshot)
    for saved in sorted(snapshot.elements, key=lambda one: one.id):
        _draw(document, saved)
    if document.next_id > snapshot.next_id:
        raise _broken(f"next_id is {snapshot.next_id}, but there is an element {document.next_id - 1}")
    document.count_from(snapshot.next_id)
    try:
        check_extents(document.layout)
    except ExtentError as error:
        raise _broken(str(error)) from error
    return Loaded(snapshot, document)


def _draw(document: Document, saved: SavedElement) -> None:
    cell = document.layout.cell(saved.cell)
    if cell is None:
        raise _broken(f"element {saved.id} is in cell {saved.cell!r}, which is not there")
    if saved.id in document.elements:
        raise _broken(f"element {saved.id} is there twice")
    document.count_from(saved.id)
    if isinstance(saved.drawn, _Instance):
        document.place(cell, saved.drawn.to_db(document.layout.cell(saved.drawn.child).cell_index()))
    elif saved.layer is None:
        raise _broken(f"element {saved.id} has no layer")
    else:
        document.draw(cell, saved.layer, saved.drawn.to_db())


def _check_hierarchy(snapshot: Snapshot) -> None:
    """KLayout would not survive a cell that contains itself."""
    children: dict[str, set[str]] = {name: set() for name in snapshot.cells}
    for saved in snapshot.elements:
        if isinstance(saved.drawn, _Instance):
            if saved.drawn.child not in children:
                raise _broken(f"element {saved.id} is an instance of {saved.drawn.child!r}, which is not there")
            children.setdefault(saved.cell, set()).add(saved.drawn.child)
    while leaves := [name for name, below in children.items() if not below & children.keys()]:
        for name in leaves:
            del children[name]
    if children:
        raise _broken(f"cell {min(children)!r} contains itself, or one that does")


def _saved(document: Document, element: Element) -> SavedElement:
    name = str(document.layout.cell(element.cell_index).name)
    return SavedElement(id=element.id, cell=name, layer=element.layer, drawn=_drawn(document, element.handle))


def _drawn(document: Document, handle: db.Shape | db.Instance) -> _Rect | _Polygon | _Path | _Label | _Instance:
    if isinstance(handle, db.Instance):
        trans = handle.cplx_trans
        array = handle.is_regular_array()
        return _Instance(
            child=str(document.layout.cell(handle.cell_index).name),
            magnification=trans.mag,
            angle=trans.angle,
            mirror=trans.is_mirror(),
            at=(int(trans.disp.x), int(trans.disp.y)),
            a=(handle.a.x, handle.a.y) if array else (0, 0),
            b=(handle.b.x, handle.b.y) if array else (0, 0),
            columns=handle.na if array else 0,
            rows=handle.nb if array else 0,
        )
    if handle.is_text():
        text = handle.text
        return _Label(text=text.string, at=(text.x, text.y), turn=text.trans.rot)
    if handle.is_path():
        path = handle.path
        points = tuple((point.x, point.y) for point in path.each_point())
        return _Path(points=points, width=path.width, begin=path.bgn_ext, end=path.end_ext, round=path.round)
    if handle.is_box():
        box = handle.box
        return _Rect(box=(box.left, box.bottom, box.right, box.top))
    return _Polygon(points=tuple((point.x, point.y) for point in handle.polygon.each_point_hull()))


def _broken(reason: str) -> CommandError:
    return CommandError(ErrorCode.INVALID_ARGUMENT, f"snapshot: {reason}")

"""The layout session: executes commands on a document, one outcome each, nothing half-done."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel, ValidationError

from pytest_iclayout.defaults import RULE_SET
from pytest_iclayout.drc.engine import run_rules_on
from pytest_iclayout.geometry.canonical import document_hash
from pytest_iclayout.geometry.extent import ExtentError, measure
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.intent import Intent
from pytest_iclayout.geometry.io import write_layout
from pytest_iclayout.geometry.netlist import Netlist
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session import commands as cmd
from pytest_iclayout.session import drawing, editing, files, generating, queries, snapshot
from pytest_iclayout.session.document import Document
from pytest_iclayout.session.errors import CommandError, ErrorCode
from pytest_iclayout.session.recordable import recordable
from pytest_iclayout.session.transcript import BlobDigest, Entry, Outcome
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.load import builtin_technology
from pytest_iclayout.technology.models import RuleKind, Technology, TechnologyError
from pytest_iclayout.technology.text import parse_technology_text

_Parsed = TypeVar("_Parsed", bound=BaseModel)

MAX_COMMANDS = 100_000
"""Commands of one session; the next one is refused with budget_exhausted."""


@dataclass
class LayoutSession:
    """A document under construction.

    ``execute`` never raises for what a command says: the outcome carries the error, and a command that
    failed has changed nothing.  The revision starts at 0 and grows by one with each applied mutation.
    """

    technology: Technology = field(default_factory=lambda: builtin_technology("sky130"))
    rule_set: str = RULE_SET
    max_commands: int = MAX_COMMANDS
    records: bool = True
    """Whether commands go into the transcript and the journal; without, drawing takes half the time."""
    document: Document = field(default_factory=Document)
    revision: int = 0
    transcript: list[Entry] = field(default_factory=list)
    """The commands that made this document; load_session replaces them and is none of them."""
    journal: list[Entry] = field(default_factory=list)
    """Every command that was executed here, whatever was loaded."""
    _violations: tuple[Finding, ...] | None = None
    _started: float = field(default_factory=time.monotonic)

    def __post_init__(self) -> None:
        self.document.layout.dbu = self.technology.dbu_um

    def execute(
        self,
        command: cmd.Command | Mapping[str, Any],
        *,
        tokens_in: int | None = None,
        tokens_out: int | None = None,
    ) -> Outcome:
        """Carry out one command (a model, or the mapping that its JSON form gives) and record it."""
        before, begun = self.revision, self._milliseconds()
        raw = recordable(command) if self.records else {}
        try:
            if len(self.journal) >= self.max_commands:
                raise CommandError(ErrorCode.BUDGET_EXHAUSTED, f"the session took its {self.max_commands} commands")
            parsed = command if isinstance(command, BaseModel) else cmd.parse_command(command)
            outcome = self._apply(parsed)
        except CommandError as error:
            outcome = Outcome(revision=before, error_code=error.code, error_message=error.message)
        except ExtentError as error:
            outcome = Outcome(revision=before, error_code=ErrorCode.BUDGET_EXHAUSTED, error_message=str(error))
        except RuntimeError as error:  # what klayout raises
            outcome = Outcome(revision=before, error_code=ErrorCode.ENGINE_ERROR, error_message=f"klayout: {error}")
        if not self.records or len(self.journal) > self.max_commands:
            return outcome  # the first refusal is recorded; an agent that does not stop must not fill the disk
        entry = Entry(
            seq=len(self.journal),
            command=raw,
            revision_before=before,
            revision_after=self.revision,
            outcome=outcome.recorded,
            ts_start_ms=begun,
            ts_end_ms=self._milliseconds(),
            tokens_in=tokens_in,
            tokens_out=tokens_out,
        )
        self.journal.append(entry)
        if not (outcome.ok and raw.get("op") == "load_session"):
            self.transcript.append(entry.model_copy(update={"seq": len(self.transcript)}))
        return outcome

    def export(self) -> bytes:
        """The document as GDS bytes: the artifact that is judged."""
        return write_layout(self.document.layout)

    def document_hash(self) -> int:
        """See :func:`pytest_iclayout.geometry.canonical.document_hash`."""
        return document_hash(self.document.layout)

    def _milliseconds(self) -> int:
        return int((time.monotonic() - self._started) * 1000)

    def _apply(self, command: cmd.Command) -> Outcome:
        draw = _DRAWING.get(type(command))
        if draw is not None:
            affected = draw(self.document, command)
            return self._mutated(affected)
        match command:
            case cmd.SetTechnology():
                self._set_technology(command)
                return self._mutated([])
            case cmd.BuildViaStack():
                return self._mutated(editing.build_via_stack(self.document, command, self.technology, self.rule_set))
            case cmd.RunGenerator():
                return self._mutated(generating.run_generator(self.document, command, self.technology))
            case cmd.RouteNet():
                return self._route(command)
            case cmd.QueryShapes():
                return self._data(queries.query_shapes(self.document, command))
            case cmd.GetCellInfo():
                return self._data(queries.get_cell_info(self.document, command))
            case cmd.ListLayers():
                return self._data(queries.list_layers(self.technology))
            case cmd.RunDrc():
                return self._data(self._run_drc(command))
            case cmd.GetViolations():
                return self._data(queries.violations_value(self._last_violations()))
            case cmd.RunExtract():
                return self._data(queries.extract(self._view(command.cell)))
            case cmd.CheckIntent():
                view, intent = self._view(command.cell), _parse(Intent, "intent", command.intent)
                return self._data(queries.check_intent(view, intent))
            case cmd.NetlistCompare():
                view, expected = self._view(command.cell), _parse(Netlist, "expected", command.expected)
                return self._data(queries.netlist_compare(view, expected))
            case cmd.ExportGds():
                return self._blob(files.export(self.document, "GDS2"))
            case cmd.ExportOasis():
                return self._blob(files.export(self.document, "OASIS"))
            case cmd.RenderPng():
                return self._blob(files.render(self.document, command, self.technology))
            case cmd.ImportGds():
                return self._import(command)
            case cmd.SaveSession():
                return self._blob(snapshot.save(self.document, self.technology, self.revision, self.transcript))
            case cmd.LoadSession():
                return self._load(snapshot.load(command.snapshot))
        return _unhandled(command)

    def _mutated(self, affected: list[int], value: dict[str, Any] | None = None) -> Outcome:
        self.revision += 1
        return Outcome(revision=self.revision, affected=tuple(affected), value=value)

    def _data(self, value: dict[str, Any]) -> Outcome:
        return Outcome(revision=self.revision, value=value)

    def _blob(self, data: bytes) -> Outcome:
        return Outcome(revision=self.revision, blob=BlobDigest.of(data), data=data)

    def _import(self, command: cmd.ImportGds) -> Outcome:
        """The ids that went, then those that came."""
        gone = list(self.document.elements)
        self.document = files.import_gds(command, self.technology, self.document.next_id)
        self._violations = None
        return self._mutated([*gone, *self.document.elements])

    def _load(self, loaded: snapshot.Loaded) -> Outcome:
        self.document, self.technology = loaded.document, loaded.snapshot.technology
        self.revision, self.transcript = loaded.snapshot.revision, list(loaded.snapshot.transcript)
        self._violations = None
        return Outcome(revision=self.revision, affected=tuple(self.document.elements))

    def _set_technology(self, command: cmd.SetTechnology) -> None:
        try:
            technology = parse_technology_text(command.source, "source")
        except TechnologyError as error:
            raise CommandError(ErrorCode.INVALID_ARGUMENT, str(error)) from error
        self.technology = technology
        self.document.layout.dbu = technology.dbu_um
        self._violations = None

    def _view(self, cell_name: str) -> LayoutView:
        cell = self.document.cell(cell_name)
        measure(self.document.layout, cell)
        return LayoutView(self.document.layout, cell, self.technology, self.rule_set)

    def _run_drc(self, command: cmd.RunDrc) -> dict[str, Any]:
        view = self._view(command.cell)
        try:
            rules = view.rules
        except TechnologyError as error:
            raise CommandError(ErrorCode.ENGINE_ERROR, str(error)) from error
        if not rules:
            # No violations of no rules would read as clean.
            raise CommandError(ErrorCode.ENGINE_ERROR, f"technology {self.technology.name} has no rules to run")
        window = None if command.region is None else command.region.to_db()
        self._violations = run_rules_on(view, rules, region=window)
        return queries.violations_value(self._violations)

    def _last_violations(self) -> tuple[Finding, ...]:
        if self._violations is None:
            raise CommandError(ErrorCode.INVALID_ARGUMENT, "no run_drc since the session or technology began")
        return self._violations

    def _route(self, command: cmd.RouteNet) -> Outcome:
        cell = self.document.cell(command.cell)
        width = self._wire_width(command)
        if width is None or len(command.terminals) < 2:
            reason = (
                "a net needs two terminals"
                if width is not None
                else f"layer {command.layer} has no width rule in technology {self.technology.name}"
            )
            value: dict[str, Any] = {"routed": 0, "failed": 1, "total_length_dbu": 0, "reason": reason}
            return self._mutated([], value)
        ids, length = drawing.draw_route(self.document, cell, command, width)
        return self._mutated(ids, {"routed": 1, "failed": 0, "total_length_dbu": length})

    def _wire_width(self, command: cmd.RouteNet) -> int | None:
        rules = self.technology.rule_sets.get(self.rule_set, ())
        widths = [one.value for one in rules if one.kind is RuleKind.WIDTH and one.layer == command.layer]
        return max(widths, default=None)


def _parse(model: type[_Parsed], argument: str, text: str) -> _Parsed:
    try:
        return model.model_validate_json(text)
    except ValidationError as error:
        raise CommandError(ErrorCode.INVALID_ARGUMENT, f"{argument}: {explain(error)}") from error


def _unhandled(command: object) -> NoReturn:
    raise AssertionError(f"command without a handler: {command!r}")


_DRAWING: dict[type, Callable[[Document, Any], list[int]]] = {
    cmd.CreateCell: drawing.create_cell,
    cmd.DeleteCell: drawing.delete_cell,
    cmd.AddRect: drawing.add_rect,
    cmd.AddPolygon: drawing.add_polygon,
    cmd.AddPath: drawing.add_path,
    cmd.AddLabel: drawing.add_label,
    cmd.PlaceInstance: drawing.place_instance,
    cmd.PlaceArray: drawing.place_array,
    cmd.TransformShapes: drawing.transform_shapes,
    cmd.DeleteShapes: drawing.delete_shapes,
    cmd.BooleanCombine: editing.boolean_combine,
    cmd.AlignShapes: editing.align_shapes,
    cmd.DistributeShapes: editing.distribute_shapes,
    cmd.OffsetShapes: editing.offset_shapes,
    cmd.PlacePcell: generating.place_pcell,
}

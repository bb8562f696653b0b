"""The two-way gate: an oracle must accept its witness and reject its negatives, or it may not judge."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import klayout.db as db

from pytest_iclayout import defaults
from pytest_iclayout.checking.oracle import Oracle
from pytest_iclayout.checking.variants import MOVES, VARIANTS, Variant, variant_strategy
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.io import read_layout, write_layout
from pytest_iclayout.session.sketch import Drawing, format_drawing

if TYPE_CHECKING:
    from hypothesis import settings
    from hypothesis.strategies import SearchStrategy


_passed: WeakKeyDictionary[Oracle, frozenset[str]] = WeakKeyDictionary()
"""The halves of the gate that an oracle passed in this process."""


class GateFailure(Exception):
    """The oracle is wrong: it accepted a negative, or rejected a layout that is right."""

    def __init__(self, message: str, artifact: bytes, drawing: Drawing = (), verdict: Verdict | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.artifact = artifact
        self.drawing = drawing
        self.verdict = verdict

    def __str__(self) -> str:
        parts = [self.message]
        if self.verdict is not None and not self.verdict.ok:
            parts.append(self.verdict.summary())
        if self.drawing:
            parts.append("the layout, as commands:\n" + format_drawing(self.drawing))
        return "\n".join(parts)


@dataclass(frozen=True)
class GateReport:
    """How many different layouts were tried, by the name of the negative or variant."""

    tried: dict[str, int]

    @property
    def total(self) -> int:
        return sum(self.tried.values())

    def __str__(self) -> str:
        return ", ".join(f"{name} {count}" for name, count in sorted(self.tried.items()))


@dataclass(frozen=True)
class GateSettings:
    """``examples`` a task, ``examples_folder`` for Hypothesis' failing examples (None: keep none).

    Every task and name has its own folder there: Hypothesis files examples under a digest of the
    test function, which all tasks share.
    """

    examples: int = defaults.GATE_EXAMPLES
    examples_folder: Path | None = None

    def hypothesis(self, key: str, examples: int) -> settings:
        from hypothesis import HealthCheck, Phase, settings
        from hypothesis.database import DirectoryBasedExampleDatabase

        current = settings.default
        assert current is not None
        options: dict[str, Any] = {}
        if not current.derandomize:
            root = self.examples_folder
            options["database"] = None if root is None else DirectoryBasedExampleDatabase(root / _slug(key))
        return settings(
            parent=current,
            max_examples=examples,
            deadline=None,
            print_blob=False,
            # What the explain phase finds by running hundreds of examples more is not shown.
            phases=[phase for phase in current.phases if phase is not Phase.explain],
            report_multiple_bugs=False,  # a group of exceptions would bury the GateFailure among them
            suppress_health_check=[HealthCheck.too_slow],
            **options,
        )


def check_accepts(oracle: Oracle, key: str, gate: GateSettings) -> GateReport:
    """The witness, the task's own good layouts and ``gate.examples`` variants must be accepted.

    Raises GateFailure with the smallest variant that Hypothesis finds.
    """
    from hypothesis import given

    witness = _witness(oracle)
    artifact = oracle.build(witness)
    _must_accept(oracle, artifact, "the witness", witness)
    tried = {"witness": 1}
    for number, drawing in enumerate(oracle.good):
        _must_accept(oracle, oracle.build(drawing), f"good layout {number} of the task", drawing)
        tried["good"] = number + 1
    names = _variant_names(oracle)
    if not names:
        _note_passed(oracle, "accepts")
        return GateReport(tried)
    base = read_layout(artifact)
    cell_name = oracle.cell_name or "top"
    seen: dict[str, set[bytes]] = {}

    @gate.hypothesis(f"{key}-accepts", gate.examples)
    @given(variant_strategy(names))
    def every_variant_is_accepted(changes: tuple[Variant, ...]) -> None:
        changed = write_layout(_changed(base, cell_name, changes))
        label = " then ".join(str(change) for change in changes)
        _must_accept(oracle, changed, f"the witness after {label}", ())
        for change in changes:
            seen.setdefault(change.name, set()).add(_digest(changed))

    every_variant_is_accepted()
    _note_passed(oracle, "accepts")
    return GateReport(tried | {name: len(digests) for name, digests in seen.items()})


def check_rejects(oracle: Oracle, key: str, gate: GateSettings) -> GateReport:
    """Every named negative, ``gate.examples`` of them spread over the names, must be rejected.

    Raises GateFailure with the smallest accepted negative that Hypothesis finds, and when the checker
    declares no negatives at all.
    """
    _witness(oracle)  # what a task without one cannot have either is shown as that, not as a crash
    seen: dict[str, set[bytes]] = {}
    for number, drawing in enumerate(oracle.bad):
        _must_reject(oracle, f"bad layout {number} of the task", drawing)
        seen.setdefault("bad", set()).add(_digest(oracle.build(drawing)))
    negatives = _negatives(oracle)
    # Each example has one negative of every name, and where it may be moved that one as well.
    layouts = len(negatives) * (2 if _variant_names(oracle) & MOVES else 1)
    share = max(1, -(-gate.examples // layouts))
    _reject_all(oracle, negatives, gate.hypothesis(f"{key}-rejects", share), seen)
    _note_passed(oracle, "rejects")
    return GateReport({name: len(digests) for name, digests in seen.items()})


def require_sound(oracle: Oracle) -> None:
    """Run before an oracle judges an agent: a broken oracle never scores one, whatever of the gate was selected.

    Where both halves of the gate passed in this process there is nothing left to try.  Otherwise
    :func:`quick_check`, once for all agents.  Raises GateFailure.
    """
    if _passed.get(oracle, frozenset()) < {"accepts", "rejects"}:
        quick_check(oracle)


def quick_check(oracle: Oracle) -> None:
    """A small, deterministic pass: the witness, the task's own layouts, and one negative of each name.

    Raises GateFailure.
    """
    witness = _witness(oracle)
    _must_accept(oracle, oracle.build(witness), "the witness", witness)
    for number, drawing in enumerate(oracle.good):
        _must_accept(oracle, oracle.build(drawing), f"good layout {number} of the task", drawing)
    for number, drawing in enumerate(oracle.bad):
        _must_reject(oracle, f"bad layout {number} of the task", drawing)
    _reject_all(oracle, _negatives(oracle), _once(), {})
    _note_passed(oracle, "accepts")
    _note_passed(oracle, "rejects")


def _note_passed(oracle: Oracle, half: str) -> None:
    _passed[oracle] = _passed.get(oracle, frozenset()) | {half}


def _negatives(oracle: Oracle) -> Mapping[str, SearchStrategy[Drawing]]:
    negatives = oracle.checker.negatives(oracle.params, oracle.bench)
    if not negatives:
        raise GateFailure(f"checker {oracle.checker.name} declares no negatives; it may not judge", b"")
    return negatives


def _witness(oracle: Oracle) -> Drawing:
    try:
        return oracle.witness()
    except ValueError as error:  # parameters that no layout fulfils: nets that cannot be routed apart, say
        raise GateFailure(f"checker {oracle.checker.name} has no witness for this task: {error}", b"") from error


def _variant_names(oracle: Oracle) -> frozenset[str]:
    names = oracle.checker.variants(oracle.params)
    if unknown := sorted(names - VARIANTS):
        known = ", ".join(sorted(VARIANTS))
        raise GateFailure(
            f"checker {oracle.checker.name} declares unknown variants {', '.join(unknown)}; known are {known}", b""
        )
    return names


def _reject_all(
    oracle: Oracle, negatives: Mapping[str, SearchStrategy[Drawing]], how: settings, seen: dict[str, set[bytes]]
) -> None:
    """Reject what ``how`` draws: each example holds one negative of every name, so that none is left out.

    Where the checker says that places and directions do not matter, each negative is rejected elsewhere
    and turned as well: a checker that is right at the origin only would pass otherwise.
    """
    from hypothesis import given
    from hypothesis import strategies as st

    moves = _variant_names(oracle) & MOVES
    cell_name = oracle.cell_name or "top"

    @how
    @given(
        st.fixed_dictionaries(dict(sorted(negatives.items()))).map(_Drawings),
        variant_strategy(moves) if moves else st.just(()),
    )
    def every_negative_is_rejected(drawings: _Drawings, changes: tuple[Variant, ...]) -> None:
        for name, drawing in drawings.items():
            what = f"the negative {name!r}"
            artifact = _must_reject(oracle, what, drawing)
            digests = seen.setdefault(name, set())
            digests.add(_digest(artifact))
            if changes:
                moved = write_layout(_changed(read_layout(artifact), cell_name, changes))
                if oracle.judge(moved).ok:
                    how_moved = " then ".join(str(change) for change in changes)
                    raise _accepted(oracle, f"{what} after {how_moved}", moved, drawing)
                digests.add(_digest(moved))

    every_negative_is_rejected()


class _Drawings(dict[str, Drawing]):
    """Drawings by name.  Hypothesis shows a failing example whole, which would be pages of commands."""

    def __repr__(self) -> str:
        return f"<one negative each of {', '.join(self)}>"


def _once() -> settings:
    from hypothesis import HealthCheck, Phase, settings

    return settings(
        max_examples=1,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


def _must_accept(oracle: Oracle, artifact: bytes, what: str, drawing: Drawing) -> None:
    verdict = oracle.judge(artifact)
    if not verdict.ok:
        message = f"checker {oracle.checker.name} rejected {what}, which is right"
        raise GateFailure(message, artifact, _whole(oracle, drawing), verdict)


def _must_reject(oracle: Oracle, what: str, drawing: Drawing) -> bytes:
    artifact = oracle.build(drawing)
    if oracle.judge(artifact).ok:
        raise _accepted(oracle, what, artifact, drawing)
    return artifact


def _accepted(oracle: Oracle, what: str, artifact: bytes, drawing: Drawing) -> GateFailure:
    message = f"checker {oracle.checker.name} accepted {what}, which is wrong"
    return GateFailure(message, artifact, _whole(oracle, drawing))


def _whole(oracle: Oracle, drawing: Drawing) -> Drawing:
    """With the given layout's commands, so that what a failure shows can be pasted and replayed."""
    return (*oracle.bench.start, *drawing) if drawing else ()


def _changed(base: db.Layout, cell_name: str, changes: tuple[Variant, ...]) -> db.Layout:
    layout = base
    for change in changes:
        layout = change.apply(layout, cell_name)
    return layout


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()[:16]


def _slug(key: str) -> str:
    readable = "".join(char if char.isalnum() or char in "-_" else "_" for char in key)
    return f"{readable[:80]}-{hashlib.sha256(key.encode()).hexdigest()[:8]}"

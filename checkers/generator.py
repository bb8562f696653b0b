"""generator: a layout that serves the purpose of one of the generators, however it is drawn."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.generator_arrays import Fill, ViaFarm
from iclayout_checkers.generator_pads import PadRing
from iclayout_checkers.generator_params import GeneratorParams
from iclayout_checkers.generator_rings import GuardRing, SealRing
from iclayout_checkers.generator_shapes import Purpose
from iclayout_checkers.generator_structures import Structure
from iclayout_checkers.layouts import Shapes, bounding_box, sketch_of, unplaced
from iclayout_checkers.legal import LegalShapes
from iclayout_checkers.offences import Offence, offences

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.checking.variants import MOVED
from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.drc.engine import run_rules_on
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing, Sketch


class Generator:
    """Shape and nets as the generator's purpose asks for, and no rule of the rule set in force broken.

    Not compared with what any generator draws: another legal way to draw it is as good.
    """

    name = "generator"
    params_model = GeneratorParams

    def check(self, view: LayoutView, params: GeneratorParams) -> Verdict:
        return Verdict.of(
            *_purpose(params).check(view, params.own),
            *run_rules_on(view, view.rules),
        )

    def witness(self, params: GeneratorParams, bench: Bench) -> Drawing:
        return sketch_of(_purpose(params).witness(params.own, bench)).drawing

    def negatives(self, params: GeneratorParams, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        right = _purpose(params).witness(params.own, bench)
        found: dict[str, SearchStrategy[Drawing]] = {
            "nothing_drawn": st.just(Sketch().drawing),
            "only_in_a_cell_that_is_not_placed": st.just(unplaced(sketch_of(right).drawing)),
            "only_shapes_without_area": st.just(
                sketch_of(
                    [(layer, type(box)(box.left, box.bottom, box.right, box.bottom)) for layer, box in right]
                ).drawing
            ),
        }
        coordinate = st.integers(-100_000, 100_000)
        for name, candidates in _purpose(params).broken(params.own, bench).items():
            found[name] = st.builds(_moved, st.sampled_from(candidates), coordinate, coordinate)
        legal = LegalShapes(bench)
        layers = {layer for layer, _ in right}
        # Shapes on the layouts own layers may be wrong by themselves; these break a rule and nothing else.
        ways = [way for rule in legal.in_force if not layers & set(rule.layers) for way in offences(legal, rule)]
        if ways:
            found["breaks_a_rule"] = st.builds(
                _with_offence, st.just(right), st.sampled_from(ways), st.integers(0, 2000)
            )
        return found

    def variants(self, params: GeneratorParams) -> frozenset[str]:
        return MOVED if _purpose(params).may_turn(params.own) else MOVED - {"rotate"}


def _purpose(params: GeneratorParams) -> Purpose:
    purposes: dict[str, Purpose] = {
        "guard_ring": GuardRing(),
        "via_farm": ViaFarm(),
        "pad_ring": PadRing(),
        "seal_ring": SealRing(),
        "fill": Fill(),
        "test_structure": Structure(),
    }
    return purposes[params.id]


def _moved(shapes: Shapes, dx: int, dy: int) -> Drawing:
    return sketch_of([(layer, box.moved(dx, dy)) for layer, box in shapes]).drawing


def _with_offence(right: Shapes, way: Offence, more: int) -> Drawing:
    """The right layout, and far enough to its right a shape that breaks a rule."""
    wrong = way.draw(more)
    away = bounding_box([box for _, box in right]).right + 10_000 - bounding_box([box for _, box in wrong]).left
    return sketch_of([*right, *((layer, box.moved(away, 0)) for layer, box in wrong)]).drawing


CHECKER = Generator()

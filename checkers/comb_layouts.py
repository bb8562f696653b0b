"""Two combs that interleave, and pairs of shapes that only look like it."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import klayout.db as db
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from iclayout_checkers.layouts import Points, Shapes, bounding_box, other_layers, sketch_of, unplaced

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.session.sketch import Drawing, Sketch
from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.models import RuleKind

_LENGTH = 200
"""dbu; where the rules in force name no width or space."""

Boxes = list[db.Box]


class Combs(NamedTuple):
    """One comb with its spine on the left, the other on the right; all fingers lie along x."""

    left_fingers: int
    right_fingers: int
    width: int
    """Of fingers and spines, at least 2 dbu."""
    space: int
    """Between the combs, at least 2 dbu."""
    reach: int
    """dbu by which the fingers of the one lie beside those of the other: none at 0, negative apart."""

    @property
    def pitch(self) -> int:
        return self.width + self.space

    @property
    def tips(self) -> int:
        """x at which the fingers of the left comb end."""
        return self.width + self.space + self.reach

    @property
    def left(self) -> list[db.Box]:
        """The spine, then the fingers from below."""
        fingers = [self.finger(2 * number, 0, self.tips) for number in range(self.left_fingers)]
        return [self._spine(0, fingers), *fingers]

    @property
    def right(self) -> list[db.Box]:
        end = self.tips + self.space + self.width
        fingers = [self.finger(2 * number + 1, self.width + self.space, end) for number in range(self.right_fingers)]
        return [self._spine(end - self.width, fingers), *fingers]

    @property
    def boxes(self) -> Boxes:
        return [*self.left, *self.right]

    def finger(self, row: int, left: int, right: int) -> db.Box:
        return db.Box(left, row * self.pitch, right, row * self.pitch + self.width)

    def _spine(self, left: int, fingers: Boxes) -> db.Box:
        whole = bounding_box(fingers)
        return db.Box(left, whole.bottom, left + self.width, whole.top)

    def with_finger(self, number: int, change: Callable[[db.Box], Boxes]) -> Boxes:
        """A finger of the left comb changed, with its foot in the spine cut off."""
        fingers = self.left[1:]
        finger = fingers.pop(number)
        beyond = db.Box(self.width, finger.bottom, finger.right, finger.top)
        return [self.left[0], *fingers, *change(beyond), *self.right]

    @property
    def jogged_fingers(self) -> list[Points]:
        """All fingers go up a pitch at 45° where they lie side by side, for which ``reach`` is more than a pitch.

        The lowest one of the left comb has another one below it; the others of that comb are shorter.
        """
        start, rise = self.pitch + (self.reach - self.pitch) // 2, self.pitch

        def jogged(box: db.Box) -> Points:
            below = [(box.left, box.bottom), (start, box.bottom), (start + rise, box.bottom + rise)]
            below.append((box.right, box.bottom + rise))
            return [*below, *((x, y + self.width) for x, y in reversed(below))]

        lowest, *others = self.left[1:]
        shorter = [db.Box(one.left, one.bottom, one.right - 1, one.top) for one in others]
        fingers = [self.finger(-1, 0, self.tips), lowest, *shorter, *self.right[1:]]
        return [jogged(one) for one in fingers]

    @property
    def gussets(self) -> list[Points]:
        """Triangles in the corners between jogged spines and fingers, above all fingers but the highest."""
        run, rise = max(1, self.space // 2), max(1, self.space // 4)
        found: list[Points] = []
        for (spine, *fingers), out, up in (self.left, run, 0), (self.right, -run, self.pitch):
            inner = spine.left if out < 0 else spine.right
            for y in (one.top + up for one in fingers[:-1]):
                found.append([(inner, y), (inner, y + rise), (inner + out, y)])
        return found

    @property
    def jogged_spines(self) -> Boxes:
        left, right = self.left[0], self.right[0]
        return [db.Box(left.left, left.bottom - self.pitch, left.right, left.top), right.moved(0, self.pitch)]

    @property
    def one_above_the_other(self) -> Boxes:
        """The right comb moved up, clear of the left one."""
        return [*self.left, *(box.moved(0, bounding_box(self.left).top + self.space) for box in self.right)]

    @property
    def meeting_in_a_corner(self) -> Boxes:
        """The lowest finger drawn on to a corner of the right spine, which is drawn down to there."""
        spine = self.right[0]
        longer = db.Box(spine.left, self.width, spine.right, spine.top)
        return [*self.left, self.finger(0, 0, spine.left), longer, *self.right[1:]]

    @property
    def framed(self) -> Boxes:
        """The lowest and the highest finger of the left comb, which are the outer ones, joined behind the right one."""
        low, high = self.left[1], self.left[-1]
        end = self.right[0].right + self.space
        back = db.Box(end, low.bottom, end + self.width, high.top)
        return [*self.boxes, *(db.Box(one.left, one.bottom, end, one.top) for one in (low, high)), back]

    def framed_with_a_spine_in_two(self, number: int) -> Boxes:
        """Framed, and the halves of the left spine meet in a corner only, above one of its fingers."""
        spine, at = self.left[0], self.left[1 + number].top + 1
        middle = spine.center().x
        low = db.Box(spine.left, spine.bottom, middle, at)
        return [low, db.Box(middle, at, spine.right, spine.top), *self.framed[1:]]

    @property
    def meanders(self) -> Boxes:
        """Two lines that run side by side to and fro, so that a line crosses both as it does combs."""
        # So long that no line crosses bends at both ends.
        length, rows = self.tips + 4 * self.pitch, self.left_fingers + self.right_fingers
        found: Boxes = []
        for row in range(rows):
            low, high = self.finger(2 * row, 0, length), self.finger(2 * row + 1, 0, length)
            # Each turn has an outer and an inner bend: the inner one ends a pitch short of the end of the row.
            at_left, at_right = row > 0 and row % 2 == 0, row > 0 and row % 2 == 1
            next_left, next_right = row < rows - 1 and row % 2 == 1, row < rows - 1 and row % 2 == 0
            low_ends = self.pitch if at_left else 0, self.pitch if at_right else 0
            high_ends = self.pitch if next_left else 0, self.pitch if next_right else 0
            found += [
                db.Box(low.left + low_ends[0], low.bottom, low.right - low_ends[1], low.top),
                db.Box(high.left + high_ends[0], high.bottom, high.right - high_ends[1], high.top),
            ]
            if row < rows - 1:
                after = 2 * row + 2
                for bend, (first, last) in enumerate(((after - 2, after + 1), (after - 1, after))):
                    inset = bend * self.pitch
                    left = length - self.width - inset if row % 2 == 0 else inset
                    found.append(db.Box(left, first * self.pitch, left + self.width, last * self.pitch + self.width))
        return found

    def strapped(self, layer: Layer, bench: Bench) -> list[Shapes]:
        """Joined over each conductor that the technology joins to the layer."""
        spines = self.left[0], self.right[0]
        found = []
        for one in bench.technology.connections:
            if layer in (one.bottom, one.top) and one.bottom != one.top:
                other = one.top if layer == one.bottom else one.bottom
                cuts = [(one.cut, spine) for spine in spines] if one.cut is not None else []
                found.append([*cuts, (other, bounding_box([*spines]))])
        return found


def combs(layer: Layer, fingers: int, bench: Bench) -> Combs:
    """Combs of the width and at the space that the rules in force ask for, also where they go at 45°."""
    width, space = (
        max((rule.value for rule in bench.rules if rule.layer == layer and rule.kind is kind), default=_LENGTH)
        for kind in (RuleKind.WIDTH, RuleKind.SPACE)
    )
    # Across a line at 45° both are less than along y, by the square root of two.
    width, space = (max(2, -(-3 * length // 2)) for length in (width, space))
    return Combs(fingers, fingers, width, space, 3 * (width + space))


def comb_negatives(layer: Layer, fingers: int, bench: Bench) -> dict[str, SearchStrategy[Drawing]]:
    """Pairs of combs that lack a finger or are broken in one place, and what is no pair of combs at all."""
    lengths = st.integers(3, 2000)
    wrong, turned = other_layers(bench.technology, layer), st.booleans()
    pairs = st.builds(Combs, st.just(fingers), st.just(fingers), lengths, lengths, st.integers(3, 5000))
    finger = st.integers(0, fingers - 1)

    def drawn(boxes: Callable[[Combs], Boxes]) -> SearchStrategy[Drawing]:
        return st.builds(
            lambda one, turn: sketch_of([(layer, box) for box in _turned(boxes(one), turn)]).drawing, pairs, turned
        )

    def with_finger(change: Callable[[db.Box], Boxes]) -> SearchStrategy[Drawing]:
        return st.builds(
            lambda one, number: sketch_of([(layer, box) for box in one.with_finger(number, change)]).drawing,
            pairs,
            finger,
        )

    found: dict[str, SearchStrategy[Drawing]] = {
        "nothing_drawn": st.just(Sketch().drawing),
        "wrong_layer": st.builds(
            lambda one, other: sketch_of([(other, box) for box in one.boxes]).drawing, pairs, wrong
        ),
        "only_in_a_cell_that_is_not_placed": drawn(lambda one: one.boxes).map(unplaced),
        "one_comb_only": drawn(lambda one: one.left),
        "one_comb_on_the_wrong_layer": st.builds(
            lambda one, other: (
                sketch_of([*((layer, box) for box in one.left), *((other, box) for box in one.right)]).drawing
            ),
            pairs,
            wrong,
        ),
        "left_comb_a_finger_short": drawn(lambda one: one._replace(left_fingers=fingers - 1).boxes),
        "right_comb_a_finger_short": drawn(lambda one: one._replace(right_fingers=fingers - 1).boxes),
        "fingers_end_on_one_line": drawn(lambda one: one._replace(reach=0).boxes),
        "fingers_face_each_other": drawn(lambda one: one._replace(reach=1 - one.space).boxes),
        "one_comb_above_the_other": drawn(lambda one: one.one_above_the_other),
        "finger_missing": with_finger(lambda box: []),
        "finger_on_the_wrong_layer": st.builds(_moving_a_finger(layer), pairs, finger, wrong),
        "finger_without_area": with_finger(lambda box: [db.Box(box.left, box.bottom, box.right, box.bottom)]),
        "finger_a_dbu_away_from_its_spine": with_finger(lambda box: [box.enlarged(-1, 0).moved(1, 0)]),
        "finger_with_a_gap_of_one_dbu": with_finger(_gap),
        "finger_that_hangs_together_by_a_corner": with_finger(_corner),
        "third_net": drawn(lambda one: [*one.boxes, one.finger(-1, 0, one.tips)]),
        "combs_joined": drawn(
            lambda one: [
                *one.boxes,
                one.finger(0, 0, one.right[0].right),
                one.right[0] + one.finger(0, one.right[0].left, one.right[0].right),
            ]
        ),
        "combs_meet_in_a_corner": drawn(lambda one: one.meeting_in_a_corner),
        "comb_within_a_frame": drawn(lambda one: one._replace(left_fingers=fingers + 1).framed),
        "comb_within_a_frame_whose_spine_hangs_together_by_a_corner": st.builds(
            lambda one, number: sketch_of([(layer, box) for box in one.framed_with_a_spine_in_two(number)]).drawing,
            pairs.map(lambda one: one._replace(left_fingers=fingers + 2, right_fingers=fingers + 1)),
            st.integers(1, fingers - 1),
        ),
        "two_meanders": drawn(lambda one: one.meanders),
    }
    straps = len(combs(layer, fingers, bench).strapped(layer, bench))
    if straps:
        found["combs_joined_over_another_layer"] = st.builds(
            lambda one, number: (
                sketch_of([*((layer, box) for box in one.boxes), *one.strapped(layer, bench)[number]]).drawing
            ),
            pairs,
            st.integers(0, straps - 1),
        )
    return found


def _turned(boxes: Boxes, turn: bool) -> Boxes:
    return [db.Box(box.bottom, box.left, box.top, box.right) for box in boxes] if turn else boxes


def _moving_a_finger(layer: Layer) -> Callable[[Combs, int, Layer], Drawing]:
    def move(one: Combs, number: int, other: Layer) -> Drawing:
        moved: Shapes = [(layer, box) for box in one.with_finger(number, lambda box: [])]
        return sketch_of([*moved, (other, one.left[1 + number])]).drawing

    return move


def _gap(box: db.Box) -> Boxes:
    at = box.center().x
    return [db.Box(box.left, box.bottom, at, box.top), db.Box(at + 1, box.bottom, box.right, box.top)]


def _corner(box: db.Box) -> Boxes:
    """Two pieces, each half as wide as the finger."""
    at = box.center()
    return [db.Box(box.left, box.bottom, at.x, at.y), db.Box(at.x, at.y, box.right, box.top)]

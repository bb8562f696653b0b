"""Test structures: van der Pauw crosses, contact chains, combs and serpentines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise

import klayout.db as db
from iclayout_checkers.generator_params import StructureParams
from iclayout_checkers.generator_shapes import (
    Level,
    exchanged,
    finding,
    flipped,
    level_above,
    margin,
    named,
    opened,
    polygons_of,
    space,
    square,
    transposed,
    without,
)
from iclayout_checkers.layouts import Shapes, separate_polygons
from iclayout_checkers.legal import LegalShapes

from pytest_iclayout.checking.checker import Bench
from pytest_iclayout.geometry.connectivity import Connectivity
from pytest_iclayout.geometry.findings import Finding
from pytest_iclayout.geometry.shapes import Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.layers import Layer


class Structure:
    """One structure of the kind at least, judged by its shape and its nets, whichever way it runs."""

    def check(self, view: LayoutView, params: StructureParams) -> list[Finding]:
        layer = named(view.technology, params.layer)
        if _JUDGES[params.kind](view, params, layer):
            return []
        what = {
            "van_der_pauw": "cross with four arms that are {w} dbu wide, {length} dbu from end to end",
            "contact_chain": "chain of {n} contacts in series, its pieces {w} dbu wide and {length} dbu long",
            "comb": "two combs, apart, with {n} fingers in turn that are {w} dbu wide and {length} dbu long",
            "serpentine": "line of {n} runs in series that are {w} dbu wide and {length} dbu long",
        }[params.kind].format(w=params.feature_width, length=params.feature_length, n=params.count)
        return [finding(f"{view.describe(layer)} has no {what}", layer, view.region(layer).bbox())]

    def witness(self, params: StructureParams, bench: Bench) -> Shapes:
        return _WITNESSES[params.kind](params, bench)

    def broken(self, params: StructureParams, bench: Bench) -> Mapping[str, list[Shapes]]:
        layer = named(bench.technology, params.layer)
        right = self.witness(params, bench)
        others = [named(bench.technology, name) for name in ("li1", "met1", "met2", "met3") if name != params.layer]
        found = {"on_another_layer": [exchanged(without(right, *others), layer, other) for other in others]}
        found |= _BREAKS[params.kind](params, bench)
        return {name: layouts for name, layouts in found.items() if layouts}

    def may_turn(self, params: StructureParams) -> bool:
        return True


def _is_cross(view: LayoutView, params: StructureParams, layer: Layer) -> bool:
    return any(_cross_in(polygon, params) for polygon in polygons_of(view, layer))


def _cross_in(polygon: db.Polygon, params: StructureParams) -> bool:
    box, side = polygon.bbox(), params.feature_width
    if min(box.width(), box.height()) < params.feature_length:
        return False
    corners = {(point.x, point.y) for point in polygon.each_point_hull()}
    # The crossing is where four inner corners are the corners of a square.
    return any(
        corners.issuperset({(x + side, y), (x, y + side), (x + side, y + side)})
        and _has_four_arms(polygon, db.Box(x, y, x + side, y + side))
        for x, y in corners
    )


def _has_four_arms(polygon: db.Polygon, crossing: db.Box) -> bool:
    """Whether one arm leaves each side of the crossing, as wide as that side."""
    if len(separate_polygons(db.Region(polygon) - db.Region(crossing))) != 4:
        return False
    within = db.Region(crossing).edges().inside_part(db.Region(polygon))
    return within.length() == crossing.perimeter() and _covers(polygon, crossing)


def _covers(polygon: db.Polygon, box: db.Box) -> bool:
    return (db.Region(box) - db.Region(polygon)).is_empty()


def _cross(params: StructureParams, bench: Bench) -> Shapes:
    layer, width = named(bench.technology, params.layer), params.feature_width
    return [(layer, box) for box in _bars(max(params.feature_length, 3 * width), width)]


def _bars(length: int, width: int) -> list[db.Box]:
    low = (length - width) // 2
    bar = db.Box(0, low, length, low + width)
    return [bar, transposed(bar)]


def _broken_crosses(params: StructureParams, bench: Bench) -> dict[str, list[Shapes]]:
    layer, width = named(bench.technology, params.layer), params.feature_width
    length = max(params.feature_length, 3 * width)
    across, along = _bars(length, width)
    other = named(bench.technology, "met1" if params.layer == "li1" else "li1")
    found: dict[str, list[Shapes]] = {
        "one_bar": [[(layer, across)], [(layer, along)]],
        "three_arms": [[(layer, across), (layer, db.Box(along.left, along.bottom, along.right, across.top))]],
        "bars_on_two_layers": [[(layer, across), (other, along)]],
        "one_bar_one_dbu_too_narrow": [
            [(layer, across), (layer, db.Box(along.left, along.bottom, along.right - 1, along.top))]
        ],
        "one_bar_one_dbu_too_wide": [
            [(layer, across), (layer, db.Box(along.left, along.bottom, along.right + 1, along.top))]
        ],
        "filled": [[(layer, db.Box(0, 0, length, length))]],
        "plate_with_a_bump": [
            [
                (layer, db.Box(0, 0, length, length - width)),
                (layer, db.Box(0, length - width, width, length).moved(width, 0)),
            ]
        ],
        "arms_narrower_than_the_crossing": [
            [
                (layer, db.Box(across.left, across.bottom + 1, across.right, across.top - 1)),
                (layer, db.Box(along.left + 1, along.bottom, along.right - 1, along.top)),
                (layer, across & along),
            ]
        ],
        "hole_in_the_crossing": [
            [
                (layer, one)
                for one in _boxes(db.Region(across) + db.Region(along) - db.Region(_middle_of(across & along)))
            ]
        ],
        "two_arms_joined": [
            [
                *((layer, box) for box in (across, along)),
                (layer, db.Box(0, 0, along.right, width)),
                (layer, db.Box(0, 0, width, across.top)),
            ]
        ],
    }
    if params.feature_length > 3 * width:
        found["one_dbu_too_short"] = [
            [(layer, db.Box(1, across.bottom, across.right, across.top)), (layer, along)],
            [(layer, across), (layer, db.Box(along.left, 1, along.right, along.top))],
        ]
    return found


def _middle_of(box: db.Box) -> db.Box:
    return box.enlarged(-(box.width() // 3), -(box.height() // 3))


def _boxes(region: db.Region) -> list[db.Box]:
    """The region in rectangles."""
    return [one.bbox() for one in region.decompose_trapezoids_to_region().each()]


def _is_chain(view: LayoutView, params: StructureParams, layer: Layer) -> bool:
    level = level_above(view.technology, layer)
    pieces = [*polygons_of(view, level.bottom), *polygons_of(view, level.top)]
    below = len(polygons_of(view, level.bottom))
    near: dict[int, set[int]] = defaultdict(set)
    for cut in view.region(level.cut).each():
        at = [number for number, piece in enumerate(pieces) if not (db.Region(cut) & db.Region(piece)).is_empty()]
        for one in (number for number in at if number < below):
            for other in (number for number in at if number >= below):
                near[one].add(other)
                near[other].add(one)
    return any(_is_long_path(group, near, pieces, params) for group in _groups(near))


def _groups(near: Mapping[int, set[int]]) -> Iterator[set[int]]:
    """What is reached from each other."""
    rest = set(near)
    while rest:
        group: set[int] = set()
        waiting = {min(rest)}
        while waiting:
            group |= waiting
            waiting = {other for one in waiting for other in near[one]} - group
        yield group
        rest -= group


def _is_long_path(
    group: set[int], near: Mapping[int, set[int]], pieces: list[db.Polygon], params: StructureParams
) -> bool:
    ends = sum(len(near[one]) for one in group)
    # Connected, without a branch and with two ends: a path.
    if ends < 2 * params.count or ends != 2 * (len(group) - 1) or any(len(near[one]) > 2 for one in group):
        return False
    for one in group:
        box = pieces[one].bbox()
        if not db.Region(pieces[one]).width_check(params.feature_width).is_empty():
            return False
        if len(near[one]) == 2 and max(box.width(), box.height()) < params.feature_length:
            return False
    return True


def _chain(
    params: StructureParams, bench: Bench, count: int | None = None, width: int | None = None, short: int = 0
) -> Shapes:
    """Pieces on two layers in turn along x, each over the next with a cut, a dbu farther apart than the rules ask.

    ``short`` makes the pieces between two cuts shorter, and not those at the ends.
    """
    count = params.count if count is None else count
    legal, level = LegalShapes(bench), level_above(bench.technology, named(bench.technology, params.layer))
    side = legal.side(level.cut)
    pad = max(params.feature_width, side + 2 * margin(legal, level))
    apart = max(space(legal, level.bottom), space(legal, level.top)) + 1
    step = max(params.feature_length - pad, pad + apart) - short
    height = pad if width is None else width
    shapes: Shapes = [(level.cut, square(side, number * step, pad // 2)) for number in range(count)]
    for number in range(count + 1):
        layer = level.bottom if number % 2 == 0 else level.top
        start, end = max(number - 1, 0) * step, min(number, count - 1) * step
        low, high = start - pad // 2, end - pad // 2 + pad
        if end == start:
            low, high = (low - step - short, high) if number == 0 else (low, high + step + short)
        shapes.append((layer, db.Box(low, 0, high, height)))
    return shapes


def _broken_chains(params: StructureParams, bench: Bench) -> dict[str, list[Shapes]]:
    legal, level = LegalShapes(bench), level_above(bench.technology, named(bench.technology, params.layer))
    right, count = _chain(params, bench), params.count
    cuts = [shape for shape in right if shape[0] == level.cut]
    whole = max(box.right for _, box in right)
    pad = max(params.feature_width, legal.side(level.cut) + 2 * margin(legal, level))
    apart = max(space(legal, level.bottom), space(legal, level.top)) + 1
    found = {
        "one_contact_short": [_chain(params, bench, count - 1)],
        "one_cut_missing": [[one for one in right if one is not cut] for cut in (cuts[0], cuts[count // 2])],
        "a_piece_missing": [[*right[:-2], right[-1]]],
        "cuts_on_another_layer": [without(right, level.cut)],
        "branch": [[*right, *_branch(level, right[count + 1][1], cuts[0][1], pad, apart)]],
        "all_pieces_below_in_one": [[*right, (level.bottom, db.Box(-pad // 2, 0, whole, pad))]],
        "all_pieces_above_in_one": [[*right, (level.top, db.Box(-pad // 2, 0, whole, pad))]] if count > 2 else [],
    }
    if pad == params.feature_width:
        found["one_dbu_too_narrow"] = [_chain(params, bench, count, pad - 1)]
    if count > 2:
        tops = [cut.center().x - pad // 2 for _, cut in cuts]
        found["contacts_side_by_side"] = [
            [
                *cuts,
                (level.bottom, db.Box(-pad // 2, 0, whole, pad)),
                *((level.top, db.Box(x, 0, x + pad, params.feature_length + pad)) for x in tops),
            ]
        ]
    if params.feature_length - pad >= pad + apart:
        found["one_dbu_too_short"] = [_chain(params, bench, count, short=1)]
    return found


def _branch(level: Level, piece: db.Box, cut: db.Box, pad: int, apart: int) -> Shapes:
    """From the middle of a piece of the upper layer an arm along y, with a cut to one more piece at its end."""
    arm = square(pad, piece.center().x, pad // 2)
    end = arm.moved(0, pad + apart)
    return [
        (level.top, arm + end),
        (level.cut, cut.moved(end.center() - cut.center())),
        (level.bottom, end),
    ]


def _is_comb(view: LayoutView, params: StructureParams, layer: Layer) -> bool:
    """The fingers run along y in the region or in its mirror image."""
    nets = Connectivity(view).joined
    for turned in (False, True):
        owners = [flipped(db.Region(one)) if turned else db.Region(one) for one in polygons_of(view, layer)]
        fingers = sorted(
            (finger.left, number, finger)
            for number, owner in enumerate(owners)
            for finger in _runs_along_y(owner, params.feature_width, params.feature_length)
        )
        for start in range(len(fingers) - params.count + 1):
            chosen = fingers[start : start + params.count]
            if _alternate([number for _, number, _ in chosen]) and all(
                min(one.top, other.top) - max(one.bottom, other.bottom) >= params.feature_length / 2
                for (_, _, one), (_, _, other) in pairwise(chosen)
            ):
                places = [transposed(finger) if turned else finger for _, _, finger in chosen[:2]]
                here, there = (nets.at(layer, Rect.from_db(place)) for place in places)
                if not here & there:
                    return True
    return False


def _alternate(numbers: list[int]) -> bool:
    return numbers[0] != numbers[1] and all(one == after for one, after in zip(numbers, numbers[2:], strict=False))


def _runs_along_y(region: db.Region, width: int, length: int) -> list[db.Box]:
    """The straight parts that are exactly so wide and at least so long, whatever is attached to their ends.

    A pad or a spine that is wider for as much as ``length`` is no part of them; one that is lower is.
    """
    wider = opened(region, width + 1, length)
    runs = separate_polygons(opened(region - wider, width, length))
    return [run.bbox() for run in runs if run.is_box()]


def _comb(params: StructureParams, bench: Bench, count: int | None = None) -> Shapes:
    """Fingers in turn from a spine below and from one above; the spines come last."""
    count = params.count if count is None else count
    layer, width = named(bench.technology, params.layer), params.feature_width
    gap = space(LegalShapes(bench), layer)
    length = max(params.feature_length, gap + -(-params.feature_length // 2))
    top, pitch = width + length + gap, width + gap
    fingers = [
        db.Box(0, width, width, width + length).moved(number * pitch, gap if number % 2 else 0)
        for number in range(count)
    ]
    right = fingers[-1].right
    spines = [db.Box(0, 0, right, width), db.Box(0, top, right, top + width)]
    return [(layer, box) for box in (*fingers, *spines)]


def _broken_combs(params: StructureParams, bench: Bench) -> dict[str, list[Shapes]]:
    layer, width = named(bench.technology, params.layer), params.feature_width
    right, legal = _comb(params, bench), LegalShapes(bench)
    *fingers, (_, low), (_, high) = right
    first = fingers[0][1]
    gap = space(legal, layer)
    # Ends half way, less a dbu, as seen from its neighbour.
    neighbour = fingers[1][1]
    half = -(-params.feature_length // 2)
    short = db.Box(first.left, -params.feature_length, first.right, neighbour.bottom + half - 1)
    strap = db.Box(low.left - gap - width, low.bottom, low.left - gap, high.top)
    straps = [db.Box(strap.left, spine.bottom, low.left, spine.top) for spine in (low, high)]
    found = {
        "one_finger_short": [_comb(params, bench, params.count - 1)] if params.count > 2 else [],
        "a_finger_not_joined": [[*right[1:], (layer, db.Box(first.left, first.bottom + gap, first.right, first.top))]],
        "a_finger_one_dbu_too_narrow": [
            [*right[1:], (layer, db.Box(first.left, first.bottom, first.right - 1, first.top))]
        ],
        "a_finger_too_short": [[*right[1:], (layer, short)]],
        "spines_joined": [[*right, (layer, strap), *((layer, one) for one in straps)]],
        "all_fingers_on_one_spine": [
            [(layer, db.Box(one.left, first.bottom, one.right, first.top)) for _, one in fingers] + right[-2:]
        ],
        "only_one_comb": [[*fingers[::2], (layer, low)]],
    }
    if params.count > 2:
        found["a_finger_on_the_other_spine"] = [[*right[:2], (layer, right[2][1].moved(0, gap)), *right[3:]]]
    elif low.width() >= params.feature_length:
        # The spines are two fingers in turn themselves, whatever stands on them.
        found = {name: found[name] for name in ("spines_joined", "only_one_comb")}
    try:
        level = level_above(bench.technology, layer)
    except ValueError:
        return found
    around = margin(legal, level)
    side = legal.side(level.cut)
    cuts = [square(side, spine.left + around + side, spine.center().y) for spine in (low, high)]
    bridge = (cuts[0] + cuts[1]).enlarged(around, around)
    found["joined_on_another_layer"] = [[*right, (level.top, bridge), *((level.cut, cut) for cut in cuts)]]
    return found


def _is_serpentine(view: LayoutView, params: StructureParams, layer: Layer) -> bool:
    return any(
        _serpentine_in(flipped(db.Region(one)) if turned else db.Region(one), params)
        for one in polygons_of(view, layer)
        for turned in (False, True)
    )


def _serpentine_in(region: db.Region, params: StructureParams) -> bool:
    """One line whose runs go along y: no hole, no branch, and each run is passed from end to end."""
    runs = _runs_along_y(region, params.feature_width, params.feature_length)
    if len(runs) < params.count or not region.holes().is_empty():
        return False
    if not region.width_check(params.feature_width).is_empty():
        return False
    rest = region.dup()
    for run in runs:
        rest -= db.Region(run)
    turns = separate_polygons(rest)
    ends: dict[int, list[db.Box]] = defaultdict(list)
    links = 0
    for turn in turns:
        near = [number for number, run in enumerate(runs) if _meets(turn, run)]
        # One that joins three runs counts once, so a branch leaves the number of links short.
        if len(near) > 1:
            links += 1
            for number in near:
                ends[number].append(turn.bbox())
    return links == len(runs) - 1 and all(_passes(runs[number], at) for number, at in ends.items())


def _meets(turn: db.Polygon, run: db.Box) -> bool:
    return not db.Region(turn).interacting(db.Region(run)).is_empty()


def _passes(run: db.Box, turns: list[db.Box]) -> bool:
    """Whether the turns are at different ends of a run along y."""
    if len(turns) == 1:
        return True
    middle = run.center().y
    return len(turns) == 2 and min(one.top for one in turns) <= middle <= max(one.bottom for one in turns)


def _serpentine(params: StructureParams, bench: Bench, count: int | None = None, length: int | None = None) -> Shapes:
    """Runs along y, then the turns between them, at the top first, and a pad at the free end of the first run."""
    count = params.count if count is None else count
    layer, width = named(bench.technology, params.layer), params.feature_width
    length = _run_length(params) if length is None else length
    pitch = width + space(LegalShapes(bench), layer)
    runs = [db.Box(0, 0, width, length).moved(number * pitch, 0) for number in range(count)]
    turns = [
        db.Box(one.right, 0 if number % 2 else length - width, other.left, width if number % 2 else length)
        for number, (one, other) in enumerate(pairwise(runs))
    ]
    pad = db.Box(-width, -2 * width, width, 0)
    return [(layer, box) for box in (*runs, *turns, pad)]


def _run_length(params: StructureParams) -> int:
    return max(params.feature_length, 2 * params.feature_width)


def _broken_serpentines(params: StructureParams, bench: Bench) -> dict[str, list[Shapes]]:
    right, count, width = _serpentine(params, bench), params.count, params.feature_width
    layer, length = named(bench.technology, params.layer), _run_length(params)
    runs, turns = right[:count], right[count:-1]
    first, turn = runs[0][1], turns[0][1]
    below = db.Box(turn.left, 0, turn.right, width)
    found = {
        "one_run_short": [_serpentine(params, bench, count - 1)],
        "a_turn_missing": [[one for one in right if one is not turns[at]] for at in {0, (count - 1) // 2}],
        "a_run_bypassed": [[*right, (layer, below)]],
        "a_run_one_dbu_too_narrow": [
            [*right[1:], (layer, db.Box(first.left + 1, first.bottom, first.right, first.top))]
        ],
        "a_run_one_dbu_too_wide": [[*right, (layer, db.Box(first.left - 1, 0, first.right, length))]],
        "a_turn_one_dbu_too_narrow": [
            [one for one in right if one is not turns[0]]
            + [(layer, db.Box(turn.left, turn.bottom + 1, turn.right, turn.top))]
        ],
        "filled": [[(layer, db.Box(0, 0, runs[-1][1].right, length))]],
    }
    if count > 2:
        found["all_turns_at_one_end"] = [
            [*runs, *((layer, db.Box(one.left, length - width, one.right, length)) for _, one in turns)]
        ]
    if params.feature_length > 2 * width:
        found["runs_one_dbu_too_short"] = [_serpentine(params, bench, count, length - 1)]
    return found


_JUDGES: dict[str, Callable[[LayoutView, StructureParams, Layer], bool]] = {
    "van_der_pauw": _is_cross,
    "contact_chain": _is_chain,
    "comb": _is_comb,
    "serpentine": _is_serpentine,
}
_WITNESSES: dict[str, Callable[[StructureParams, Bench], Shapes]] = {
    "van_der_pauw": _cross,
    "contact_chain": _chain,
    "comb": _comb,
    "serpentine": _serpentine,
}
_BREAKS: dict[str, Callable[[StructureParams, Bench], dict[str, list[Shapes]]]] = {
    "van_der_pauw": _broken_crosses,
    "contact_chain": _broken_chains,
    "comb": _broken_combs,
    "serpentine": _broken_serpentines,
}

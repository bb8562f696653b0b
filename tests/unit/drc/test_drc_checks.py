"""What each kind of rule accepts and rejects: the exact threshold, one dbu less, and the odd shapes."""

from __future__ import annotations

from collections.abc import Iterable

import klayout.db as db
import pytest

from pytest_iclayout.drc import checks
from pytest_iclayout.drc.checks import Violation

Corners = tuple[int, int, int, int]


def boxes(*corners: Corners) -> db.Region:
    region = db.Region()
    for box in corners:
        region.insert(db.Box(*box))
    return region.merged()


def polygon(*points: tuple[int, int]) -> db.Region:
    return db.Region(db.Polygon([db.Point(x, y) for x, y in points])).merged()


def measured(violations: Iterable[Violation]) -> list[float | None]:
    return sorted(violation.measured for violation in violations)


def places(violations: Iterable[Violation]) -> list[str]:
    return sorted(str(violation.place) for violation in violations)


SQUARE = boxes((0, 0, 1000, 1000))
KISSING = boxes((0, 0, 1000, 1000), (1000, 1000, 2000, 2000))
# Edges of the 3-4-5 triangle: 500 long, 100 apart.
TILTED = polygon((0, 0), (400, 300), (340, 380), (-60, 80))


class TestWidth:
    def test_exact_width_is_legal_and_one_dbu_less_is_not(self):
        assert checks.width(boxes((0, 0, 140, 1000)), 140) == []
        assert measured(checks.width(boxes((0, 0, 139, 1000)), 140)) == [139]

    def test_corner_contact_is_a_width_of_zero(self):
        assert set(measured(checks.width(KISSING, 160))) == {0}

    def test_narrow_neck_is_found_where_it_is(self):
        neck = boxes((0, 0, 500, 500), (500, 200, 900, 300), (900, 0, 1400, 500))
        found = checks.width(neck, 140)
        assert measured(found) == [100]
        assert places(found) == ["(500,200;900,300)"]

    def test_rim_of_a_hole_is_measured(self):
        rim = boxes((0, 0, 1000, 1000)) - boxes((100, 200, 800, 800))
        assert measured(checks.width(rim, 150)) == [100]

    def test_slanted_width_is_measured_across_and_not_along_an_axis(self):
        assert checks.width(TILTED, 100) == []
        assert measured(checks.width(TILTED, 101)) == [100]

    def test_45_degree_width_keeps_its_fraction(self):
        diagonal = polygon((0, 0), (1000, 1000), (1000, 1140), (0, 140))
        found = checks.width(diagonal, 140)
        # 140 along y is 140 / sqrt(2) across.
        assert 98.994 in measured(found)

    def test_acute_corner_breaks_width(self):
        assert 0 in measured(checks.width(polygon((0, 0), (2000, 0), (2000, 500)), 100))

    def test_marker_snapped_to_the_grid_is_never_told_as_wide_enough(self):
        # KLayout's marker of the slanted edge ends on the grid, 40.023 apart, though the edges are nearer.
        wedge = boxes((100, -10, 110, 0)) + polygon((70, 0), (70, 80), (160, 0))
        found = checks.width(wedge.merged(), 40)
        assert found
        assert all(violation.measured is not None and violation.measured < 40 for violation in found)

    def test_right_angle_does_not_break_width(self):
        assert checks.width(boxes((0, 0, 1000, 200), (0, 0, 200, 1000)), 200) == []


class TestSpace:
    def test_exact_space_is_legal_and_one_dbu_less_is_not(self):
        assert checks.space(boxes((0, 0, 100, 100), (240, 0, 340, 100)), 140) == []
        assert measured(checks.space(boxes((0, 0, 100, 100), (239, 0, 339, 100)), 140)) == [139]

    def test_corner_contact_is_a_space_of_zero(self):
        assert set(measured(checks.space(KISSING, 180))) == {0}

    def test_notch_of_one_polygon_is_a_space(self):
        notch = boxes((0, 0, 500, 200), (0, 0, 200, 1000), (300, 0, 500, 1000))
        assert measured(checks.space(notch, 101)) == [100]
        assert checks.space(notch, 100) == []

    def test_hole_is_a_space(self):
        ring = boxes((0, 0, 1000, 1000)) - boxes((400, 300, 500, 700))
        assert measured(checks.space(ring, 101)) == [100]

    def test_abutting_boxes_are_one_polygon(self):
        assert checks.space(boxes((0, 0, 100, 100), (100, 0, 200, 100)), 140) == []

    def test_diagonal_space_is_euclidian(self):
        apart = boxes((0, 0, 100, 100), (130, 140, 230, 240))
        assert checks.space(apart, 50) == []
        assert set(measured(checks.space(apart, 51))) == {50}


class TestSeparation:
    def test_exact_separation_is_legal_and_one_dbu_less_is_not(self):
        assert checks.separation(SQUARE, boxes((1500, 0, 2000, 1000)), 500) == []
        assert measured(checks.separation(SQUARE, boxes((1499, 0, 2000, 1000)), 500)) == [499]

    @pytest.mark.parametrize(
        ("other", "place"),
        [
            ((500, 200, 1500, 800), "(500,200;1000,800)"),
            ((200, 200, 800, 800), "(200,200;800,800)"),
            ((-100, -100, 1100, 1100), "(0,0;1000,1000)"),
            ((0, 0, 1000, 1000), "(0,0;1000,1000)"),
            ((1000, 200, 2000, 800), "(1000,200;1000,800)"),
            ((1000, 1000, 2000, 2000), "(1000,1000;1000,1000)"),
        ],
        ids=["straddling", "inside", "containing", "equal", "abutting", "corner"],
    )
    def test_overlap_and_touch_are_a_separation_of_zero(self, other, place):
        found = checks.separation(SQUARE, boxes(other), 500)
        assert measured(found) == [0]
        assert places(found) == [place]

    @pytest.mark.parametrize(
        "other", [(500, 200, 1500, 800), (200, 200, 800, 800), (-100, -100, 1100, 1100), (0, 0, 1000, 1000)]
    )
    def test_lenient_rule_measures_nothing_in_an_overlap(self, other):
        assert checks.separation(SQUARE, boxes(other), 500, overlap_is_error=False) == []

    def test_lenient_rule_still_sees_what_stands_too_near(self):
        others = boxes((500, 200, 1500, 800), (1000, 900, 1200, 1000), (0, 1300, 1000, 1400))
        found = checks.separation(SQUARE, others, 500, overlap_is_error=False)
        assert 300 in measured(found)

    def test_overlap_does_not_hide_a_near_neighbour(self):
        found = checks.separation(SQUARE, boxes((200, 200, 800, 800), (1100, 0, 1200, 1000)), 500)
        assert measured(found) == [0, 100]

    def test_touch_elsewhere_of_an_overlapping_shape_is_found_as_well(self):
        other = boxes((900, 0, 2000, 100), (1900, 0, 2000, 1000), (1000, 500, 2000, 600))
        assert places(checks.separation(SQUARE, other, 10)) == ["(1000,500;1000,600)", "(900,0;1000,100)"]

    def test_slanted_touch_is_found(self):
        tip = polygon((1000, 500), (1500, 900), (1500, 100))
        assert places(checks.separation(SQUARE, tip, 10)) == ["(1000,500;1000,500)"]

    @pytest.mark.parametrize("turns", range(4))
    def test_shared_corner_of_a_slanted_shape_is_found_in_every_direction(self, turns):
        transform = db.Trans(turns, False, 0, 0)
        square = boxes((0, 0, 10, 10)).transformed(transform)
        triangle = polygon((-10, 0), (-10, 10), (0, 0)).transformed(transform)
        assert "(0,0;0,0)" in places(checks.separation(square, triangle, 1))


class TestEnclosure:
    @pytest.mark.parametrize("side", ["left", "bottom", "right", "top"])
    def test_exact_margin_is_legal_and_one_dbu_less_on_a_side_is_not(self, side):
        outer = {"left": 0, "bottom": 0, "right": 230, "top": 230}
        inner = boxes((30, 30, 200, 200))
        assert checks.enclosure(inner, boxes(tuple(outer.values())), 30) == []
        outer[side] += 1 if side in ("left", "bottom") else -1
        assert measured(checks.enclosure(inner, boxes(tuple(outer.values())), 30)) == [29]

    def test_flush_edge_has_no_margin(self):
        assert measured(checks.enclosure(boxes((0, 30, 170, 200)), boxes((0, 0, 300, 230)), 30)) == [0]

    def test_flush_edges_are_covered(self):
        assert checks.enclosure(SQUARE, SQUARE, 0) == []

    def test_part_outside_is_negative_by_how_far_it_stands_out(self):
        found = checks.enclosure(boxes((500, 200, 1001, 800)), SQUARE, 0)
        assert measured(found) == [-1]
        assert places(found) == ["(1000,200;1001,800)"]

    def test_shape_on_nothing_is_not_covered(self):
        assert places(checks.enclosure(SQUARE, db.Region(), 30)) == ["(0,0;1000,1000)"]

    def test_hole_under_the_inner_shape_is_not_covered(self):
        outer = boxes((-500, -500, 1500, 1500)) - boxes((400, 400, 500, 600))
        assert measured(checks.enclosure(SQUARE, outer, 0)) == [-100]

    def test_lenient_rule_accepts_what_is_outside_but_not_a_thin_margin(self):
        def lenient(inner: db.Region) -> list[Violation]:
            return checks.enclosure(inner, SQUARE, 100, outside_is_error=False)

        assert lenient(boxes((2000, 0, 2500, 500))) == []
        assert lenient(boxes((500, 200, 1500, 800))) == []
        assert measured(lenient(boxes((500, 99, 1500, 800)))) == [99]
        assert lenient(boxes((500, 99, 1500, 800)))[0].place.bottom == 0

    def test_two_outer_shapes_that_abut_count_as_one(self):
        assert checks.enclosure(boxes((30, 30, 200, 200)), boxes((0, 0, 100, 230), (100, 0, 230, 230)), 30) == []


DIFF = boxes((0, 0, 1000, 500))


class TestExtension:
    def test_exact_endcaps_are_legal_and_one_dbu_less_is_not(self):
        assert checks.extension(boxes((400, -130, 550, 630)), DIFF, 130) == []
        assert measured(checks.extension(boxes((400, -130, 550, 629)), DIFF, 130)) == [129]
        assert measured(checks.extension(boxes((400, -129, 550, 629)), DIFF, 130)) == [129, 129]

    @pytest.mark.parametrize(
        "poly",
        [
            (400, -130, 550, 500),
            (400, -130, 550, 300),
            (400, 100, 550, 300),
            (0, 0, 1000, 500),
            (800, 300, 1300, 800),
        ],
        ids=["flush", "ends within", "inside", "equal", "over a corner"],
    )
    def test_poly_that_ends_within_diff_extends_by_nothing(self, poly):
        assert measured(checks.extension(boxes(poly), DIFF, 130)) == [0]
        assert checks.extension(boxes(poly), DIFF, 130, outside_is_error=False) == []

    @pytest.mark.parametrize(
        "poly",
        [
            (1000, -50, 1150, 600),
            (1020, -50, 1150, 600),
            (0, 500, 1000, 600),
            (1000, 500, 1200, 700),
            (850, -130, 1000, 630),
            (3000, 0, 3150, 10),
        ],
        ids=["abuts a side", "near a side", "abuts along the end", "meets a corner", "flush side", "far"],
    )
    def test_poly_without_a_short_crossing_breaks_nothing(self, poly):
        assert checks.extension(boxes(poly), DIFF, 130) == []

    @pytest.mark.parametrize("depth", [1, 2, 3])
    def test_poly_that_enters_diff_by_a_few_dbu_only_is_an_end(self, depth):
        assert measured(checks.extension(boxes((400, -500, 550, depth)), DIFF, 130)) == [0]
        assert measured(checks.extension(boxes((-500, 100, depth, 250)), DIFF, 130)) == [0]

    def test_poly_over_the_end_of_diff_must_pass_it_on_all_three_sides(self):
        assert checks.extension(boxes((800, -130, 1130, 630)), DIFF, 130) == []
        assert measured(checks.extension(boxes((800, -130, 1129, 630)), DIFF, 130)) == [129]

    def test_poly_over_all_of_diff_must_pass_it_all_around(self):
        assert checks.extension(boxes((-130, -130, 1130, 630)), DIFF, 130) == []
        assert measured(checks.extension(boxes((-130, -130, 1130, 629)), DIFF, 130)) == [129]

    def test_ring_gate_inside_diff_is_no_end(self):
        ring = boxes((300, 100, 700, 400)) - boxes((400, 200, 600, 300))
        assert checks.extension(ring, DIFF, 130) == []

    @pytest.mark.parametrize("gap", [50, 3])
    def test_neighbour_that_ends_beside_a_crossing_is_not_its_end(self, gap):
        # The second poly's foot has an upper edge 60 above diff, reached only through the gap.
        line = boxes((400, -130, 550, 700))
        foot = (550 + gap, 520, 750, 560)
        hook = boxes((900, -130, 1000, 900), (700, 800, 1000, 900), (700, 520, 750, 900), foot)
        assert checks.extension(line + hook, boxes((0, 0, 2000, 500)), 130) == []

    def test_neighbour_one_dbu_beside_a_crossing_is_not_its_end(self):
        # The way from the crossing at (51,95) to the neighbour's end at (50,130) follows the border.
        poly = boxes((-300, 10, 50, 130), (51, -100, 250, 300))
        assert checks.extension(poly, boxes((-200, -50, -150, 300), (51, 20, 150, 95)), 41) == []

    def test_neighbour_across_the_corner_of_a_crossing_is_not_its_end(self):
        poly = boxes((-60, 0, -40, 110), (-60, 120, -50, 130))
        found = checks.extension(poly, boxes((-50, 90, -40, 120)), 40, outside_is_error=False)
        assert 14.142 not in measured(found)

    def test_hole_beyond_the_crossing_ends_the_extension(self):
        holed = boxes((300, -130, 700, 1000)) - boxes((400, 600, 600, 700))
        assert measured(checks.extension(holed, DIFF, 130)) == [100]

    def test_bend_beyond_the_crossing_is_measured_to_its_outer_edge(self):
        bent = boxes((400, -130, 550, 650), (400, 530, 900, 650))
        assert checks.extension(bent, DIFF, 130) == []

    @pytest.mark.parametrize("run", [1500, 700, 2600], ids=["45 degrees", "steep", "flat"])
    def test_slanted_poly_that_runs_past_is_legal(self, run):
        middle = 500 - run // 2
        slanted = polygon((middle, -500), (middle + run, 1000), (middle + run + 200, 1000), (middle + 200, -500))
        assert checks.extension(slanted, boxes((-3000, 0, 4000, 500)), 130) == []

    def test_slanted_end_is_measured_at_its_nearest_point(self):
        assert checks.extension(polygon((400, -130), (400, 630), (550, 780), (550, -130)), DIFF, 130) == []
        short = checks.extension(polygon((400, -130), (400, 600), (550, 750), (550, -130)), DIFF, 130)
        assert measured(short) == [100]

    def test_slanted_end_from_the_very_edge_of_diff_is_found(self):
        assert 0 in measured(checks.extension(polygon((400, -130), (400, 500), (550, 650), (550, -130)), DIFF, 130))

    def test_each_of_many_gates_is_judged_by_itself(self):
        tops = [630, 629, 500, 300, 700]
        gates = boxes(*((100 + 180 * i, -130, 180 + 180 * i, top) for i, top in enumerate(tops)))
        assert measured(checks.extension(gates, DIFF, 130)) == [0, 0, 129]


class TestAreas:
    def test_exact_area_is_legal_and_one_dbu2_less_is_not(self):
        assert checks.area(boxes((0, 0, 200, 415)), 83000) == []
        assert measured(checks.area(boxes((0, 0, 17, 4882)), 83000)) == [82994]

    def test_hole_does_not_count_as_area(self):
        ring = boxes((0, 0, 300, 300)) - boxes((100, 100, 200, 200))
        assert measured(checks.area(ring, 80001)) == [80000]

    def test_abutting_pieces_count_together(self):
        assert checks.area(boxes((0, 0, 100, 100), (100, 0, 200, 100)), 20000) == []

    def test_exact_hole_is_legal_and_one_dbu2_less_is_not(self):
        ring = boxes((0, 0, 1000, 1000)) - boxes((100, 100, 300, 800))
        assert checks.hole_area(ring, 140000) == []
        found = checks.hole_area(ring, 140001)
        assert measured(found) == [140000]
        assert places(found) == ["(100,100;300,800)"]

    def test_bay_is_no_hole(self):
        assert checks.hole_area(boxes((0, 0, 500, 200), (0, 0, 200, 1000), (300, 0, 500, 1000)), 10**9) == []

    def test_island_in_a_hole_does_not_shrink_it(self):
        ring = boxes((0, 0, 1000, 1000)) - boxes((100, 100, 900, 900)) + boxes((400, 400, 600, 600))
        assert measured(checks.hole_area(ring.merged(), 10**9)) == [640000]


class TestExactSize:
    @pytest.mark.parametrize(
        ("corners", "side"),
        [((0, 0, 169, 170), 169), ((0, 0, 170, 171), 171), ((0, 0, 170, 340), 340), ((0, 0, 10, 171), 10)],
    )
    def test_side_off_by_one_dbu_is_reported_with_the_worse_side(self, corners, side):
        assert measured(checks.exact_size(boxes(corners), 170)) == [side]

    def test_square_of_the_size_is_legal(self):
        assert checks.exact_size(boxes((0, 0, 170, 170), (500, 500, 670, 670)), 170) == []

    def test_turned_square_is_no_contact(self):
        # Its bounding box and its area would both pass.
        found = checks.exact_size(polygon((0, 120), (120, 240), (240, 120), (120, 0)), 170)
        assert [violation.measured for violation in found] == [None]

    def test_ring_and_corner_pair_are_no_contacts(self):
        ring = boxes((0, 0, 170, 170)) - boxes((50, 50, 100, 100))
        assert len(checks.exact_size(ring, 170)) == 1
        assert len(checks.exact_size(boxes((0, 0, 85, 85), (85, 85, 170, 170)), 170)) == 1

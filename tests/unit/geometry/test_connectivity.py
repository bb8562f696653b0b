"""Nets: what is joined, what is not, and that no verdict rests on a corner."""

from fractions import Fraction
from itertools import combinations

import klayout.db as db
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_iclayout.geometry.connectivity import Connectivity, conductor_layers
from pytest_iclayout.geometry.shapes import Orientation, Point, Rect
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.technology.load import builtin_technology

SKY130 = builtin_technology("sky130")
LABEL = {"met1": (68, 5), "met2": (69, 5), "diff": (65, 6)}


def layer(name):
    return SKY130.layer_named(name)


def drawn(cell, name, shape):
    one = layer(name)
    cell.shapes(cell.layout().layer(one.layer, one.datatype)).insert(
        shape if not isinstance(shape, tuple) else db.Box(*shape)
    )


def connectivity(*shapes, labels=()):
    """Nets of (layer name, box or shape) pairs, with (layer pair, text, x, y) labels."""
    layout = db.Layout(True)
    top = layout.create_cell("top")
    for name, shape in shapes:
        drawn(top, name, shape)
    for pair, text, x, y in labels:
        top.shapes(layout.layer(*pair)).insert(db.Text(text, x, y))
    return Connectivity(LayoutView(layout, top, SKY130, "published"))


def counts(found):
    return len(found.joined.names), len(found.separate.names)


def polygon(*corners):
    return db.Polygon([db.Point(*one) for one in corners])


def same_net(found, first, second):
    """Whether (layer name, box) places share a net in both readings; fails where the readings differ."""
    (one, box), (other, other_box) = first, second
    answers = {
        bool(nets.at(layer(one), Rect.of(*box)) & nets.at(layer(other), Rect.of(*other_box)))
        for nets in (found.joined, found.separate)
    }
    assert len(answers) == 1, "the readings differ"
    return answers.pop()


SQUARE = (0, 0, 100, 100)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ((50, 50, 200, 200), (1, 1)),
        ((100, 0, 200, 100), (1, 1)),
        ((100, 99, 200, 200), (1, 1)),
        ((100, 100, 200, 200), (1, 2)),
        ((101, 0, 200, 100), (2, 2)),
        ((101, 101, 200, 200), (2, 2)),
    ],
    ids=["overlap", "abut", "abut by 1 dbu", "corner", "gap", "diagonal gap"],
)
def test_two_wires_of_a_layer(other, expected):
    assert counts(connectivity(("met1", SQUARE), ("met1", other))) == expected


@pytest.mark.parametrize(
    "other",
    [
        polygon((500, 100), (600, 200), (500, 300), (400, 200)),
        polygon((500, 100), (400, 250), (600, 300)),
        polygon((999, 100), (1100, 250), (1100, 300)),
    ],
    ids=["diamond", "triangle", "near the end"],
)
def test_tip_on_the_middle_of_an_edge_is_a_corner_contact_too(other):
    assert counts(connectivity(("met1", (0, 0, 1000, 100)), ("met1", other))) == (1, 2)


def test_corner_inside_of_a_ring_is_cut_apart():
    frame = [("met1", box) for box in ((0, 0, 300, 100), (0, 200, 300, 300), (0, 0, 100, 300), (200, 0, 300, 300))]
    assert counts(connectivity(*frame, ("met1", polygon((100, 100), (180, 120), (120, 180))))) == (1, 2)


def test_wire_that_closes_on_itself_by_a_corner_stays_one_net():
    shapes = [(0, 0, 300, 100), (0, 0, 100, 300), (100, 200, 200, 300), (200, 100, 300, 200), (200, 0, 300, 100)]
    assert counts(connectivity(*[("met1", box) for box in shapes])) == (1, 1)


def test_chessboard_is_one_net_or_as_many_as_its_fields():
    fields = [
        ("met1", (100 * x, 100 * y, 100 * x + 100, 100 * y + 100)) for x in range(8) for y in range(8) if (x + y) % 2
    ]
    assert counts(connectivity(*fields)) == (1, 32)


@pytest.mark.parametrize(
    ("shapes", "expected"),
    [
        ([("met1", SQUARE), ("via", (20, 20, 80, 80)), ("met2", SQUARE)], 1),
        ([("met1", SQUARE), ("met2", SQUARE)], 2),
        ([("met1", SQUARE), ("via", (20, 20, 80, 80))], 1),
        ([("via", (20, 20, 80, 80))], 0),
        ([("met1", SQUARE), ("via", (100, 0, 160, 60)), ("met2", (100, 0, 200, 100))], 2),
        ([("met1", SQUARE), ("via", (100, 100, 160, 160)), ("met2", (100, 100, 200, 200))], 2),
        ([("met1", SQUARE), ("via", (99, 0, 160, 60)), ("met2", (100, 0, 200, 100))], 1),
        ([("met1", SQUARE), ("mcon", (20, 20, 80, 80)), ("met2", SQUARE)], 2),
        ([("li1", SQUARE), ("mcon", (20, 20, 80, 80)), ("met1", SQUARE), ("via", (0, 0, 9, 9)), ("met2", SQUARE)], 1),
        ([("met1", SQUARE), ("via", (20, 20, 80, 80)), ("met2", (80, 20, 200, 80))], 2),
    ],
    ids=[
        "cut within both", "no cut", "cut on one layer only", "floating cut", "cut beside the wire", "cut at a corner",
        "cut overlaps by 1 dbu", "cut of another pair", "two cuts in a stack", "upper wire beside the cut",
    ],
)  # fmt: skip
def test_cut_joins_what_it_overlaps_and_nothing_that_it_touches(shapes, expected):
    assert counts(connectivity(*shapes)) == (expected, expected)


def test_cuts_that_meet_in_a_corner_join_in_one_reading_only():
    cuts = [("via", (0, 0, 100, 100)), ("via", (100, 100, 200, 200))]
    assert counts(connectivity(*cuts, ("met1", (0, 0, 90, 90)), ("met2", (110, 110, 200, 200)))) == (1, 2)


@pytest.mark.parametrize("bottom", ["poly", "diff", "tap"])
def test_licon_joins_what_lies_below_li1(bottom):
    shapes = [(bottom, SQUARE), ("licon1", (20, 20, 80, 80)), ("li1", SQUARE)]
    assert same_net(connectivity(*shapes), (bottom, SQUARE), ("li1", SQUARE))
    assert not same_net(connectivity(shapes[0], shapes[2]), (bottom, SQUARE), ("li1", SQUARE))


def test_poly_and_diffusion_are_joined_by_li1_and_not_by_lying_on_each_other():
    apart = [("diff", (0, 0, 100, 100)), ("poly", (200, 0, 300, 100))]
    cuts = [("licon1", (20, 20, 80, 80)), ("licon1", (220, 20, 280, 80))]
    ends = ("diff", (0, 0, 100, 100)), ("poly", (200, 0, 300, 100))
    assert same_net(connectivity(*apart, *cuts, ("li1", (0, 0, 300, 100))), *ends)
    assert not same_net(connectivity(*apart, *cuts), *ends)
    crossed = connectivity(("diff", (0, 0, 300, 100)), ("poly", (100, -50, 150, 150)))
    assert not same_net(crossed, ("diff", (0, 0, 90, 100)), ("poly", (100, -50, 150, 150)))


def test_channel_separates_source_and_drain():
    source, drain = ("diff", (0, 0, 100, 100)), ("diff", (150, 0, 300, 100))
    whole = ("diff", (0, 0, 300, 100))
    assert not same_net(connectivity(whole, ("poly", (100, -50, 150, 150))), source, drain)
    assert same_net(connectivity(whole, ("poly", (100, -50, 150, 99))), source, drain), "poly that ends in between"
    assert same_net(connectivity(whole), source, drain)


def test_no_net_is_where_the_channel_is():
    found = connectivity(("diff", (0, 0, 300, 100)), ("poly", (100, -50, 150, 150)))
    assert found.joined.at(layer("diff"), Rect.of(100, 0, 150, 100)) == frozenset()


def test_tap_is_on_its_well():
    assert same_net(
        connectivity(("nwell", (0, 0, 900, 900)), ("tap", SQUARE)), ("nwell", (800, 800, 900, 900)), ("tap", SQUARE)
    )
    assert counts(connectivity(("nwell", (0, 0, 900, 900)), ("tap", (900, 0, 1000, 100)))) == (2, 2)


@pytest.mark.parametrize("pair", [LABEL["met1"], (68, 20)], ids=["label layer", "the layer itself"])
def test_label_names_its_net(pair):
    wires = [("met1", SQUARE), ("met1", (200, 0, 300, 100))]
    assert sorted(connectivity(*wires, labels=[(pair, "VPWR", 50, 50)]).joined.names)[-1] == "VPWR"


def test_two_labels_name_one_net_together():
    found = connectivity(("met1", SQUARE), labels=[(LABEL["met1"], "B", 10, 10), (LABEL["met1"], "A", 90, 90)])
    assert found.joined.names == ("A,B",)


@pytest.mark.parametrize("label", [(LABEL["met2"], "X", 50, 50), (LABEL["met1"], "X", 150, 50), ((1, 0), "X", 50, 50)])
def test_label_of_another_layer_or_place_names_nothing(label):
    assert connectivity(("met1", SQUARE), labels=[label]).joined.names == ("$1",)


def test_equal_labels_on_two_wires_do_not_join_them():
    wires = [("met1", SQUARE), ("met1", (200, 0, 300, 100))]
    found = connectivity(*wires, labels=[(LABEL["met1"], "A", 10, 10), (LABEL["met1"], "A", 250, 10)])
    assert counts(found) == (2, 2)


def hierarchy(trans, *array):
    """A via stack in a child, between a wire of the top cell on met1 and one on met2."""
    layout = db.Layout(True)
    child, top = layout.create_cell("child"), layout.create_cell("top")
    for name, box in (("met1", (0, 0, 300, 100)), ("via", (220, 20, 280, 80)), ("met2", (200, 0, 300, 100))):
        drawn(child, name, box)
    child.shapes(layout.layer(*LABEL["met2"])).insert(db.Text("inner", 250, 50))
    top.insert(db.CellInstArray(child.cell_index(), trans, *array))
    return layout, top


@pytest.mark.parametrize("orientation", Orientation)
def test_nets_pass_through_turned_instances(orientation):
    trans = db.ICplxTrans(1.0, 90.0 * orientation.quarter_turns, orientation.mirrored, 5000, -3000)
    layout, top = hierarchy(trans)
    low, high = trans * db.Box(-100, 0, 0, 100), trans * db.Box(300, 0, 400, 100)
    drawn(top, "met1", low)
    drawn(top, "met2", high)
    found = Connectivity(LayoutView(layout, top, SKY130, "published"))
    places = [(name, (box.left, box.bottom, box.right, box.top)) for name, box in (("met1", low), ("met2", high))]
    assert same_net(found, *places)
    assert found.joined.names == ("inner",), "the label in the child names the net of the top cell"


def test_nets_that_never_leave_a_child_are_nets_of_the_top_cell():
    layout, top = hierarchy(db.Trans(), db.Vector(1000, 0), db.Vector(0, 1000), 3, 2)
    assert counts(Connectivity(LayoutView(layout, top, SKY130, "published"))) == (6, 6)


def test_instances_join_where_they_abut():
    layout, top = hierarchy(db.Trans(), db.Vector(300, 0), db.Vector(0, 1000), 3, 2)
    assert counts(Connectivity(LayoutView(layout, top, SKY130, "published"))) == (2, 2)


def test_place_that_only_touches_a_net_is_not_on_it():
    found = connectivity(("met1", SQUARE))
    assert found.joined.at(layer("met1"), Rect.of(100, 0, 200, 100)) == frozenset()
    assert found.joined.at(layer("met1"), Rect.of(99, 0, 200, 100)) == frozenset({0})
    assert found.joined.at(layer("met1"), Rect.of(50, 50, 50, 50)) == frozenset()
    assert found.joined.at(layer("via"), Rect.of(*SQUARE)) == frozenset()


def test_empty_cell_has_no_nets():
    assert counts(connectivity()) == (0, 0)


def test_conductors_are_those_of_the_connections():
    names = {SKY130.name_of(one) for one in conductor_layers(connectivity().view)}
    assert names == {"nwell", "diff", "tap", "poly", "li1", "met1", "met2", "met3", "met4", "met5"}


class Groups:
    """Union-find."""

    def __init__(self, size):
        self.parent = list(range(size))

    def find(self, one):
        while self.parent[one] != one:
            one = self.parent[one]
        return one

    def join(self, one, other):
        self.parent[self.find(one)] = self.find(other)


def overlap(one, other):
    """Width and height of what two boxes share; negative where they do not meet."""
    return min(one[2], other[2]) - max(one[0], other[0]), min(one[3], other[3]) - max(one[1], other[1])


def expected_groups(shapes, corners_join):
    groups = Groups(len(shapes))
    cuts = {"mcon": ("li1", "met1"), "via": ("met1", "met2")}
    for (first, (name, box)), (second, (other, other_box)) in combinations(enumerate(shapes), 2):
        width, height = overlap(box, other_box)
        if name == other:
            joined = width >= 0 and height >= 0 and (corners_join or width + height > 0)
        else:
            joined = width > 0 and height > 0 and (other in cuts.get(name, ()) or name in cuts.get(other, ()))
        if joined:
            groups.join(first, second)
    return groups


@st.composite
def grid_boxes(draw):
    x, y = draw(st.integers(0, 7)), draw(st.integers(0, 7))
    box = x, y, x + draw(st.integers(1, 3)), y + draw(st.integers(1, 3))
    # 10 dbu: a cut of 2 dbu at a corner does not sever anything else.
    return tuple(10 * value for value in box)


stack = st.sampled_from(("li1", "mcon", "met1", "via", "met2"))


@given(st.lists(st.tuples(stack, grid_boxes()), max_size=14))
@example([("met1", (0, 0, 10, 10)), ("met1", (10, 10, 20, 20)), ("via", (0, 0, 20, 20)), ("met2", (10, 0, 20, 10))])
@example([("via", (0, 0, 10, 10)), ("via", (10, 10, 20, 20)), ("met1", (0, 0, 10, 10)), ("met1", (10, 10, 20, 20))])
def test_nets_are_those_of_a_plain_search(shapes):
    found = connectivity(*shapes)
    conductors = [(number, *shape) for number, shape in enumerate(shapes) if shape[0] in ("li1", "met1", "met2")]
    for nets, corners_join in ((found.joined, True), (found.separate, False)):
        groups = expected_groups(shapes, corners_join)
        net_of_group, group_of_net = {}, {}
        for number, name, box in conductors:
            (net,) = nets.at(layer(name), Rect.of(*box))
            group = groups.find(number)
            assert net_of_group.setdefault(group, net) == net, "one group on two nets"
            assert group_of_net.setdefault(net, group) == group, "one net for two groups"
        assert len(nets.names) == len(group_of_net)


def contact(one, other):
    """How two triangles meet: None, or the number of distinct corners of what they share (1 a point, 2 an edge)."""
    shared = [(Fraction(x), Fraction(y)) for x, y in one]
    if _turn(*other) < 0:
        other = other[::-1]
    for start, end in zip(other, other[1:] + other[:1], strict=True):
        kept = []
        for here, there in zip(shared, shared[1:] + shared[:1], strict=True):
            inside, inside_next = _turn(start, end, here), _turn(start, end, there)
            if inside >= 0:
                kept.append(here)
            if inside * inside_next < 0:
                share = inside / (inside - inside_next)
                kept.append(tuple(a + (b - a) * share for a, b in zip(here, there, strict=True)))
        shared = kept
    return len(set(shared)) or None


def _turn(a, b, c):
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


corner = st.tuples(st.integers(0, 6), st.integers(0, 6))
triangle = st.tuples(corner, corner, corner).filter(lambda one: _turn(*one) != 0)


@given(triangle, triangle)
@example(((0, 0), (4, 0), (0, 4)), ((2, 2), (6, 3), (6, 6)))
@example(((0, 0), (4, 0), (0, 4)), ((4, 0), (6, 3), (6, 6)))
@example(((0, 0), (4, 0), (0, 4)), ((1, 3), (3, 1), (6, 6)))
def test_slanted_shapes_meet_by_a_point_an_edge_or_not_at_all(first, second):
    scaled = [polygon(*((1000 * x, 1000 * y) for x, y in one)) for one in (first, second)]
    expected = {None: (2, 2), 1: (1, 2)}.get(contact(first, second), (1, 1))
    assert counts(connectivity(*[("met1", one) for one in scaled])) == expected


@pytest.mark.parametrize("at", [(0, 0), (7000, 3000), (7000, 0), (7000, 1), (4000, 1)])
def test_point_on_the_outline_or_inside_is_on_the_net(at):
    found = connectivity(("met1", polygon((0, 0), (7000, 3000), (7000, 0)))).joined
    assert found.under(Point(x=at[0], y=at[1]), [layer("met1")]) == {0}
    assert found.under(Point(x=at[0], y=at[1]), [layer("met2"), layer("li1")]) == set()


@pytest.mark.parametrize("at", [(-1, 0), (7001, 3000), (6999, 3000), (7000, -1), (1, 1)])
def test_point_beside_the_outline_is_on_no_net(at):
    found = connectivity(("met1", polygon((0, 0), (7000, 3000), (7000, 0)))).joined
    assert found.under(Point(x=at[0], y=at[1]), [layer("met1")]) == set()


def test_point_in_a_hole_is_on_no_net():
    frame = db.Region(db.Box(0, 0, 90, 90)) - db.Region(db.Box(30, 30, 60, 60))
    found = connectivity(("met1", next(frame.each()))).joined
    assert [bool(found.under(Point(x=x, y=45), [layer("met1")])) for x in (29, 30, 31, 59, 60)] == [1, 1, 0, 0, 1]


def test_point_over_two_layers_is_on_the_nets_of_both():
    found = connectivity(("met1", (0, 0, 10, 10)), ("met2", (5, 5, 20, 20))).joined
    assert len(found.under(Point(x=7, y=7), [layer("met1"), layer("met2")])) == 2
    assert len(found.under(Point(x=7, y=7), [layer("met2")])) == 1

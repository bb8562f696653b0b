"""Random commands for property tests, valid and invalid ones mixed."""

import base64
import re

from hypothesis import strategies as st

from pytest_iclayout.geometry.shapes import COORD_LIMIT, Orientation
from pytest_iclayout.session.session import LayoutSession

CELLS = ("top", "middle", "leaf")
TECHNOLOGY = "technology sky130\ndbu_per_micron {}\nlayer 68 20 met1 3C78C8FF\nlayer 69 20 met2 B8479EFF"

coordinates = st.one_of(
    st.integers(-500, 500),
    st.integers(-COORD_LIMIT, COORD_LIMIT),
    st.sampled_from((COORD_LIMIT, -COORD_LIMIT, 2**31, 1.5)),
)
points = st.fixed_dictionaries({"x": coordinates, "y": coordinates})
near = st.integers(-500, 500)
near_points = st.fixed_dictionaries({"x": near, "y": near})
cells = st.sampled_from((*CELLS, *CELLS, "new", "absent", "bad name"))
layers = st.sampled_from(
    [{"layer": 68, "datatype": 20}, {"layer": 69, "datatype": 20}, {"layer": 300, "datatype": 65535}]
)
texts = st.sampled_from(("a", "VPWR", "", "é", "a b\\$"))
ids = st.lists(st.integers(0, 14), min_size=0, max_size=3)
counts = st.one_of(st.integers(1, 4), st.sampled_from((0, 40_000, 30_000)))


@st.composite
def rects(draw):
    low, width, height = draw(near_points), draw(st.integers(-5, 400)), draw(st.integers(0, 400))
    return {"min": low, "max": {"x": low["x"] + width, "y": low["y"] + height}}


def transforms(place=points):
    ratio = st.sampled_from((1, 1, 1, 2, 3, 1_000_000))
    orientation = st.sampled_from([one.value for one in Orientation])
    return st.builds(
        lambda at, turn, num, den: {"orientation": turn, "mag_num": num, "mag_den": den, "dx": at["x"], "dy": at["y"]},
        place, orientation, ratio, ratio,
    )  # fmt: skip


def command(op, **arguments):
    return st.fixed_dictionaries({"op": st.just(op), **arguments})


def commands():
    """One command; about half of them apply in a session that :func:`drawn_session` began."""
    place = st.one_of(near_points, near_points, points)
    pitch = st.one_of(near, coordinates)
    return st.one_of(
        command("create_cell", name=cells),
        command("delete_cell", name=cells),
        command("add_rect", cell=cells, layer=layers, rect=rects()),
        command("add_rect", cell=cells, layer=layers, rect=rects()),
        command("add_polygon", cell=cells, layer=layers, points=st.lists(place, min_size=2, max_size=6)),
        command(
            "add_path", cell=cells, layer=layers, width=st.one_of(st.integers(0, 60), st.just(COORD_LIMIT)),
            points=st.lists(place, min_size=1, max_size=4),
            endcap=st.sampled_from(("flat", "square", "round", None, "oval")),
        ),
        command("add_label", cell=cells, layer=layers, text=texts, position=place),
        command("place_instance", cell=cells, child=cells, transform=st.one_of(st.none(), transforms(place))),
        command("place_instance", cell=cells, child=cells, transform=transforms(near_points)),
        command(
            "place_array", cell=cells, child=cells, transform=st.one_of(st.none(), transforms(place)),
            columns=counts, rows=counts, column_pitch=pitch, row_pitch=pitch,
        ),
        command("transform_shapes", ids=ids, transform=transforms(place)),
        command("transform_shapes", ids=ids, transform=transforms(near_points)),
        command("delete_shapes", ids=ids),
        command("set_technology", source=st.sampled_from((TECHNOLOGY.format(1000), TECHNOLOGY.format(200), "layer 1"))),
        command("route_net", cell=cells, net=st.just("n"), layer=layers, terminals=st.lists(place, max_size=3)),
        *editing(place),
        *generating(place),
        *filing(),
        command("get_cell_info", cell=cells),
        command("query_shapes", cell=cells, layer=st.one_of(st.none(), layers), region=st.one_of(st.none(), rects())),
        command("get_violations"),
        command("no_such_command"),
    )  # fmt: skip


def editing(place):
    many = st.lists(st.integers(1, 14), min_size=1, max_size=5)
    few = st.lists(st.integers(1, 3), min_size=2, max_size=4)
    return (
        command(
            "boolean_combine", cell=cells, ids=st.one_of(many, few), layer=layers,
            bool_op=st.sampled_from(("union", "intersection", "difference", "xor")),
        ),
        command("align_shapes", ids=many, align=st.sampled_from(("left", "right", "center_x", "top", "bottom"))),
        command("distribute_shapes", ids=many, axis=st.sampled_from(("horizontal", "vertical"))),
        command("offset_shapes", ids=many, delta=st.one_of(st.integers(-80, 80), coordinates)),
        command(
            "build_via_stack", cell=cells, lower_layer=layers, upper_layer=layers, cut_layer=layers, center=place,
            cut_size=st.one_of(st.integers(1, 300), st.just(COORD_LIMIT)), default_enclosure=st.integers(0, 50),
        ),
    )  # fmt: skip


def generating(place):
    layers_or_none = st.one_of(layers, st.none())
    small, widths = st.integers(0, 3), st.sampled_from((50, 40))
    return (
        command(
            "run_generator", cell=cells, generator_id=st.sampled_from(("via_farm", "via_farm", "guard_ring", "ring")),
            params=st.one_of(st.none(), st.just({}), st.fixed_dictionaries({"rows": small, "cols": small})),
        ),
        command(
            "place_pcell", cell=st.one_of(cells, st.just("box_pad$68_20-69_20-50-20")),
            pcell=st.sampled_from(("box_pad", "pad")), transform=st.one_of(st.none(), transforms(place)),
            params=st.fixed_dictionaries({"outer": layers, "inner": layers_or_none, "width": widths}),
        ),
    )  # fmt: skip


def drawn_session():
    """Three cells with a shape each and ids 1 to 5; ``top`` holds ``middle`` holds ``leaf``."""
    session = LayoutSession()
    layer, rect = {"layer": 68, "datatype": 20}, {"min": {"x": 0, "y": 0}, "max": {"x": 140, "y": 300}}
    for cell in CELLS:
        assert session.execute({"op": "create_cell", "name": cell}).ok
        assert session.execute({"op": "add_rect", "cell": cell, "layer": layer, "rect": rect}).ok
    array = {"columns": 2, "rows": 3, "column_pitch": 400, "row_pitch": -500}
    turned = {"orientation": "mirror_x90", "dx": 7, "dy": 9}
    assert session.execute({"op": "place_instance", "cell": "top", "child": "middle", "transform": turned}).ok
    assert session.execute({"op": "place_array", "cell": "middle", "child": "leaf", "transform": turned, **array}).ok
    return session


def saved_session():
    """The session whose snapshot is loaded: of a small technology, as examples are shown in full."""
    session = drawn_session()
    assert session.execute({"op": "set_technology", "source": "technology small\nlayer 68 20 met1 3C78C8FF"}).ok
    return session


def elements(session):
    """Ids with cell, layer and the drawn data, as the handles give them."""
    layout = session.document.layout
    return {
        number: (layout.cell(element.cell_index).name, str(element.layer), _by_name(layout, element.handle))
        for number, element in session.document.elements.items()
    }


def _by_name(layout, handle):
    """The drawn data; an instance names its cell, as sessions may number cells otherwise."""
    return re.sub(r"cell_index=(\d+)", lambda found: layout.cell(int(found[1])).name, str(handle))


def drawn_data(session):
    """The same data without ids, as the layout itself gives it."""
    layout = session.document.layout
    found = []
    for cell in layout.each_cell():
        found += [(cell.name, "None", _by_name(layout, instance)) for instance in cell.each_inst()]
        for index, info in zip(layout.layer_indexes(), layout.layer_infos(), strict=True):
            layer = f"{info.layer}/{info.datatype}"
            found += [(cell.name, layer, str(shape)) for shape in cell.shapes(index).each()]
    return sorted(found)


def filing():
    other = LayoutSession()
    for one in ({"op": "create_cell", "name": "top"}, {"op": "create_cell", "name": "leaf"}):
        assert other.execute(one).ok
    for cell in ("top", "leaf"):
        points = [{"x": 0, "y": 0}, {"x": 90, "y": 0}, {"x": 0, "y": 90}]
        layer = {"layer": 68, "datatype": 20}
        assert other.execute({"op": "add_polygon", "cell": cell, "layer": layer, "points": points}).ok
        assert other.execute({"op": "add_path", "cell": cell, "layer": layer, "points": points, "width": 8}).ok
    assert other.execute({"op": "place_instance", "cell": "top", "child": "leaf", "transform": {"dx": 7}}).ok
    text = base64.b64encode(other.export()).decode()
    snapshot = saved_session().execute({"op": "save_session"}).data.decode()
    return (
        st.just({"op": "export_oasis"}),
        st.just({"op": "save_session"}),
        command("netlist_compare", cell=cells, expected=st.sampled_from(('{"nets": [{"name": "VPWR"}]}', "{", "[]"))),
        command("import_gds", bytes=st.sampled_from((text, text[:400], "", "~"))),
        command("load_session", snapshot=st.sampled_from((snapshot, snapshot[:-20], "{}"))),
    )

"""Valid parameters of the generators, small enough that a layout is checked in milliseconds."""

from hypothesis import strategies as st

METALS = ("li1", "met1", "met2", "met3")
SPACE = 300
"""Of met3 in dbu, the widest of the stack."""


def lengths(least, most=4000):
    return st.one_of(st.integers(least, least + 250), st.integers(least, most))


guard_rings = st.fixed_dictionaries({}, optional={
    "layer": st.sampled_from(METALS), "region_width": lengths(300), "region_height": lengths(300),
    "ring_width": lengths(300), "taps": st.booleans(),
})  # fmt: skip

via_farms = st.fixed_dictionaries({}, optional={
    "cut": st.sampled_from(("mcon", "via", "via2")), "rows": st.integers(1, 6), "cols": st.integers(1, 6),
})  # fmt: skip


@st.composite
def pad_rings(draw):
    size = draw(lengths(300, 3000))
    pitch = size + draw(lengths(SPACE, 4000))
    least = max(10_000, 3 * size + 2 * SPACE)
    sides = {name: least + draw(st.integers(0, 20_000)) for name in ("die_width", "die_height")}
    return {**sides, "pad_size": size, "pad_pitch": pitch, "power_pads": draw(st.integers(0, 12))}


@st.composite
def seal_rings(draw):
    ring = draw(lengths(300, 3000))
    sides = {name: 2 * ring + draw(lengths(SPACE, 8000)) for name in ("die_width", "die_height")}
    return {**sides, "ring_width": ring, "stack": draw(st.sampled_from(("li1_met1", "up_to_met2", "up_to_met3")))}


fills = st.fixed_dictionaries({}, optional={
    "layer": st.sampled_from(METALS), "region_width": lengths(600, 6000), "region_height": lengths(600, 6000),
    "tile": lengths(300, 2000), "target_density_permille": st.integers(1, 900),
})  # fmt: skip


def structures(kind):
    return st.fixed_dictionaries({"kind": st.just(kind)}, optional={
        "layer": st.sampled_from(METALS), "feature_width": lengths(300, 2000), "feature_length": lengths(300),
        "count": st.integers(2, 9),
    })  # fmt: skip


VALID = {
    "guard_ring": guard_rings,
    "via_farm": via_farms,
    "pad_ring": pad_rings(),
    "seal_ring": seal_rings(),
    "fill": fills,
    "test_structure": st.sampled_from(("van_der_pauw", "contact_chain", "comb", "serpentine")).flatmap(structures),
}

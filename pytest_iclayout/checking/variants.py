"""Legal changes by name, as Hypothesis strategies over ``geometry.perturb``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import klayout.db as db

from pytest_iclayout.geometry import perturb
from pytest_iclayout.geometry.shapes import Orientation

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

REDRAWN = frozenset({"split", "overlap", "as_paths", "wrap", "through_gds", "through_oasis", "through_gdstk"})
"""Other data for the same geometry at the same place: legal for every checker that looks at geometry alone."""
MOVES = frozenset({"translate", "rotate"})
MOVED = REDRAWN | MOVES
"""Also elsewhere and turned: legal where the task names no place and no direction."""
PLACED = frozenset({"as_instances", "as_arrays"})
"""Other data for the same placements: for checkers that look at these."""
VARIANTS = MOVED | PLACED
"""All there are."""


@dataclass(frozen=True)
class Variant:
    """One legal change with its arguments."""

    name: str
    arguments: tuple[Any, ...]

    def apply(self, layout: db.Layout, cell_name: str) -> db.Layout:
        operation: Callable[..., db.Layout] = getattr(perturb, self.name)
        return operation(layout, cell_name, *self.arguments)

    def __str__(self) -> str:
        return f"{self.name}({', '.join(str(getattr(one, 'value', one)) for one in self.arguments)})"


def variant_strategy(names: frozenset[str]) -> SearchStrategy[tuple[Variant, ...]]:
    """One or two of the named changes in a row. Raises KeyError for a name that is no variant."""
    from hypothesis import strategies as st

    coordinate = st.integers(-1_000_000, 1_000_000)
    permille = st.integers(1, 999)
    orientation = st.sampled_from(Orientation)
    arguments: dict[str, SearchStrategy[tuple[Any, ...]]] = {
        "translate": st.tuples(coordinate, coordinate),
        "rotate": st.tuples(orientation),
        "split": st.tuples(permille, st.booleans()),
        "overlap": st.tuples(permille),
        "as_paths": st.just(()),
        "wrap": st.tuples(orientation, coordinate, coordinate),
        "as_instances": st.just(()),
        "as_arrays": st.just(()),
        "through_gds": st.just(()),
        "through_oasis": st.just(()),
        "through_gdstk": st.just(()),
    }
    one = st.one_of([st.builds(Variant, st.just(name), arguments[name]) for name in sorted(names)])
    return st.lists(one, min_size=1, max_size=2).map(tuple)

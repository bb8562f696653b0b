"""What a checker is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.view import LayoutView
from pytest_iclayout.session.sketch import Drawing
from pytest_iclayout.technology.models import Rule, Technology

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


class Params(BaseModel):
    """Base of a checker's parameters: frozen, unknown keys refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Bench(BaseModel):
    """What a layout is judged on besides the parameters: a technology, the rule set in force, a given layout.

    ``start`` draws the layout that the agent is given, ``solution`` is the task's own way from there to a
    layout that is right; both are empty for a task that begins with nothing.  Witnesses and negatives go on
    from the start: they are drawn after it, in the same session.
    """

    model_config = ConfigDict(frozen=True)

    technology: Technology
    rule_set: str
    start: Drawing = ()
    solution: Drawing = ()

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Raises TechnologyError when the technology has no rule set of that name."""
        return self.technology.rule_set(self.rule_set)


class Checker(Protocol):
    """An oracle for one kind of task.  Stateless: every method is a function of its arguments.

    ``bench`` is passed to the methods that draw, because a legal contact or wire depends on the
    technology; ``check`` finds it in the view.
    """

    name: str
    """As it stands in a task file."""
    params_model: type[Params]

    def check(self, view: LayoutView, params: Any) -> Verdict:
        """Judge a layout."""
        ...

    def witness(self, params: Any, bench: Bench) -> Drawing:
        """A layout that must be accepted."""
        ...

    def negatives(self, params: Any, bench: Bench) -> Mapping[str, SearchStrategy[Drawing]]:
        """Layouts that must be rejected, by the name of what is wrong with them; each drawn in cell ``top``."""
        ...

    def variants(self, params: Any) -> frozenset[str]:
        """Names of the legal changes (``checking.variants``) that must not alter the verdict on the witness."""
        ...

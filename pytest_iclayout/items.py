"""What the items of tasks and of rules have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_iclayout.fixtures import TrialError, TrialFailed
from pytest_iclayout.options import agents, settings_key
from pytest_iclayout.terminal import shown_path

if TYPE_CHECKING:
    from _pytest._code.code import TerminalRepr
    from _pytest.nodeid import NodeId

    from pytest_iclayout.agents.protocol import Agent
    from pytest_iclayout.checking.gate import GateFailure


class WorkItem(pytest.Function):
    """A test function of the plugin bound to a task or a rule, of id ``work_id`` (and, for ``solve``, an agent)."""

    def __init__(self, *, work_id: str, agent: Agent | None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.work_id = work_id
        self.agent = agent

    @property
    def id(self) -> NodeId:
        """The node id in parts, as pytest has it from 9.2 on: it compares these, for --lf as an example.

        pytest takes the parts from a parametrization, which this is not; read from the text they are right.
        """
        return type(super().id).parse(self.nodeid)

    def reportinfo(self) -> tuple[PathLike[str] | str, int | None, str]:
        # The heading of a failure: which task it is must stand there, not only which of its items.
        return self.path, None, f"{self.work_id}: {self.name}"

    def repr_failure(
        self, excinfo: pytest.ExceptionInfo[BaseException], *args: Any, **kwargs: Any
    ) -> str | TerminalRepr:
        from pytest_iclayout.checking.gate import GateFailure  # not before an item fails: it takes the layout library

        # What a trial or the gate found is the message; where in the plugin it was raised helps nobody.
        if isinstance(excinfo.value, (GateFailure, TrialFailed, TrialError)):
            return str(excinfo.value)
        return super().repr_failure(excinfo, *args, **kwargs)


def items_of(
    kind: type[WorkItem],
    parent: pytest.Collector,
    *,
    accepts: Callable[..., None] | None,
    rejects: Callable[..., None] | None,
    solve: Callable[..., None],
    words: Iterable[str],
    **work: Any,
) -> Iterator[WorkItem]:
    """The items of a task or a rule, of the given ``kind`` and found by ``words`` with -k; None for what it has not."""
    # The gate first: an oracle that passed all of it is not tried again before it judges.
    halves = (("accepts", accepts), ("rejects", rejects))
    wanted: list[tuple[str, str, Callable[..., None], Agent | None]] = [
        *((name, "gate", half, None) for name, half in halves if half is not None),
        *((f"solve[{agent.name}]", "solve", solve, agent) for agent in agents(parent.config)),
    ]
    for name, marker, run, agent in wanted:
        item: WorkItem = kind.from_parent(parent, name=name, callobj=run, agent=agent, **work)
        item.add_marker(marker)
        item.extra_keyword_matches.update(words)
        yield item


class OneOfSeveral(pytest.Collector):
    """One task or rule of a file that has several, named by its id."""

    def __init__(self, *, items: Callable[[pytest.Collector], Iterator[pytest.Item]], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._items = items

    def collect(self) -> Iterator[pytest.Item]:
        return self._items(self)


def keep_picture(item: WorkItem, suite: str, picture: bytes | None, failure: GateFailure) -> None:
    """Write the picture of a gate's failure, where there is one, and name the file in the failure."""
    if picture is not None:
        from pytest_iclayout.trial.record import file_name

        folder = item.config.stash[settings_key].gate_pictures / file_name(suite)
        path = folder / f"{file_name(item.work_id)}-{item.name}.png"
        failure.message += f"\n{write_picture(path, picture, item.config)}"


def write_picture(path: Path, picture: bytes, config: pytest.Config) -> str:
    """A line that says where the picture is, or why it is not there."""
    from pytest_iclayout.geometry.atomic import write_atomically

    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, picture)
    except OSError as error:
        return f"no picture: {path} could not be written: {error.strerror}"
    return f"picture: {shown_path(path, config)}"

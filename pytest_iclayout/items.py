"""What the items of tasks and of rules have in common."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import pytest

from pytest_iclayout.fixtures import TrialError, TrialFailed
from pytest_iclayout.options import settings_key

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


def keep_picture(item: WorkItem, suite: str, picture: bytes | None, failure: GateFailure) -> None:
    """Write the picture of a gate's failure, where there is one, and name the file in the failure."""
    if picture is None:
        return
    from pytest_iclayout.geometry.atomic import write_atomically
    from pytest_iclayout.trial.record import file_name

    folder = item.config.stash[settings_key].gate_pictures / file_name(suite)
    path = folder / f"{file_name(item.work_id)}-{item.name}.png"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_atomically(path, picture)
    except OSError as error:
        failure.message += f"\nno picture: {path} could not be written: {error.strerror}"
    else:
        failure.message += f"\npicture: {path}"

"""A picture of an artifact with what is wrong framed."""

from __future__ import annotations

from pytest_iclayout.checking.verdict import Verdict
from pytest_iclayout.geometry.io import LayoutFileError, read_layout
from pytest_iclayout.geometry.render import may_be_drawn, render_png
from pytest_iclayout.suite.task import Task


def picture_of(task: Task, artifact: bytes | None, verdict: Verdict | None, who: str, why: str = "") -> bytes | None:
    """PNG bytes, or None where there is no layout to draw, or one of more shapes than a picture shows.

    Its caption names the task and ``who`` failed at it, an agent or a half of the gate; ``why`` is what the
    verdict does not say.
    """
    if not artifact:
        return None
    try:
        layout = read_layout(artifact)
    except LayoutFileError:
        return None
    if all(cell.bbox().empty() for cell in layout.top_cells()) or not may_be_drawn(layout):
        return None
    findings, more = ((), 0) if verdict is None else (verdict.findings, verdict.more)
    caption = [f"{task.id}: {who}", *([why] if why else [])]
    return render_png(layout, task.oracle.cell_name, task.technology, findings, caption=caption, more=more)

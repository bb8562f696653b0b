"""Tasks with parameters are judged with their fixed values as they were before they had any."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from pytest_iclayout.session.sketch import format_drawing


def test_what_judges_a_task_with_parameters_changes_only_on_purpose(bundled_tasks, snapshot: SnapshotAssertion):
    lines = [
        f"{task.id}: {task.oracle.checker.name} {task.oracle.params.model_dump_json()}"
        f" {format_drawing(task.oracle.bench.start)}".rstrip()
        for task in bundled_tasks
        if task.values is not None
    ]
    assert "\n".join(lines) == snapshot

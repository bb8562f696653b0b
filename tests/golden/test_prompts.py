"""Every bundled task as an agent sees it: a change of a prompt, of a follow-up or of its technology is a change of the
benchmark."""

from __future__ import annotations

from syrupy.assertion import SnapshotAssertion

from pytest_iclayout.defaults import MAX_ITERATIONS
from pytest_iclayout.suite.context import context_of


def test_context_changes_only_on_purpose(bundled_task, snapshot: SnapshotAssertion):
    context = context_of(bundled_task, MAX_ITERATIONS).as_text()
    assert "\n".join([context, *bundled_task.spec.refinement]) == snapshot

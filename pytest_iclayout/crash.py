"""Records of trials whose process died under them."""

from __future__ import annotations

import pytest

from pytest_iclayout.fixtures import TRIAL_PROPERTY
from pytest_iclayout.options import agents, checkers, settings_key


def record_crash(config: pytest.Config, nodeid: str, report: pytest.TestReport) -> None:
    """Write an ``error`` record for a ``solve`` item whose worker died; other items have none to write."""
    file_part, _, item_name = nodeid.partition("::")
    agent = next((one for one in agents(config) if item_name == f"solve[{one.name}]"), None)
    path = config.rootpath / file_part
    if agent is None or not path.is_file():
        return
    from pathlib import Path

    from pytest_iclayout.suite.manifest import suite_above, suite_of_folder
    from pytest_iclayout.suite.task import load_task
    from pytest_iclayout.trial.record import record_path, write_record
    from pytest_iclayout.trial.runner import TrialSettings, crashed_trial

    settings = config.stash[settings_key]
    suite = suite_above(path.parent, Path(path.anchor)) or suite_of_folder(path.parent)
    trial = crashed_trial(
        load_task(path, suite, checkers(config)),
        agent,
        TrialSettings(settings.max_iterations, settings.run_id),
        nodeid,
        "the process that ran the trial died",
    )
    record = trial.record
    write_record(record_path(settings.results, record.suite, record.task_id, record.agent), record, trial.attachments)
    report.user_properties.append((TRIAL_PROPERTY, record.model_dump_json()))

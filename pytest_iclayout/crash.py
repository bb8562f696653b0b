"""Records of trials whose process died under them."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_iclayout.fixtures import TRIAL_PROPERTY, load_task_instances
from pytest_iclayout.options import agents, settings_key


def record_crash(config: pytest.Config, nodeid: str, report: pytest.TestReport) -> None:
    """Write an ``error`` record for a ``solve`` item whose worker died; other items have none to write."""
    file_part, _, rest = nodeid.partition("::")
    agent = next((one for one in agents(config) if f"::{rest}".endswith(f"::solve[{one.name}]")), None)
    if agent is None:
        return
    variant = rest.removesuffix(f"solve[{agent.name}]").removesuffix("::")
    from pytest_iclayout.suite.files import SuiteError
    from pytest_iclayout.trial.record import record_path, write_record
    from pytest_iclayout.trial.runner import TrialSettings, crashed_trial

    settings = config.stash[settings_key]
    try:
        instances = load_task_instances(_path_of(config, file_part), config)
        trial = crashed_trial(
            next(task for task in instances if variant in ("", task.id)),
            agent,
            TrialSettings(settings.max_iterations, settings.run_id),
            nodeid,
            "the process that ran the trial died",
        )
        record = trial.record
        path = record_path(settings.results, record.suite, record.task_id, record.agent)
        write_record(path, record, trial.attachments)
    except (SuiteError, OSError) as error:
        # An exception here would end the whole run; the report is an error in any case.
        report.longrepr = f"{report.longrepr}\nno record could be written: {error}"
        return
    report.user_properties.append((TRIAL_PROPERTY, record.model_dump_json()))


def _path_of(config: pytest.Config, file_part: str) -> Path:
    """The file of a node id: relative to the rootdir, for a file outside of it to where pytest was started."""
    inside = config.rootpath / file_part
    return inside if inside.is_file() else (config.invocation_params.dir / file_part).resolve()

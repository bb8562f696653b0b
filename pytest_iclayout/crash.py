"""Records of trials whose process died under them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_iclayout.fixtures import TRIAL_PROPERTY, load_rule_instances, load_task_instances
from pytest_iclayout.options import agents, settings_key

if TYPE_CHECKING:
    from pytest_iclayout.agents.protocol import Agent
    from pytest_iclayout.trial.record import AnyRecord
    from pytest_iclayout.trial.rule_runner import RuleTrial
    from pytest_iclayout.trial.runner import Trial

_REASON = "the process that ran the trial died"


def record_crash(config: pytest.Config, nodeid: str, report: pytest.TestReport) -> None:
    """Write an ``error`` record for a ``solve`` item whose worker died; other items have none to write."""
    file_part, _, rest = nodeid.partition("::")
    agent = next((one for one in agents(config) if f"::{rest}".endswith(f"::solve[{one.name}]")), None)
    if agent is None:
        return
    name = rest.removesuffix(f"solve[{agent.name}]").removesuffix("::")
    from pytest_iclayout.rules.rule import RuleError
    from pytest_iclayout.suite.files import SuiteError
    from pytest_iclayout.trial.record import record_path, write_record

    results = config.stash[settings_key].results
    try:
        path = _path_of(config, file_part)
        trial = _rule_trial(config, path, name, agent, nodeid) or _task_trial(config, path, name, agent, nodeid)
        record: AnyRecord = trial.record
        where = record_path(results, record.suite, record.work_id, record.agent)
        write_record(where, record, trial.attachments)
    except (RuleError, SuiteError, OSError) as error:
        # An exception here would end the whole run; the report is an error in any case.
        report.longrepr = f"{report.longrepr}\nno record could be written: {error}"
        return
    report.user_properties.append((TRIAL_PROPERTY, record.model_dump_json()))


def _task_trial(config: pytest.Config, path: Path, variant: str, agent: Agent, nodeid: str) -> Trial:
    from pytest_iclayout.trial.runner import TrialSettings, crashed_trial

    settings = config.stash[settings_key]
    task = next(task for task in load_task_instances(path, config) if variant in ("", task.id))
    return crashed_trial(task, agent, TrialSettings(settings.max_iterations, settings.run_id), nodeid, _REASON)


def _rule_trial(config: pytest.Config, path: Path, rule_id: str, agent: Agent, nodeid: str) -> RuleTrial | None:
    """None for a file of a layout task."""
    from pytest_iclayout.options import rule_settings
    from pytest_iclayout.rules.sniff import may_be_rules
    from pytest_iclayout.trial.rule_runner import crashed_rule_trial

    if not may_be_rules(path):
        return None
    rule = next(rule for rule in load_rule_instances(path, config) if rule_id in ("", rule.id))
    return crashed_rule_trial(rule, agent, rule_settings(config), nodeid, _REASON)


def _path_of(config: pytest.Config, file_part: str) -> Path:
    """The file of a node id: relative to the rootdir, for a file outside of it to where pytest was started."""
    inside = config.rootpath / file_part
    return inside if inside.is_file() else (config.invocation_params.dir / file_part).resolve()

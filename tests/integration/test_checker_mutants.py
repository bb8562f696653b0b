"""A fault in a bundled checker fails its gate, from the command line as in this process."""

from __future__ import annotations

import pytest

MUTANT = """
import iclayout_checkers.rect_present as module
from pytest_iclayout.checking.verdict import Verdict

def check(self, view, params):
    {body}

module.RectPresent.check = check
"""


@pytest.mark.parametrize(
    ("body", "failing"),
    [
        ("return Verdict()", "rejects"),
        ("return Verdict() if not view.region(params.layer).is_empty() else module.Verdict.of("
         "module.Finding(rule='r', message='m'))", "rejects"),
    ],
    ids=["accepts everything", "accepts any shape"],
)  # fmt: skip
def test_mutant_of_a_bundled_checker_fails_its_gate(tasks, pytester, body, failing):
    tasks.write("suite/a.toml")
    pytester.makeconftest(MUTANT.format(body=body))
    result = pytester.runpytest_subprocess("-m", "gate", "-rf")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines([f"FAILED suite/a.toml::{failing} - checker rect_present accepted *"])
    assert result.ret == pytest.ExitCode.TESTS_FAILED

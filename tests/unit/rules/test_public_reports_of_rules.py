"""Layouts of public bug reports of other checkers: the embedded engine judges them by our rules as was meant."""

from __future__ import annotations

import pytest
from public_reports import LAYERS, REPORTS, Report

from pytest_iclayout.rules.embedded import embedded_verdict


@pytest.mark.parametrize("report", REPORTS, ids=str)
def test_reported_layout_that_the_embedded_engine_judges_otherwise(report: Report):
    assert embedded_verdict(report.structure, LAYERS, report.gds()) is report.violates

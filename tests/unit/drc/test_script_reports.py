"""Reports of Python checkers that no record could hold are none."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_iclayout.drc.decks.script_pool import count_report
from pytest_iclayout.drc.report import ReportError


@pytest.mark.parametrize("name", ["\\ud800", "\\u0000", "a\\nb"])
def test_a_category_of_half_a_character_or_of_control_characters_is_none(tmp_path: Path, name: str) -> None:
    report = tmp_path / "report.json"
    report.write_text(f'{{"{name}": 1}}', encoding="utf-8")
    with pytest.raises(ReportError, match="a name is of letters, digits and signs"):
        count_report(report)


def test_a_report_that_cannot_be_read_is_none(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match="cannot be read"):
        count_report(tmp_path)

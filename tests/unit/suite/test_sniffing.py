"""What a TOML file is taken for, told from its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_iclayout.suite.files import read_toml
from pytest_iclayout.suite.sniff import is_suite_manifest, looks_like_task


@pytest.mark.parametrize("text", ['tasks = ["a"]', '"tasks" = ["a"]', "'tasks'= ['a']", '\ufefftasks = ["a"]'])
def test_manifest_is_recognised_however_its_key_is_written(tmp_path: Path, text: str) -> None:
    """One that is not would let a damaged task below it disappear."""
    path = tmp_path / "manifest.toml"
    path.write_text(text, encoding="utf-8")
    assert is_suite_manifest(path)


def test_file_that_begins_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    path = tmp_path / "manifest.toml"
    path.write_text('\ufefftasks = ["a"]', encoding="utf-8")
    assert read_toml(path) == {"tasks": ["a"]}


@pytest.mark.parametrize(
    ("text", "task"),
    [
        ('id = "a"\nprompt = "b"\n', False),
        ('checker = "a"\n', False),
        ('[[prompts]]\nid = "a"\nprompt = "b"\ntier = 1\n', False),
        ('[project]\nid = "a"\ntier = 1\nchecker = "b"\n', False),
        ('checker = "a"\nid = "b"\n', True),
        ('id = "a"\ntier = 1\nprompt = "b"\n', True),
        ('"id" = "a"\n"checker" = "b"\n', True),
        ('\ufeffid = "a"\nchecker = "b"\n', True),
        ("id = 1\nchecker = [", True),
    ],
)
def test_file_outside_of_suites_is_a_task_by_its_top_keys(tmp_path: Path, text: str, task: bool) -> None:
    path = tmp_path / "some.toml"
    path.write_text(text, encoding="utf-8")
    assert looks_like_task(path) is task

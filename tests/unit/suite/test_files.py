"""Files of a suite that are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_iclayout.suite.files import SuiteError, read_text


def test_a_named_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "fifo.toml"
    os.mkfifo(pipe)
    with pytest.raises(SuiteError, match=r"fifo\.toml: a pipe, socket or device, not a file"):
        read_text(pipe)


def test_a_folder_with_a_files_name_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="cannot be read"):
        read_text(tmp_path)

"""Decks read from files: what they include comes along, and what is no file is refused at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pytest_iclayout.drc.decks.deck import Deck, DeckError


def test_deck_that_includes_itself_is_read_once(tmp_path: Path) -> None:
    (tmp_path / "a.drc").write_text("# %include a.drc\n# %include b.drc\n")
    (tmp_path / "b.drc").write_text("# %include a.drc\n")
    assert sorted(Deck.of_file(tmp_path / "a.drc").files) == ["a.drc", "b.drc"]


@pytest.mark.parametrize("name", ["a.drc", "b.drc"])
def test_pipe_is_not_waited_for(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.drc").write_text("# %include b.drc\n")
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(DeckError, match=rf"{name}: no regular file"):
        Deck.of_file(tmp_path / "a.drc")


def test_folder_and_missing_file_are_told(tmp_path: Path) -> None:
    (tmp_path / "a.drc").write_text("# %include gone.drc\n")
    with pytest.raises(DeckError, match=r"gone\.drc: cannot be read, which a\.drc includes: No such file"):
        Deck.of_file(tmp_path / "a.drc")
    with pytest.raises(DeckError, match="Is a directory"):
        Deck.of_file(tmp_path)


def test_file_beyond_all_decks_is_refused(tmp_path: Path) -> None:
    with (tmp_path / "a.drc").open("wb") as stream:
        stream.truncate((64 << 20) + 1)
    with pytest.raises(DeckError, match="has more than 64 MB"):
        Deck.of_file(tmp_path / "a.drc")


def test_what_a_deck_is_run_with_is_part_of_its_digest():
    plain = Deck.of_text("x")
    others = [
        Deck(name=plain.name, files=plain.files, variables={"a": "1"}),
        Deck(name=plain.name, files=plain.files, variables={"a": "2"}),
        Deck(name=plain.name, files=plain.files, flat_markers=True),
    ]
    assert len({one.digest for one in (plain, *others)}) == 4


@pytest.mark.parametrize("name", ["", "1a", "a-b", "a b", "é", "a;exit", "input", "output"])
def test_name_that_is_no_variable_is_refused(name):
    with pytest.raises(ValueError, match="is no variable that can be set"):
        Deck(name="deck.drc", files={}, variables={name: "1"})

"""The page about the measurement lists what the table of survivors holds."""

from __future__ import annotations

from pathlib import Path

from measure import HERE, Change, Fate, Mutant, Survivors, report

PAGE = Path(__file__).parents[3] / "docs" / "oracles.md"


def code(lines: str) -> str:
    text = " ".join(lines.splitlines()).replace("|", "\\|")
    return f"`{text}`" if text else "(removed)"


def test_page_lists_every_survivor_with_its_reason() -> None:
    known = Survivors(HERE / "survivors.toml")
    table = PAGE.read_text(encoding="utf-8").partition("| --- | --- | --- | --- |\n")[2]
    rows = {f"| {one.function} | {code(one.old)} | {code(one.new)} | {why} |" for one, why in known.reasons.items()}
    assert set(table.splitlines()) == rows


def table(tmp_path: Path, text: str) -> Survivors:
    path = tmp_path / "survivors.toml"
    path.write_text(text, encoding="utf-8")
    return Survivors(path)


LESS = Change("bars.Bars.check", "count < least", "count <= least")
ROW = f'[[survivors]]\nfunction = "{LESS.function}"\nold = "{LESS.old}"\nnew = "{LESS.new}"\nreason = "it is"\n'


def test_survivor_that_is_not_in_the_table_fails(tmp_path: Path) -> None:
    assert not report([Mutant(LESS, Fate.LIVED)], table(tmp_path, ""), {"bars"})


def test_second_survivor_like_one_of_the_table_fails(tmp_path: Path) -> None:
    twice = [Mutant(LESS, Fate.LIVED), Mutant(LESS, Fate.LIVED)]
    assert not report(twice, table(tmp_path, ROW), {"bars"})
    assert report(twice, table(tmp_path, ROW + "times = 2\n"), {"bars"})


def test_survivor_of_the_table_that_is_killed_is_reported(tmp_path: Path, capsys) -> None:
    assert report([Mutant(LESS, Fate.KILLED)], table(tmp_path, ROW), {"bars"})
    assert "in the table, but killed now: bars.Bars.check" in capsys.readouterr().out

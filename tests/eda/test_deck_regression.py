"""``pytest --deck``: each status of a rule, and the ways in which a deck could be called good that is not."""

from __future__ import annotations

import gzip
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from pathlib import Path

import klayout.db as db
import pytest

import pytest_iclayout.deck_items  # noqa: F401  runs within this process drop what they were the first to import
from pytest_iclayout.drc.report import read_report

pytestmark = [pytest.mark.eda, pytest.mark.usefixtures("contained_klayout")]

HEAD = 'source($input)\nreport("r", $output)\nm1 = input(1, 0)\n'
WIDTH = 'm1.width(0.14).output("m1.1")\n'
MARKED = ("--deck-pass-layer=100/1", "--deck-fail-layer=100/2", "--deck-name-layer=100/3")
NARROW, WIDE = db.Box(100, 100, 200, 800), db.Box(100, 100, 400, 800)

Run = Callable[..., pytest.RunResult]


class Sheet:
    """A layout with one box of 1 µm a label."""

    def __init__(self) -> None:
        self.layout = db.Layout()
        self.top = self.layout.create_cell("top")
        self._at = 0

    def mark(self, rule: str, fails: bool, *shapes: db.Box, trans: db.Trans | None = None) -> db.Box:
        """``trans`` has the shapes drawn in a cell that is placed so."""
        here = db.Trans(self._at, 0)
        box = here * db.Box(0, 0, 1000, 1000)
        self.top.shapes(self.layout.layer(100, 1 + fails)).insert(box)
        self.top.shapes(self.layout.layer(100, 3)).insert(db.Text(rule, box.left, box.bottom))
        cell = self.top if trans is None else self.layout.cell("part") or self.layout.create_cell("part")
        if trans is not None:
            self.top.insert(db.CellInstArray(cell.cell_index(), here * trans))
        if trans is None or cell.is_empty():
            for shape in shapes:
                cell.shapes(self.layout.layer(1, 0)).insert(shape if trans is not None else here * shape)
        self._at += 2000
        return box

    def write(self, folder: Path, name: str = "layouts/a.gds") -> None:
        (folder / name).parent.mkdir(exist_ok=True)
        self.layout.write(str(folder / name))


@pytest.fixture
def sheet() -> Sheet:
    return Sheet()


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A deck on what lies in ``layouts``."""
    monkeypatch.setenv("COLUMNS", "300")

    def runs(deck: str, *arguments: str, head: str = HEAD) -> pytest.RunResult:
        (pytester.path / "my.drc").write_text(head + deck)
        return pytester.runpytest_inprocess("--deck=my.drc", "layouts", *arguments)

    return runs


def table(folder: Path, text: str, **layouts: Iterable[db.Box]) -> None:
    """Layouts of shapes on 1/0 and their labels."""
    (folder / "layouts").mkdir(exist_ok=True)
    (folder / "layouts/labels.csv").write_text(text)
    for name, shapes in layouts.items():
        layout = db.Layout()
        layer, cell = layout.layer(1, 0), layout.create_cell("top")
        for shape in shapes:
            cell.shapes(layer).insert(shape)
        layout.write(str(folder / f"layouts/{name}.gds"))


def test_deck_that_does_what_all_labels_say_is_met(run, sheet, pytester):
    sheet.mark("m1.1", False, WIDE)
    sheet.mark("m1.1", True, NARROW)
    sheet.write(pytester.path)
    result = run(WIDTH, *MARKED)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["iclayout: deck my.drc; 2 labels of 1 rules in 1 layouts", "my.drc: 1 met"])


def test_violation_elsewhere_does_not_stand_for_a_missed_one(run, sheet, pytester):
    sheet.mark("m1.1", True, NARROW)
    sheet.mark("m1.1", True, db.Box(100, 100, 239, 800))
    sheet.write(pytester.path)
    result = run(WIDTH.replace("0.14", "0.13"), *MARKED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "my.drc: m1.1: 1 missed violation, 1 met of 2 labels",
            "missed violation: layouts/a.gds box (2.000,0.000;3.000,1.000) µm: labelled fail, *",
            "  picture: .iclayout/results/.decks/my.drc/m1.1-1.png",
            "m1.1  missed violation       2    1       1      0      0  look at the picture*",
        ]
    )
    assert shown_in(pytester.path / ".iclayout/results/.decks/my.drc/m1.1-1.png")


def test_false_violation_is_told_with_its_place(run, sheet, pytester):
    sheet.mark("m1.1", False, WIDE)
    sheet.mark("m1.1", True, NARROW)
    sheet.write(pytester.path)
    result = run(WIDTH.replace("0.14", "0.35"), *MARKED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "my.drc: m1.1: 1 false violation, 1 met of 2 labels",
            "false violation: layouts/a.gds box (0.000,0.000;1.000,1.000) µm: labelled pass, the deck reports one at "
            "(0.100,0.100;0.400,0.800) µm",
            "  picture: .iclayout/results/.decks/my.drc/m1.1-1.png",
        ]
    )
    assert shown_in(pytester.path / ".iclayout/results/.decks/my.drc/m1.1-1.png")


def shown_in(path: Path) -> bool:
    """Whether a picture has something framed in red."""
    picture = colors(path)
    return any(color >> 16 & 0xFF > 0xB0 and color & 0xFFFF < 0x4040 for color in picture)


def colors(path: Path) -> set[int]:
    import klayout.lay as lay

    picture = lay.PixelBuffer.read_png(str(path))
    return {picture.pixel(x, y) for x in range(picture.width()) for y in range(picture.height())}


def test_rule_without_a_category_is_not_implemented_though_it_is_labelled_pass(run, sheet, pytester):
    sheet.mark("m1.1", False, WIDE)
    sheet.write(pytester.path)
    result = run('m1.width(0.14).output("M1_1")\n', *MARKED)
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        [
            "my.drc: m1.1: not implemented: the deck's reports have no category m1.1; similar ones: M1_1",
            "my.drc: 1 not implemented, 1 not tested",
        ]
    )


def test_category_that_no_label_names_is_a_warning_and_with_strict_a_failure(run, sheet, pytester):
    sheet.mark("m1.1", False, WIDE)
    sheet.write(pytester.path)
    deck = WIDTH + 'm1.space(0.14).output("m1.2")\n'
    result = run(deck, *MARKED)
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*DeckWarning: my.drc: not tested by the layouts: m1.2"])
    result.stdout.fnmatch_lines(
        ["my.drc: 1 met, 1 not tested", "warning: my.drc: not tested by the layouts: m1.2"], consecutive=True
    )
    strict = run(deck, *MARKED, "--deck-strict")
    assert strict.ret == 1
    strict.stdout.fnmatch_lines(["FAILED my.drc::every_category_is_labelled - my.drc: not tested by the layouts: m1.2"])


def test_deck_that_crashes_on_a_clean_layout_is_an_error(run, pytester):
    table(pytester.path, "filename,m1.1\ngood.gds,0\nbad.gds,1\n", good=[WIDE], bad=[NARROW])
    result = run(WIDTH + 'raise "boom" if m1.width(0.2).is_empty?\n')
    assert result.ret == 1
    result.stdout.fnmatch_lines(
        ["my.drc: m1.1: 1 error, 1 met of 2 labels", "error: layouts/good.gds: error: ERROR: In my.drc: boom*"]
    )


def test_deck_that_runs_to_its_end_nowhere_has_no_tested_categories(run, pytester):
    table(pytester.path, "filename,m1.1\ngood.gds,0\n", good=[WIDE])
    result = run(WIDTH + "exit!(0)\n")
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["my.drc: 1 error", "m1.1  error*"])


def test_deck_that_takes_too_long_is_an_error(run, pytester):
    table(pytester.path, "filename,m1.1\ngood.gds,0\n", good=[WIDE])
    result = run(WIDTH + "sleep 30\n", "--deck-timeout=1", "-k", "m1.1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["error: layouts/good.gds: timeout: did not end within 1 s"])


def test_layout_that_only_the_deck_reads_and_cannot_is_an_error(run, pytester):
    table(pytester.path, "filename,m1.1\ngood.gds,0\nbad.gds,0\n", good=[WIDE])
    (pytester.path / "layouts/bad.gds").write_bytes(b"no layout")
    result = run(WIDTH, "-k", "m1.1")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["my.drc: m1.1: 1 error, 1 met of 2 labels", "error: layouts/bad.gds: error: *"])


def test_labels_of_whole_layouts_and_what_is_not_labelled(run, pytester):
    table(
        pytester.path,
        "filename,m1.1,m1.2\ngood.gds,0,\nbad.gds,1,0\nfalse.gds,0,0\n",
        good=[WIDE], bad=[NARROW], false=[NARROW],
    )  # fmt: skip
    result = run(WIDTH + 'm1.space(0.14).output("m1.2")\n')
    result.stdout.fnmatch_lines(
        [
            "my.drc: m1.1: 1 false violation, 2 met of 3 labels",
            "false violation: layouts/false.gds: labelled pass, the deck reports one at (0.100,0.100;0.200,0.800) µm",
            "my.drc: 1 met, 1 false violation",
        ]
    )
    assert shown_in(pytester.path / ".iclayout/results/.decks/my.drc/m1.1-1.png")


def test_what_a_deck_in_deep_mode_reports_once_counts_at_each_place_of_the_cell(run, sheet, pytester):
    for trans in (db.Trans(0, 0), db.Trans(1, False, 1000, 0), db.Trans(0, True, 0, 1000)):
        sheet.mark("m1.1", True, NARROW, trans=trans)
    # Makes a variant of the cell for places that are turned: upright, the bar becomes wide enough.
    deck = WIDTH + 'm1.sized(0.2, 0).width(0.35).output("m1.3")\n'
    sheet.mark("m1.3", False, NARROW, trans=db.Trans(0, 0))
    for _ in range(2):
        sheet.mark("m1.3", True, NARROW, trans=db.Trans(1, False, 1000, 0))
    sheet.write(pytester.path)
    for head in (HEAD, "deep\n" + HEAD):
        result = run(deck, *MARKED, head=head)
        assert result.ret == 0, result.outlines


def test_what_a_deck_reports_of_a_cell_alone_counts_at_each_place_of_the_cell(run, sheet, pytester):
    for trans in (db.Trans(0, 0), db.Trans(1, False, 1000, 0)):
        sheet.mark("m1.1", True, NARROW, trans=trans)
    sheet.write(pytester.path)
    assert run(WIDTH, *MARKED, head=HEAD.replace("source($input)", 'source($input, "part")')).ret == 0


def test_markers_of_another_rule_in_a_box_count_nowhere(run, sheet, pytester):
    sheet.mark("m1.2", False, NARROW)
    sheet.mark("m1.1", True, NARROW)
    sheet.write(pytester.path)
    assert run(WIDTH + 'm1.space(0.14).output("m1.2")\n', *MARKED).ret == 0


def test_marker_without_a_place_is_told(run, sheet, pytester):
    sheet.mark("m1.1", False, WIDE)
    sheet.write(pytester.path)
    deck = WIDTH + (
        "rdb = @output_rdb\n"
        "item = rdb.create_item(rdb.each_cell.next.rdb_id, rdb.category_by_path(\"'m1.1'\").rdb_id)\n"
        'item.add_value("somewhere")\n'
    )
    result = run(deck, *MARKED)
    result.stdout.fnmatch_lines(["warning: layouts/a.gds: 1 markers of m1.1 have no place, so they count for no box"])
    assert result.ret == 0
    assert run(deck, *MARKED, "--deck-strict").ret == 1


@pytest.mark.parametrize("name", ["a.oas", "a.gds.gz", "a.oas.gz"])
def test_oasis_and_compressed_layouts(run, sheet, pytester, name):
    sheet.mark("m1.1", True, NARROW)
    sheet.mark("m1.1", False, WIDE)
    plain = f"layouts/{name.removesuffix('.gz')}"
    sheet.write(pytester.path, plain)
    if name.endswith(".gz"):
        path = pytester.path / plain
        path.with_name(name).write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    assert run(WIDTH, *MARKED).ret == 0
    assert run('m1.output("m1.1")\n', *MARKED).ret == 1


def test_included_files_from_outside_the_deck_s_folder_need_a_root(run, sheet, pytester):
    sheet.mark("m1.1", True, NARROW)
    sheet.write(pytester.path)
    (pytester.path / "shared").mkdir()
    (pytester.path / "shared/rules.rb").write_text(WIDTH)
    (pytester.path / "decks").mkdir()
    (pytester.path / "decks/top.drc").write_text(HEAD + "# %include ../shared/rules.rb\n")
    arguments = ("--deck=decks/top.drc", "layouts", *MARKED)
    refused = pytester.runpytest_inprocess(*arguments)
    assert refused.ret == pytest.ExitCode.USAGE_ERROR
    assert "name a root above both" in refused.stderr.str()
    pytester.runpytest_inprocess(*arguments, "--deck-root=.").assert_outcomes(passed=2)


def test_defined_variables_reach_the_deck(run, pytester):
    table(pytester.path, "filename,m1.1\nbad.gds,1\n", bad=[NARROW])
    head = 'source($input)\nreport($title, $report)\nm1 = input(1, 0)\nraise $title if $title != %q(a "b" #{1} µ)\n'
    variables = ("--deck-define=report={output}", '--deck-define=title=a "b" #{1} µ', "--deck-define=least=0.14")
    assert run('m1.width($least.to_f).output("m1.1")\n', *variables, head=head).ret == 0


def test_reports_are_kept_a_file_for_each_deck_and_layout(run, pytester):
    table(pytester.path, "filename,m1.1\ngood.gds,0\nbad.gds,1\n", good=[WIDE], bad=[NARROW])
    assert run(WIDTH, "--rdb-dir=kept").ret == 0
    assert counts_below(pytester.path / "kept") == {
        "layouts_bad.gds.lyrdb": {"m1.1": 1},
        "layouts_good.gds.lyrdb": {"m1.1": 0},
    }
    (pytester.path / "second.drc").write_text(HEAD + WIDTH)
    assert run(WIDTH, "--deck=second.drc", "--rdb-dir=both").ret == 0
    assert (
        sorted(str(Path(name).parent) for name in counts_below(pytester.path / "both")) == ["my"] * 2 + ["second"] * 2
    )


def counts_below(folder: Path) -> dict[str, dict[str, int]]:
    return {str(path.relative_to(folder)): read_report(path).counts for path in sorted(folder.rglob("*.lyrdb"))}


def test_two_decks_are_judged_apart(run, pytester):
    table(pytester.path, "filename,m1.1\nbad.gds,1\n", bad=[NARROW])
    (pytester.path / "second.drc").write_text(HEAD + WIDTH.replace("0.14", "0.05"))
    result = run(WIDTH, "--deck=second.drc")
    result.assert_outcomes(passed=3, failed=1)
    result.stdout.fnmatch_lines(["my.drc: 1 met", "second.drc: 1 missed violation", "second.drc::m1.1 *", "m1.1 *"][:2])


def test_junit_xml_has_a_test_case_and_a_status_a_rule(run, pytester):
    table(pytester.path, "filename,m1.1,m1.2\nbad.gds,1,1\n", bad=[NARROW])
    run(WIDTH + 'm1.space(0.14).output("m1.2")\n', "--junitxml=rules.xml")
    cases = ElementTree.parse(pytester.path / "rules.xml").getroot().iter("testcase")
    assert {
        case.get("name"): [one.get("value") for one in case.iter("property") if one.get("name") == "deck_status"]
        for case in cases
    } == {"m1.1": ["met"], "m1.2": ["missed violation"], "every_category_is_labelled": []}


def test_workers_run_a_deck_once_on_each_layout_and_say_the_same(run, pytester):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    rules = [f"w{number}" for number in range(6)]
    table(pytester.path, f"filename,{','.join(rules)}\nbad.gds{',1' * 6}\n", bad=[NARROW])
    deck = "".join(f'm1.width({0.09 + 0.01 * number}).output("{rule}")\n' for number, rule in enumerate(rules))
    deck += 'm1.width(0.5 + rand).output("once#{rand(1 << 60)}")\n'
    (pytester.path / "my.drc").write_text(HEAD + deck)
    result = pytester.runpytest_subprocess("--deck=my.drc", "layouts", "-n2", "--rdb-dir=kept")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["my.drc: 4 met, 2 missed violation, 1 not tested"])
    # The deck reports a category of another name each time that it is run.
    (counts,) = counts_below(pytester.path / "kept").values()
    (once,) = (name for name in counts if name.startswith("once"))
    result.stdout.fnmatch_lines([f"warning: my.drc: not tested by the layouts: {once}"])


def test_nothing_is_left_behind(run, pytester, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    table(pytester.path, "filename,m1.1\nbad.gds,1\n", bad=[NARROW])
    assert run(WIDTH).ret == 0
    assert list(tmp_path.iterdir()) == []

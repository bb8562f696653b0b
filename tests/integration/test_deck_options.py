"""What is wrong with the arguments of ``pytest --deck`` is said before anything runs; these need no application."""

from __future__ import annotations

import klayout.db as db
import pytest

import pytest_iclayout.deck_items  # loaded here, as runs within this process drop what they were the first to import
from pytest_iclayout.drc.decks import engines

MARKED = ("--deck-pass-layer=100/1", "--deck-fail-layer=100/2", "--deck-name-layer=100/3")


@pytest.fixture
def folder(pytester):
    """A deck, and ``layouts`` with one box that is marked to fail w."""
    layout = db.Layout()
    top = layout.create_cell("top")
    top.shapes(layout.layer(100, 2)).insert(db.Box(0, 0, 1000, 1000))
    top.shapes(layout.layer(100, 3)).insert(db.Text("w", 10, 10))
    (pytester.path / "layouts").mkdir()
    layout.write(str(pytester.path / "layouts/a.gds"))
    (pytester.path / "my.drc").write_text('source($input)\nreport("r", $output)\n')
    return pytester.path


@pytest.fixture
def run(pytester, folder, monkeypatch):
    """pytest as on a machine that can run decks; none of these runs gets so far."""
    monkeypatch.setattr(pytest_iclayout.deck_items, "_require_application", lambda config: None)
    return pytester.runpytest_inprocess


def usage_error(result, shown) -> str:
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    return shown(result)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--deck=no.drc"], "--deck: no such deck file: {folder}/no.drc"),
        (["--deck=layouts"], "--deck: no such deck file: {folder}/layouts"),
        (["--deck=my.drc", "--deck-labels=no.csv"], "--deck-labels: no such file: {folder}/no.csv"),
        (["--deck=my.drc", "--deck-root=no"], "--deck-root: no such folder: {folder}/no"),
        (["--deck=my.drc", "--deck-root=layouts"], "--deck: {folder}/my.drc: not below the root {folder}/layouts"),
        (["--deck=my.drc", "--rdb-dir=/proc/x"], "--rdb-dir: /proc/x cannot be made: No such file or directory"),
        (["--deck=my.drc", "--rdb-dir=my.drc"], "--rdb-dir: {folder}/my.drc is not a folder"),
        (["--deck=my.drc", "--deck-pass-layer=met1"], "--deck-pass-layer: 'met1' is not a layer; write LAYER/DATATYPE"),
        (["--deck=my.drc", "--deck-timeout=0"], "--deck-timeout: '0' is not a whole number from 1 to 1000000"),
        (["--deck=my.drc", "--deck-memory=1e3"], "--deck-memory: '1e3' is not a whole number from 64 to 1000000"),
        (["--deck=my.drc", "--deck-define=thr"], "--deck-define: 'thr' is no definition; write NAME=VALUE"),
        (["--deck=my.drc", "--deck-define=output=x"], "--deck-define: 'output' is no variable that can be set"),
        (["--deck=my.drc", "--deck-define=a-b=x"], "--deck-define: 'a-b' is no variable that can be set"),
        (["--deck=my.drc", "--deck-pass-layer=1/1"], "need texts that name the rules: --deck-name-layer"),
        (["--deck=my.drc", "--deck-name-layer=1/1"], "name boxes: say which layer these are on by --deck-pass-layer"),
        (
            ["--deck=my.drc", "--deck-box-layer=1/1", "--deck-name-layer=1/2"],
            "--deck-box-layer needs texts that say pass or fail",
        ),
        (
            ["--deck=my.drc", "--deck-pass-layer=1/1", "--deck-fail-layer=1/1", "--deck-name-layer=1/2"],
            "each needs a layer of its own",
        ),
        (["--deck-labels=my.drc"], "--deck-labels says something of decks, and no --deck is given"),
        (["--deck-fail-layer=1/1", "--deck-name-layer=1/2"], "of decks, and no --deck is given"),
        (["--rdb-dir=x"], "--rdb-dir says something of decks, and no --deck is given"),
    ],
)
def test_argument_that_cannot_be_used(run, folder, shown, arguments, message):
    assert message.format(folder=folder) in usage_error(run("layouts", *arguments), shown)


def test_included_file_that_is_missing(run, folder, shown):
    (folder / "my.drc").write_text("# %include no.rb\n")
    text = usage_error(run("--deck=my.drc", "layouts", *MARKED), shown)
    assert f"--deck: {folder}/no.rb: cannot be read, which my.drc includes: No such file or directory" in text


@pytest.mark.parametrize("arguments", [[], ["--deck-fail-layer=7/1", "--deck-name-layer=7/2"]])
def test_layouts_without_a_label_are_no_success(run, shown, arguments):
    text = usage_error(run("--deck=my.drc", "layouts", *arguments), shown)
    assert "--deck: no labels found in layouts; label layouts in a labels.csv" in text
    for option in ("--deck-labels", "--deck-pass-layer", "--deck-fail-layer", "--deck-name-layer"):
        assert option in text


def test_without_an_application_it_is_said_what_to_install(pytester, folder, shown, monkeypatch):
    monkeypatch.setenv("PATH", str(folder))
    text = usage_error(pytester.runpytest_inprocess("--deck=my.drc", "layouts", *MARKED), shown)
    assert "--deck: no KLayout application 0.28 or newer on PATH" in text
    assert engines.INSTALL in text


def test_two_decks_of_one_name_would_share_reports(run, folder, shown):
    (folder / "other").mkdir()
    (folder / "other/my.drc").write_text("")
    text = usage_error(run("--deck=my.drc", "--deck=other/my.drc", "--rdb-dir=r", "layouts", *MARKED), shown)
    assert "--rdb-dir: two decks are called my; run them apart" in text


def collected(result) -> list[str]:
    return [line for line in result.outlines if "::" in line]


def test_rules_of_all_labels_are_items_of_each_deck(run, folder):
    (folder / "layouts/labels.csv").write_text("filename,m1.1,w\na.gds,0,1\n")
    (folder / "second.drc").write_text("")
    result = run("--collect-only", "-q", "--deck=my.drc", "--deck=second.drc", "layouts", *MARKED)
    assert collected(result) == [
        f"{deck}::{name}" for deck in ("my.drc", "second.drc") for name in ("m1.1", "w", "every_category_is_labelled")
    ]


@pytest.mark.parametrize("place", ["layouts", "layouts/a.gds"])
def test_layouts_are_named_by_folder_or_by_file(run, place):
    result = run("--collect-only", "-q", "--deck=my.drc", place, *MARKED)
    assert collected(result) == ["my.drc::w", "my.drc::every_category_is_labelled"]


def test_one_rule_is_selected_by_its_node_id(run):
    assert collected(run("--collect-only", "-q", "--deck=my.drc", "layouts", "my.drc::w", *MARKED)) == ["my.drc::w"]


def test_items_are_marked_and_known_by_name(run):
    assert collected(run("--collect-only", "-q", "-m", "deck", "-k", "w", "--deck=my.drc", "layouts", *MARKED)) == [
        "my.drc::w"
    ]


def test_run_without_decks_has_no_part_in_layouts_and_tables(pytester, folder):
    (folder / "layouts/labels.csv").write_text("filename,w\na.gds,1\n")
    assert pytester.runpytest_inprocess("--strict-markers").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_broken_layout_and_table_are_one_error_each_and_the_rest_is_collected(run, folder, shown):
    (folder / "layouts/bad.gds").write_bytes(b"no layout")
    (folder / "layouts/labels.csv").write_text("filename,w\na.gds,yes\n")
    result = run("--collect-only", "--deck=my.drc", "layouts", *MARKED)
    text = shown(result)
    assert result.ret != 0
    assert "my.drc::layouts/bad.gds" in text
    assert "layouts/bad.gds: not a readable layout" in text
    assert "labels.csv:2: column w: 'yes' is neither 0" in text
    assert "2 errors" in text
    assert "<RuleItem w>" in text


def test_two_layouts_whose_names_differ_in_a_slash_would_share_a_report(run, folder, shown):
    (folder / "layouts" / "a").mkdir()
    for name in ("a/x.gds", "a_x.gds"):
        (folder / "layouts" / name).write_bytes(b"")
    (folder / "layouts" / "labels.csv").write_text("filename,W\na/x.gds,0\na_x.gds,1\n")
    text = usage_error(run("--deck=my.drc", "layouts", "--rdb-dir=r"), shown)
    assert "--rdb-dir: two layouts would write layouts_a_x.gds.lyrdb; run them apart" in text

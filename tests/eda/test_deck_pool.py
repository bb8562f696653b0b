"""The deck pool with the real KLayout application: what counts as run, what does not, and what it survives."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import klayout.db as db
import pytest

from pytest_iclayout.drc.decks.deck import Deck, DeckError
from pytest_iclayout.drc.decks.execution import Status
from pytest_iclayout.drc.decks.pool import DeckPool, run_all
from pytest_iclayout.drc.decks.store import ExecutionStore
from pytest_iclayout.drc.report import read_report
from pytest_iclayout.sandbox.fork_server import JobResult
from pytest_iclayout.sandbox.policy import Limits, Policy

pytestmark = pytest.mark.eda

HEAD = 'source($input)\nreport("suite", $output)\nm1 = input(1, 0)\n'
WIDTH = Deck.of_text(HEAD + 'm1.width(0.3).output("W", "narrow")\nm1.space(0.3).output("S", "near")\n')


def bars(*widths: int) -> bytes:
    """A layout of vertical bars on 1/0, 1 µm apart, of these widths in dbu (1 nm)."""
    layout = db.Layout()
    cell, layer = layout.create_cell("TOP"), layout.layer(1, 0)
    for number, width in enumerate(widths):
        cell.shapes(layer).insert(db.Box(0, 0, width, 2000).moved(number * 2000, 0))
    options = db.SaveLayoutOptions()
    options.format = "GDS2"
    options.gds2_write_timestamps = False
    return bytes(layout.write_bytes(options))


def test_bits_and_items_are_those_of_the_layout(pool: DeckPool) -> None:
    narrow, wide, two = run_all(pool, WIDTH, [bars(200), bars(400), bars(200, 200)])
    assert (narrow.items, narrow.violated) == ({"W": 1, "S": 0}, {"W"})
    assert (wide.items, wide.violated) == ({"W": 0, "S": 0}, frozenset())
    assert two.items["W"] == 2


def test_a_batch_gives_what_single_runs_give(pool: DeckPool) -> None:
    layouts = [bars(100 + 20 * number) for number in range(20)]
    single = run_all(pool, WIDTH, layouts)
    batched = [one.result() for one in pool.run(WIDTH, layouts, batch=True)]
    assert [one.items for one in batched] == [one.items for one in single]
    assert all(one.batched for one in batched)


def test_one_layout_that_cannot_be_read_does_not_spoil_its_batch(pool: DeckPool) -> None:
    good, bad, also = [one.result() for one in pool.run(WIDTH, [bars(200), b"no layout", bars(400)], batch=True)]
    assert (good.items["W"], also.items["W"]) == (1, 0)
    assert bad.status is Status.ERROR
    assert bad.reason


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("raise 'on purpose'", Status.ERROR, "on purpose"),
        ("nil.no_such_thing", Status.ERROR, "no_such_thing"),
        ("m1.width(", Status.ERROR, "SyntaxError"),
        ("m1.output('W')\nexit 3", Status.ERROR, "status 3"),
        ("m1.output('W')\nexit!(0)", Status.ERROR, "ended early: 0 of 1"),
        ("report('x', 'elsewhere.lyrdb')\nm1.output('W')", Status.ERROR, "no report at $output"),
        ("loop {}", Status.TIMEOUT, "0.5 s"),
        ("Kernel.syscall(234, Process.pid, Process.pid, 9)\nsleep 5", Status.KILLED, "SIGKILL"),
    ],
)
@pytest.mark.usefixtures("contained_klayout")
def test_what_did_not_run_to_its_end_says_nothing_of_the_layout(code: str, status: Status, reason: str) -> None:
    with DeckPool(children=1, limits=Limits(wall_s=0.5 if "loop" in code else 20)) as pool:
        (found,) = run_all(pool, Deck.of_text(HEAD + code), [bars(200)])
    assert (found.status, found.items, found.ok) == (status, {}, False)
    assert reason in found.reason


def test_a_job_that_could_not_begin_is_the_machines_fault(pool: DeckPool, monkeypatch: pytest.MonkeyPatch) -> None:
    make = Policy.job_folder

    def gone(self: Policy, path: Path) -> Policy:
        policy = make(self, path)
        path.rmdir()
        return policy

    with monkeypatch.context() as patched:
        patched.setattr(Policy, "job_folder", gone)
        (found,) = run_all(pool, WIDTH, [bars(200)])
    assert (found.status, found.infrastructure) == (Status.ERROR, True)
    assert "could not begin" in found.reason


def test_a_job_that_is_killed_before_it_begins_is_said_to_be(pool: DeckPool) -> None:
    killed = JobResult(begun=False, signal=signal.SIGKILL)
    found = pool._executed(killed, 0, [], Path("out"), "", None)
    assert (found.infrastructure, found.reason) == (True, "the job could not begin: killed by SIGKILL")


def test_a_deck_that_ends_as_a_job_that_could_not_begin_is_at_fault_itself(pool: DeckPool) -> None:
    (found,) = run_all(pool, Deck.of_text(HEAD + "exit!(125)"), [bars(200)])
    assert (found.status, found.infrastructure) == (Status.ERROR, False)


def test_a_folder_that_somebody_removes_meanwhile_is_not_a_missing_report(pool: DeckPool) -> None:
    (running,) = pool.run(Deck.of_text(HEAD + "sleep 1"), [bars(200)])
    jobs = pool._folder.path / "jobs"
    deadline = time.monotonic() + 10
    while not (folders := list(jobs.iterdir())) and time.monotonic() < deadline:
        time.sleep(0.05)
    shutil.rmtree(folders[0])
    found = running.result()
    assert (found.status, found.infrastructure) == (Status.ERROR, True)


@pytest.mark.parametrize("said", ['{"code":"x"}', '"code"', "5", "[]", '{"code":99999999999999999999}'])
def test_a_deck_that_talks_on_the_pipe_of_its_status_is_judged_and_hangs_nobody(pool: DeckPool, said: str) -> None:
    talk = f"(3..60).each {{ |fd| IO.for_fd(fd, autoclose: false).syswrite('{said}' + 10.chr) rescue nil }}\n"
    (found,) = run_all(pool, Deck.of_text(HEAD + talk + "exit!(0)"), [bars(200)])
    assert (found.status, found.infrastructure) == (Status.ERROR, False)
    assert run_all(pool, WIDTH, [bars(200)])[0].ok


@pytest.mark.parametrize("place", [".", "..", "../.."])
def test_a_deck_that_closes_folders_is_at_fault_itself_and_harms_no_other(pool: DeckPool, place: str) -> None:
    (found,) = run_all(pool, Deck.of_text(HEAD + f"File.chmod(0, '{place}')"), [bars(200)])
    assert (found.status, found.infrastructure) == (Status.ERROR, False)
    assert "Operation not permitted" in found.reason
    assert run_all(pool, WIDTH, [bars(200)])[0].ok


def test_a_partial_report_of_a_failed_deck_is_not_read(pool: DeckPool) -> None:
    (found,) = run_all(pool, Deck.of_text(HEAD + "m1.width(0.3).output('W')\nnil.nothing"), [bars(200)])
    assert (found.status, found.items) == (Status.ERROR, {})


def test_reasons_name_the_deck_and_no_place_of_ours(pool: DeckPool) -> None:
    (found,) = run_all(pool, Deck.of_text(HEAD + "nil.nothing", "mine.drc"), [bars(200)])
    assert "mine.drc" in found.reason
    assert "iclayout-pool" not in found.reason + found.log


def test_reasons_name_the_line_and_no_address_which_would_differ_from_run_to_run(pool: DeckPool) -> None:
    deck = Deck.of_text(HEAD + "def narrow(layer)\n  layer.widht(0.3)\nend\nnarrow(m1)\n")
    reasons = {one.reason for one in run_all(pool, deck, [bars(200), bars(300), bars(400)])}
    assert len(reasons) == 1
    (reason,) = reasons
    assert re.fullmatch(
        r"ERROR: In deck\.drc: undefined method [`']widht' for .*DRC::DRCLayer>? "
        r"\(Did you mean\? width\) \(at line 5\)",
        reason,
    )


def test_an_exception_that_lies_about_its_place_is_an_error_all_the_same(pool: DeckPool) -> None:
    deck = Deck.of_text(HEAD + 'class E < StandardError\n  def backtrace; raise "no"; end\nend\nraise E, "mine"\n')
    (found,) = run_all(pool, deck, [bars(200)])
    assert (found.status, found.reason) == (Status.ERROR, "ERROR: In deck.drc: mine")


def test_a_text_that_is_not_utf_8_is_a_deck_like_another(pool: DeckPool) -> None:
    (found,) = run_all(pool, Deck.of_text(HEAD.encode() + b'm1.output("A", "\xff\xfe")\n'), [bars(200)])
    assert found.status in (Status.OK, Status.ERROR)
    assert run_all(pool, WIDTH, [bars(200)])[0].ok


def test_a_thousand_categories_are_all_read(pool: DeckPool) -> None:
    deck = Deck.of_text(HEAD + '1000.times { |n| m1.width(0.001 * n).output("W#{n}") }')
    (found,) = run_all(pool, deck, [bars(500)])
    assert len(found.items) == 1000
    assert len(found.violated) == sum(count > 0 for count in found.items.values())
    assert (found.items["W499"], found.items["W502"]) == (0, 1)


@pytest.mark.usefixtures("contained_klayout")
def test_a_report_of_a_hundred_megabytes_is_an_error_within_the_limit_and_read_beyond_it() -> None:
    deck = Deck.of_text(
        HEAD + "600_000.times { |n| m1.data.insert(RBA::Box.new(0, 0, 10, 10 + n)) }\nm1.raw.output('A')"
    )
    with DeckPool(children=1, limits=Limits(file_bytes=8 << 20)) as small:
        (found,) = run_all(small, deck, [bars(500)])
    assert (found.status, found.items) == (Status.KILLED, {})
    with DeckPool(children=1, limits=Limits(file_bytes=512 << 20)) as large:
        (found,) = run_all(large, deck, [bars(500)])
    assert found.items["A"] > 500_000, found.reason


def test_reports_are_kept_where_asked(pool: DeckPool, tmp_path: Path) -> None:
    kept = tmp_path / "one.lyrdb"
    (done,) = pool.run(WIDTH, [bars(200)], reports=[kept])
    assert done.result().ok
    assert read_report(kept).counts == {"W": 1, "S": 0}
    (done,) = pool.run(WIDTH, [bars(200)], reports=[tmp_path / "no" / "such" / "folder.lyrdb"])
    assert done.result().status is Status.ERROR
    assert "folder.lyrdb" in done.result().reason


def test_a_report_that_cannot_be_kept_leaves_the_old_one(
    pool: DeckPool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_room(source: Path, target: Path) -> None:
        raise OSError(28, "No space left on device", str(target))

    kept = tmp_path / "one.lyrdb"
    kept.write_text("the report of an earlier run")
    monkeypatch.setattr(shutil, "copyfile", no_room)
    (done,) = pool.run(WIDTH, [bars(200)], reports=[kept])
    assert done.result().status is Status.ERROR
    assert [path.read_text() for path in tmp_path.iterdir()] == ["the report of an earlier run"]


def test_what_a_deck_says_to_the_side_is_in_the_log(pool: DeckPool) -> None:
    (found,) = run_all(pool, Deck.of_text(HEAD + "STDERR.puts 'to the side'\nputs 'aloud'\n"), [bars(200)])
    assert found.log == "to the side\naloud\n"


def test_a_layout_that_is_none_is_not_named_by_a_place_of_ours(pool: DeckPool) -> None:
    (found,) = run_all(pool, WIDTH, [b"no layout"])
    assert "format: the layout in" in found.reason


def test_a_killed_server_loses_no_job(pool: DeckPool) -> None:
    before = pool.restarts
    futures = [one for _ in range(10) for one in pool.run(WIDTH, [bars(200), bars(400)])]
    os.kill(_tree(pool)[0], signal.SIGKILL)
    assert [one.result().items["W"] for one in futures] == [1, 0] * 10
    assert pool.restarts == before + 1


def test_a_killed_child_is_an_error_of_its_job_alone(pool: DeckPool) -> None:
    sleeping = Deck.of_text(HEAD + "File.write('begun', '')\nsleep 15")
    (victim,) = pool.run(sleeping, [bars(200)])
    deadline = time.monotonic() + 15
    while not any(pool._folder.path.rglob("begun")) and time.monotonic() < deadline:
        time.sleep(0.05)
    os.kill(_tree(pool)[1], signal.SIGKILL)
    assert victim.result(timeout=10).status is Status.KILLED
    assert run_all(pool, WIDTH, [bars(200)])[0].ok


@pytest.mark.usefixtures("contained_klayout")
def test_a_killed_program_leaves_no_server_no_child_and_no_folder(tmp_path: Path) -> None:
    script = tmp_path / "parent.py"
    script.write_text(
        "import sys, time\n"
        f"sys.path.insert(0, {str(Path(__file__).parents[2])!r})\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "from test_deck_pool import *\nfrom test_deck_pool import _tree\n"
        "pool = DeckPool(children=1)\n"
        "assert run_all(pool, WIDTH, [bars(200)])[0].ok\n"
        "pool.run(Deck.of_text(HEAD + 'sleep 50'), [bars(200)])\n"
        "time.sleep(0.5)\n"
        "print(pool._folder.path, *_tree(pool), flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    folder, *found = parent.stdout.readline().split()
    left = [int(pid) for pid in found]
    assert len(left) == 2, "the server and the sleeping deck run"
    parent.kill()
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 15
    while (any(_runs(pid) for pid in left) or Path(folder).exists()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in left if _runs(pid)] == []
    assert not Path(folder).exists()


def _tree(pool: DeckPool) -> list[int]:
    """The application's processes: the server, then its children. There may be a wall around them."""
    assert pool._server._process is not None
    found, waiting = [], [pool._server._process.pid]
    while waiting:
        pid = waiting.pop(0)
        for path in Path(f"/proc/{pid}/task").glob("*/children"):
            waiting += map(int, path.read_text().split())
        if _name_of(pid) == "klayout":
            found.append(pid)
    return found


def _name_of(pid: int) -> str:
    return Path(f"/proc/{pid}/comm").read_text().strip()


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_full_disk_is_an_error_that_says_so(pool: DeckPool, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_room(path: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(path))

    monkeypatch.setattr(Path, "write_bytes", no_room)
    (layout,) = run_all(pool, WIDTH, [bars(211)])
    assert layout.status is Status.ERROR
    assert "No space left on device" in layout.reason
    monkeypatch.undo()
    assert run_all(pool, WIDTH, [bars(211)])[0].ok


@pytest.mark.usefixtures("contained_klayout")
def test_known_executions_are_not_run_again(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"
    with DeckPool(children=1, store=ExecutionStore(store)) as pool:
        (first,) = run_all(pool, WIDTH, [bars(200)])
        (again,) = run_all(pool, WIDTH, [bars(200)])
        (other,) = run_all(pool, WIDTH, [bars(400)])
        changed = Deck.of_text(HEAD + 'm1.width(0.1).output("W")\n')
        (fourth,) = run_all(pool, changed, [bars(200)])
    assert (first.cached, again.cached, other.cached, fourth.cached) == (False, True, False, False)
    assert again.items == first.items
    with DeckPool(children=1, store=ExecutionStore(store)) as pool:
        assert run_all(pool, WIDTH, [bars(200)])[0].cached, "kept on disk"
    store.write_bytes(b"damaged" * 1000)
    with DeckPool(children=1, store=ExecutionStore(store)) as pool:
        assert run_all(pool, WIDTH, [bars(200)])[0].items == first.items


def test_a_deck_takes_its_includes_along(pool: DeckPool, tmp_path: Path) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "common.drc").write_text("def narrow(layer) = layer.width(0.3)\n")
    (tmp_path / "rules" / "main.drc").write_text(HEAD + '# %include ../common.drc\nnarrow(m1).output("W")\n')
    with pytest.raises(DeckError, match=r"includes \.\./common\.drc, which is not below"):
        Deck.of_file(tmp_path / "rules" / "main.drc")
    deck = Deck.of_file(tmp_path / "rules" / "main.drc", root=tmp_path)
    (found,) = run_all(pool, deck, [bars(200)])
    assert found.items == {"W": 1}, found.reason
    (tmp_path / "common.drc").write_text("def narrow(layer) = layer.width(0.1)\n")
    assert Deck.of_file(tmp_path / "rules" / "main.drc", root=tmp_path).digest != deck.digest


NESTED = (
    'File.binwrite($output, \'<?xml version="1.0" encoding="utf-8"?><report-database><description/><original-file/>'
    "<generator/><top-cell>TOP</top-cell><tags></tags><categories>'"
    " + '<category><name>a</name><description/><categories>' * COUNT + '</categories></category>' * COUNT"
    " + '</categories><cells></cells><items></items></report-database>')\n"
)


@pytest.mark.parametrize("count", [1500, 100_000])
def test_a_report_that_would_crash_its_reader_is_none(pool: DeckPool, count: int) -> None:
    code = NESTED.replace("COUNT", str(count))
    (found,) = run_all(pool, Deck.of_text(code), [bars(200)])
    assert (found.status, found.infrastructure) == (Status.ERROR, False)
    assert "more than 100 elements within one another" in found.reason


def test_a_compressed_report_is_none(pool: DeckPool) -> None:
    code = "require 'zlib'\nZlib::GzipWriter.open($output) { |file| file.write('<report-database/>' * 1000) }\n"
    (found,) = run_all(pool, Deck.of_text(code), [bars(200)])
    assert (found.status, found.infrastructure) == (Status.ERROR, False)
    assert "compressed" in found.reason


def test_a_deck_learns_nothing_from_where_and_when_its_layout_was_put(pool: DeckPool) -> None:
    """Layouts are staged by who knows the labels; a run has a file of its own, and is told of no other."""
    code = (
        HEAD + "puts $input.unpack1('H*'), File.stat($input).ino\n"
        "puts ObjectSpace.each_object(String).count { |text| text.b.match?(%r{layouts-\\h{32}}) }\n"
    )
    runs = [
        run_all(pool, Deck.of_text(code + "\n" * number), [bars(200)])[0].log.splitlines()[-3:] for number in (0, 1)
    ]
    (place, inode, told), (other_place, other_inode, _) = runs
    assert place != other_place
    assert inode != other_inode
    assert told == "0"

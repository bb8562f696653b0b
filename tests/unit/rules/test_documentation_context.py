"""The documentation for prompts is bounded, plain, read once for each version, and missed with a clear error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_iclayout.drc.decks import engines
from pytest_iclayout.drc.decks.engines import Engine
from pytest_iclayout.rules.documentation import DocumentationError, compact, documentation
from pytest_iclayout.rules.prompt import estimate_tokens

PAGE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE language SYSTEM "x.dtd">
<doc><title>Layers</title><keyword name="Layer"/>
<a name="widen"/><h2>"widen" - Makes &amp; returns wider shapes</h2>
<p>Usage:</p><ul><li><tt>layer.widen(d)</tt></li><li><tt>layer.widen(dx, dy)</tt></li></ul>
<p>First   words
with a <a href="#x">link</a>.</p>
<p>Second.<table><tr><td><img src="x.png"/></td></tr></table></p>
<p><ul><li>One way</li><li>Other way</li></ul></p>
<p><pre>
if true
  layer.widen(1.0)
end
</pre></p>
<a name="none"/><h2>"none" - Nothing</h2>
</doc>"""
WHOLE = """\
# layer
layer.widen(d); layer.widen(dx, dy)
  Makes & returns wider shapes
  First words with a link.
  Second.
  One way
  Other way
    if true
      layer.widen(1.0)
    end
none
  Nothing"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def program(folder: Path, text: str) -> Engine:
    """An application that is a shell script; ``$7`` is where it is told to write."""
    path = folder / "klayout"
    path.write_text(f"#!/bin/sh\necho x >> {folder}/started\nto=${{5#to=}}\n{text}\n", encoding="utf-8")
    path.chmod(0o755)
    return Engine(kind="klayout", program=str(path), version="0.99.1")


def giving(folder: Path, text: str) -> Engine:
    (folder / "given").write_text(text, encoding="utf-8")
    return program(folder, f'cp {folder}/given "$to"')


def test_page_becomes_calls_a_line_paragraphs_and_an_example_with_its_lines():
    assert compact({"drc_ref_layer": PAGE}) == WHOLE


def test_shorter_forms_keep_every_call_and_an_example_as_long_as_there_is_room():
    whole = estimate_tokens(WHOLE)
    shorter = compact({"drc_ref_layer": PAGE}, whole - 1)
    assert "First words" in shorter
    assert "Other way" not in shorter
    assert "layer.widen(1.0)" in shorter
    shortest = compact({"drc_ref_layer": PAGE}, 34)
    assert shortest.splitlines()[1:] == WHOLE.splitlines()[1:3] + WHOLE.splitlines()[-2:]


def test_limit_below_the_shortest_form_is_an_error_not_a_cut():
    with pytest.raises(DocumentationError, match=r"has \d+ tokens, more than 5"):
        compact({"drc_ref_layer": PAGE}, 5)


def test_pages_without_methods_or_that_are_no_pages_are_errors():
    with pytest.raises(DocumentationError, match="describe no method"):
        compact({"drc_ref_layer": "<doc/>"})
    with pytest.raises(DocumentationError, match="drc_ref_layer is not XML"):
        compact({"drc_ref_layer": "<doc>"})


def test_application_is_asked_once_for_each_version(tmp_path, own_cache):
    engine = giving(tmp_path, json.dumps({"drc_ref_layer": PAGE}))
    assert documentation("docs", engine) == WHOLE
    assert documentation("docs", engine) == WHOLE
    assert (tmp_path / "started").read_text() == "x\n"
    documentation("docs", engine.model_copy(update={"version": "0.99.2"}))
    assert (tmp_path / "started").read_text() == "x\nx\n"


def test_damaged_cache_is_read_anew(tmp_path, own_cache):
    engine = giving(tmp_path, json.dumps({"drc_ref_layer": PAGE}))
    documentation("docs", engine)
    (cached,) = own_cache.rglob("*.json")
    cached.write_text(cached.read_text()[:-10])
    assert documentation("docs", engine) == WHOLE


def test_cache_that_cannot_be_written_does_not_matter(tmp_path, own_cache):
    own_cache.write_text("a file, not a folder")
    assert documentation("docs", giving(tmp_path, json.dumps({"drc_ref_layer": PAGE}))) == WHOLE


@pytest.mark.parametrize(
    ("script", "said"),
    [
        pytest.param('echo "ERROR: no QFile" >&2; exit 1', "ERROR: no QFile", id="fails"),
        pytest.param("exit 0", "status 0", id="silent"),
        pytest.param('echo "{}" > "$to"', "no page on the methods of layers", id="no pages"),
        pytest.param('echo "[1" > "$to"', "gave no documentation", id="no JSON"),
    ],
)
def test_application_that_gives_none_is_named_with_what_it_said(tmp_path, own_cache, script, said):
    engine = program(tmp_path, script)
    with pytest.raises(DocumentationError, match="name a file") as error:
        documentation("docs", engine)
    assert said in str(error.value)
    assert engine.program in str(error.value)
    assert list(own_cache.rglob("*.json")) == []


def test_program_that_is_gone_is_an_error(tmp_path):
    with pytest.raises(DocumentationError, match="No such file"):
        documentation("docs", Engine(kind="klayout", program=str(tmp_path / "gone"), version="0.99.1"))


def test_strmrun_without_a_klayout_of_its_version_is_an_error_that_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("pytest_iclayout.rules.documentation.find_engines", lambda: ())
    engine = Engine(kind="strmrun", program="/opt/strmrun", version="0.99.1")
    with pytest.raises(DocumentationError, match=r"klayout of version 0\.99\.1 is installed beside /opt/strmrun"):
        documentation("docs", engine)
    with pytest.raises(DocumentationError, match="no program klayout is installed"):
        documentation("docs")


def test_nothing_is_asked_of_an_application_for_none_or_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(engines, "_found", None)
    given = tmp_path / "own.md"
    given.write_bytes("\ufeffµm\n".encode())
    assert documentation("none") == ""
    assert documentation(given) == "µm\n"


def test_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(DocumentationError, match=r"gone\.md: cannot be read: No such file"):
        documentation(tmp_path / "gone.md")
    (tmp_path / "latin.md").write_bytes(b"\xb5m")
    with pytest.raises(DocumentationError, match=r"latin\.md: is not text in UTF-8 \(byte 0\)"):
        documentation(tmp_path / "latin.md")

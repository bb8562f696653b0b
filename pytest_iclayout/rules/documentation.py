"""The documentation of the DRC language, for prompts: read out of the installed KLayout application when asked for.

None of it is shipped here; it is KLayout's own, under KLayout's licence.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal
from xml.etree import ElementTree

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.drc.decks.engines import Engine, find_engines
from pytest_iclayout.geometry.atomic import replacing
from pytest_iclayout.rules.prompt import estimate_tokens

MOST_TOKENS = 60_000
"""By the estimate of :mod:`.prompt`; about what published work put before the prompt."""
_PAGES = {
    "drc_ref_global": "functions",
    "drc_ref_source": "source",
    "drc_ref_layer": "layer",
    "drc_ref_drc": "operators of layer.drc(...)",
    "drc_ref_netter": "netter",
}
_SCRIPT = """
found = {}
$pages.split(",").each do |name|
  file = RBA::QFile.new(":/help/about/" + name + ".xml")
  file.open(RBA::QIODevice::ReadOnly) || next
  found[name] = file.readAll.to_s.dup.force_encoding("UTF-8")
end
require "json"
File.open($to, "w") { |stream| stream.write(JSON.generate(found)) }
"""
"""Run by the application, in which its help pages are resources."""
_TIMEOUT_S = 120


_EXAMPLE = "    "
"""What the lines of examples begin with."""
_FORMS = (None, 8, 6, 5, 4, 3, 2, 1, 0)
"""How many paragraphs of each method are shown, at most."""


class DocumentationError(RuntimeError):
    """The documentation cannot be had; the message says why and what else can be done."""


class _Entry(BaseModel):
    """A method: how it is called, what it does in a line, and all that is said of it, examples among it."""

    model_config = ConfigDict(frozen=True)

    usages: tuple[str, ...]
    brief: str
    paragraphs: tuple[str, ...]

    def text(self, most_paragraphs: int | None) -> str:
        shown = self.paragraphs[:most_paragraphs]
        if shown and not any(map(_is_example, shown)):
            shown += tuple(filter(_is_example, self.paragraphs))[:1]
        return "\n".join(
            ["; ".join(self.usages), f"  {self.brief}", *(one if _is_example(one) else f"  {one}" for one in shown)]
        )


def documentation(
    source: Literal["none", "docs"] | Path, engine: Engine | None = None, most_tokens: int = MOST_TOKENS
) -> str:
    """What goes into a prompt: nothing, the reference of the DRC language, or a file.

    ``docs`` is the reference of ``engine``, by default of any application that is installed: of each method the
    calls, a line, and as many paragraphs as ``most_tokens`` allow, with an example.
    A file (UTF-8) is taken whole.  Raises DocumentationError.
    """
    if source == "none":
        return ""
    if isinstance(source, Path):
        try:
            return source.read_text(encoding="utf-8-sig")
        except OSError as error:
            raise DocumentationError(f"{source}: cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise DocumentationError(f"{source}: is not text in UTF-8 (byte {error.start})") from error
    return compact(_pages(_application(engine)), most_tokens)


def compact(pages: Mapping[str, str], most_tokens: int = MOST_TOKENS) -> str:
    """The application's pages (XML by name) as plain text of a bounded size. Raises DocumentationError."""
    entries = {_PAGES[name]: list(_entries(pages[name], name)) for name in _PAGES if name in pages}
    if not any(entries.values()):
        raise DocumentationError("the application's pages describe no method of the DRC language")
    for most_paragraphs in _FORMS:
        text = "\n\n".join(
            "\n".join([f"# {title}", *(one.text(most_paragraphs) for one in several)])
            for title, several in entries.items()
        )
        if estimate_tokens(text) <= most_tokens:
            return text
    raise DocumentationError(
        f"the shortest form of the documentation has {estimate_tokens(text)} tokens, more than {most_tokens}"
    )


def _application(engine: Engine | None) -> Engine:
    """The one that has help pages: strmrun has none, but a klayout of the same version beside it."""
    if engine is not None and engine.kind == "klayout":
        return engine
    for one in find_engines():
        if one.kind == "klayout" and (engine is None or one.version == engine.version):
            return one
    wanted = "is installed" if engine is None else f"of version {engine.version} is installed beside {engine.program}"
    raise DocumentationError(
        f"no program klayout {wanted}, and only that one holds the documentation; name a file with it instead"
    )


def _pages(engine: Engine) -> dict[str, str]:
    """From the cache, or from the application, which takes some seconds."""
    cache = _cache_folder() / f"drc-reference-{engine.version}.json"
    try:
        return _checked(cache.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        pages = _read_from(engine)
    try:
        cache.parent.mkdir(parents=True, exist_ok=True)
        with replacing(cache) as beside:
            beside.write_text(json.dumps(pages), encoding="utf-8")
    except OSError:
        return pages  # it is read again the next time
    return pages


def _read_from(engine: Engine) -> dict[str, str]:
    with tempfile.TemporaryDirectory(prefix="iclayout-") as name:
        folder = Path(name)
        script, to = folder / "pages.rb", folder / "pages.json"
        script.write_text(_SCRIPT, encoding="utf-8")
        words = [engine.program, "-b", "-rd", f"pages={','.join(_PAGES)}", "-rd", f"to={to}", "-r", str(script)]
        # Nothing of the user's own settings and macros, no windows.
        own = {"HOME": name, "KLAYOUT_HOME": name, "QT_QPA_PLATFORM": "offscreen"}
        try:
            done = subprocess.run(
                words, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False, env=os.environ | own
            )
            said = (done.stderr or done.stdout).strip().splitlines() or [f"status {done.returncode}"]
            if not to.exists():
                raise ValueError(said[-1])
            return _checked(to.read_text(encoding="utf-8"))
        except (OSError, ValueError, subprocess.TimeoutExpired) as error:
            raise DocumentationError(
                f"{engine.program} {engine.version}: gave no documentation: {error}; name a file with it instead"
            ) from error


def _checked(text: str) -> dict[str, str]:
    """Raises ValueError for what is not a JSON object of texts with a page of the layer's methods."""
    found = json.loads(text)
    if not isinstance(found, dict) or not all(isinstance(one, str) for one in found.values()):
        raise ValueError("not an object of pages")
    if "drc_ref_layer" not in found:
        raise ValueError("it has no page on the methods of layers")
    return found


def _cache_folder() -> Path:
    named = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(named) if named else Path.home() / ".cache") / "pytest-iclayout"


def _entries(page: str, name: str) -> Iterator[_Entry]:
    try:
        document = ElementTree.fromstring(page)
    except ElementTree.ParseError as error:
        raise DocumentationError(f"the application's page {name} is not XML: {error}") from error
    title: str | None = None
    usages: list[str] = []
    paragraphs: list[str] = []
    for element in [*document, ElementTree.Element("h2")]:
        if element.tag == "h2":
            if title is not None:
                yield _entry(title, usages, paragraphs)
            title, usages, paragraphs = "".join(element.itertext()), [], []
        elif element.tag == "ul" and paragraphs == ["Usage:"]:
            usages, paragraphs = [_one_line("".join(one.itertext())) for one in element], []
        else:
            paragraphs += filter(None, _blocks(element))


def _entry(title: str, usages: list[str], paragraphs: list[str]) -> _Entry:
    """A title is ``"name" - what it does``."""
    called, _, brief = _one_line(title).partition(" - ")
    return _Entry(usages=tuple(usages) or (called.strip('"'),), brief=brief, paragraphs=tuple(paragraphs))


def _blocks(element: ElementTree.Element) -> Iterator[str]:
    """Paragraphs, list items and examples; pictures are left out, and examples keep their lines."""
    if element.tag == "pre":
        lines = "".join(element.itertext()).strip("\n").rstrip().splitlines()
        yield "\n".join(f"{_EXAMPLE}{line}".rstrip() for line in lines)
        return
    text = element.text or ""
    for child in element:
        if child.tag in ("pre", "ul", "ol", "table", "tr", "td", "li", "p"):
            yield _one_line(text)
            yield from _blocks(child)
            text = ""
        else:
            text += "".join(child.itertext())
        text += child.tail or ""
    yield _one_line(text)


def _is_example(paragraph: str) -> bool:
    return paragraph.startswith(_EXAMPLE)


def _one_line(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()

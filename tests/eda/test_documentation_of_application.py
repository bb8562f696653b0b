"""The installed application gives its reference of the DRC language."""

from __future__ import annotations

import pytest

from pytest_iclayout.drc.decks.engines import find_engines
from pytest_iclayout.rules.documentation import MOST_TOKENS, documentation
from pytest_iclayout.rules.prompt import estimate_tokens

pytestmark = pytest.mark.eda


def test_reference_has_the_methods_that_decks_need_and_keeps_its_limit(klayout, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    engine = next(one for one in find_engines() if one.kind == "klayout")
    text = documentation("docs", engine)
    assert estimate_tokens(text) <= MOST_TOKENS
    for call in ("layer.width(value [, options])", "layer.enclosed(", "layer.with_area(", "report(description"):
        assert call in text
    assert "</" not in text
    shorter = documentation("docs", engine, 20_000)
    assert estimate_tokens(shorter) <= 20_000
    assert shorter.count("layer.") > 250

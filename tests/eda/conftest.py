"""The KLayout application and a pool of it, or a skip that says what is missing."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from pytest_iclayout.drc.decks.engines import Engine, find_engines
from pytest_iclayout.drc.decks.pool import DeckPool
from pytest_iclayout.sandbox.policy import Limits, SandboxUnavailable, support


@pytest.fixture(scope="session")
def klayout() -> str:
    program = shutil.which("klayout")
    if program is None:
        pytest.skip("no program named klayout is on the PATH")
    return program


@pytest.fixture(scope="session")
def contained_klayout(klayout: str) -> str:
    """The application where jobs of it can be contained."""
    try:
        support().require()
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    return klayout


@pytest.fixture(scope="session")
def application(contained_klayout: str) -> Engine:
    """As an engine, whatever else is installed."""
    return next(one for one in find_engines() if one.kind == "klayout")


def _pool(engine: Engine) -> DeckPool:
    """Contained; a job has 20 s."""
    return DeckPool(engine=engine, children=2, limits=Limits(wall_s=20, cpu_s=15, file_bytes=8 << 20))


@pytest.fixture(scope="module")
def pool(application: Engine) -> Iterator[DeckPool]:
    with _pool(application) as made:
        yield made


@pytest.fixture(scope="module", params=find_engines() or [None], ids=lambda one: one.kind if one else "none")
def engine(request: pytest.FixtureRequest, contained_klayout: str) -> Engine:
    """Each that is installed."""
    found: Engine = request.param
    return found


@pytest.fixture(scope="module")
def engine_pool(engine: Engine) -> Iterator[DeckPool]:
    with _pool(engine) as made:
        yield made

"""Technologies from TOML files and from the data that comes with the plugin."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from pydantic import ValidationError

from pytest_iclayout.technology import toml
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.models import Technology, TechnologyError


def load_technology(path: Path) -> Technology:
    """Read a technology file; ``data/sky130.toml`` beside this module shows the form.

    Raises TechnologyError that names the file and the key.
    """
    try:
        source = path.read_text(encoding="utf-8")
    except OSError as error:
        raise TechnologyError(f"{path}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise TechnologyError(f"{path}: not UTF-8 text (byte {error.start})") from error
    return _from_toml(source, str(path))


@cache
def builtin_names() -> tuple[str, ...]:
    """Names that :func:`builtin_technology` takes, sorted."""
    folder = resources.files(__package__) / "data"
    return tuple(sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml")))


@cache
def builtin_technology(name: str) -> Technology:
    """A technology that comes with the plugin. Raises TechnologyError that lists them."""
    if name not in builtin_names():
        raise TechnologyError(f"no technology {name!r} is built in; there is {', '.join(builtin_names())}")
    entry = resources.files(__package__) / "data" / f"{name}.toml"
    return _from_toml(entry.read_text(encoding="utf-8"), entry.name)


def _from_toml(source: str, origin: str) -> Technology:
    try:
        return Technology.model_validate(toml.loads(source))
    except toml.TOMLError as error:
        raise TechnologyError(f"{origin}: not TOML: {error}") from error
    except ValidationError as error:
        raise TechnologyError(f"{origin}: {explain(error)}") from error

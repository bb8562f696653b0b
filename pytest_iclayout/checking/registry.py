"""Checkers by name, loaded when first asked for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module

from pydantic import BaseModel, ValidationError

from pytest_iclayout.checking.checker import Bench, Checker, Params
from pytest_iclayout.checking.spec import CheckerSpec
from pytest_iclayout.technology.errors import explain
from pytest_iclayout.technology.layers import Layer


class CheckerError(ValueError):
    """A checker that does not exist, or parameters that it does not take."""


@dataclass
class CheckerRegistry:
    """``modules`` maps a name to ``package.module:attribute``; ``add`` registers a checker object."""

    modules: Mapping[str, str]
    _loaded: dict[str, Checker] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(sorted({*self.modules, *self._loaded}))

    def add(self, checkers: Iterable[Checker]) -> None:
        """Register further checkers. Raises CheckerError for a name that is taken."""
        for checker in checkers:
            if checker.name in self.names:
                raise CheckerError(f"checker {checker.name!r} is registered twice")
            self._loaded[checker.name] = checker

    def get(self, name: str) -> Checker:
        """Raises CheckerError that lists the names."""
        if name not in self._loaded:
            if name not in self.modules:
                raise CheckerError(f"checker: {name!r} is unknown; known are {', '.join(self.names)}")
            module, _, attribute = self.modules[name].partition(":")
            self._loaded[name] = getattr(import_module(module), attribute)
        return self._loaded[name]

    def bind(self, spec: CheckerSpec, bench: Bench) -> tuple[Checker, Params]:
        """The checker and its validated parameters; every layer must be one of the technology's.

        Raises CheckerError that names the parameter.
        """
        checker = self.get(spec.name)
        try:
            params = checker.params_model.model_validate(spec.params)
        except ValidationError as error:
            accepted = ", ".join(checker.params_model.model_fields) or "none"
            raise CheckerError(f"checker {spec.name}: {explain(error)}; parameters are {accepted}") from error
        for key, layer in layers_of(params):
            if layer not in bench.technology:
                raise CheckerError(
                    f"checker {spec.name}: {key}: layer {layer} is not in technology {bench.technology.name}"
                )
        return checker, params


def layers_of(value: object, path: str = "") -> Iterator[tuple[str, Layer]]:
    """Every layer in the parameters, at any depth (an intent's terminals, say), with its dotted path."""
    if isinstance(value, Layer):
        yield path, value
    elif isinstance(value, BaseModel):
        for key in type(value).model_fields:
            yield from layers_of(getattr(value, key), f"{path}.{key}" if path else key)
    elif isinstance(value, tuple):
        for number, one in enumerate(value):
            yield from layers_of(one, path if isinstance(one, Layer) else f"{path}.{number}")

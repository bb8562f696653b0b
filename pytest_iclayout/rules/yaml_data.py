"""YAML of somebody else's: each fault with its line, no key twice, and nothing that takes the process or its memory."""

from __future__ import annotations

from typing import Any

import yaml

from pytest_iclayout.rules.rule import RuleError
from pytest_iclayout.technology.errors import short

_MOST_KEYS = 10_000
"""Of one mapping. Merge keys (``<<``) of merge keys make billions of some bytes, which PyYAML does not stop itself."""
_DEEPEST = 1000
"""Lists and tables in one another. Of more the C library of PyYAML before 6.0.4 ends the process."""
_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # PyYAML is also built without the C library


class _Loader(_SafeLoader):  # type: ignore[misc]
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._flat: set[int] = set()

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        if id(node) not in self._flat:  # afterwards it also has the keys that were merged into it
            self._flat.add(id(node))
            _require_each_key_once(node)
        super().flatten_mapping(node)
        if len(node.value) > _MOST_KEYS:
            raise _fault(node, f"more than {_MOST_KEYS} keys in one mapping")

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # PyYAML's own come as they are from int(), datetime() and a regular expression that does not match.
            raise _fault(node, f"{short(node.value)} is no {node.tag.rpartition(':')[2]}") from error


def load_yaml(data: bytes, place: str) -> Any:
    """Raises RuleError that names ``place`` and the line."""
    try:
        text = data.decode("utf-8-sig")
        _require_shallow(text)
        return yaml.load(text, _Loader)
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise RuleError(f"{place}:{line}: not UTF-8: byte {data[error.start]:#04x}") from error
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        at = f":{mark.line + 1}" if mark is not None else ""
        reason = getattr(error, "problem", None) or " ".join(str(error).split())
        raise RuleError(f"{place}{at}: not YAML: {reason}") from error


def _require_shallow(text: str) -> None:
    if sum(map(text.count, "[{-?")) < _DEEPEST:  # indentation alone needs too many bytes
        return
    depth = 0
    for event in yaml.parse(text, _SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            raise _fault(event, f"more than {_DEEPEST} lists and tables in one another")


def _require_each_key_once(node: yaml.MappingNode) -> None:
    keys: set[tuple[str, str]] = set()
    for key, _ in node.value:
        if isinstance(key, yaml.ScalarNode):
            if (key.tag, key.value) in keys:
                raise _fault(key, f"the key {short(key.value)} stands twice")
            keys.add((key.tag, key.value))


def _fault(node: yaml.Node | yaml.Event, problem: str) -> yaml.constructor.ConstructorError:
    mark: Any = node.start_mark
    return yaml.constructor.ConstructorError(None, None, problem, mark)

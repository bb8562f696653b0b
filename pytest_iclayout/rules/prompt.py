"""What an agent is shown of a rule, and the deck in what it answers."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from functools import cache
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, ConfigDict

from pytest_iclayout.rules.rule import Rule, RuleCategory
from pytest_iclayout.technology.layers import Layer

if TYPE_CHECKING:
    import jinja2

Language = Literal["drc", "python"]

_LETTERS_A_TOKEN = 4
"""Of words in English and of code, the usual measure of models' tokens."""
_WORD = re.compile(r"[A-Za-z]+|[^\sA-Za-z]")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})[ \t]*([^`]*)$")
_NO_SCRIPT = {"text", "txt", "console", "shell", "bash", "sh", "output", "log", "json", "diff"}
"""Languages of code blocks that show something else than the script."""
_WRAPPERS = {"markdown", "md"}
"""Languages of blocks that some models put around their whole answer."""


class RuleContext(BaseModel):
    """What an agent is shown: the rule as data, and ``prompt``, the whole of it as a text for a model.

    Nothing in it tells of the labelled layouts, the gold deck or the declared structures.  ``tokens_estimated`` is
    :func:`estimate_tokens` of the prompt.
    """

    model_config = ConfigDict(frozen=True)

    rule_id: str
    title: str
    text: str
    layers: dict[str, Layer]
    categories: tuple[RuleCategory, ...]
    dbu_um: float
    language: Language
    prompt: str
    tokens_estimated: int


def rule_context(rule: Rule, documentation: str = "", language: Language = "drc") -> RuleContext:
    """The context of a rule, from an explicit choice of fields: a new one is not shown by accident.

    ``documentation`` is quoted in the prompt; see :mod:`.documentation`.  The categories' sentences are those of the
    rule, a sentence that only repeats the rule's text is left out of the list.
    """
    categories = tuple(
        one if one.text.strip() != rule.text.strip() else one.model_copy(update={"text": "the rule as it stands below"})
        for one in rule.categories
    )
    prompt = _template().render(
        language=language,
        title=rule.title or rule.id,
        text=rule.text.strip(),
        fence=_fence_around(rule.text),
        layers=rule.layers,
        categories=categories,
        dbu=f"{rule.dbu_um:.12g}",
        documentation=documentation.strip(),
        documentation_fence=_fence_around(documentation),
    )
    return RuleContext(
        rule_id=rule.id,
        title=rule.title,
        text=rule.text,
        layers=dict(rule.layers),
        categories=rule.categories,
        dbu_um=rule.dbu_um,
        language=language,
        prompt=prompt,
        tokens_estimated=estimate_tokens(prompt),
    )


def estimate_tokens(text: str) -> int:
    """About how many tokens a model counts: a token for each started four letters of a word, and for each other sign.

    An estimate, good to a fifth or so for English and code: the real numbers need each model's own table.
    """
    return sum(-(-len(word) // _LETTERS_A_TOKEN) for word in _WORD.findall(text))


def extract_deck(answer: str) -> str:
    """The script in a model's answer: its last fenced code block, or the whole answer where it has none.

    A block that is never closed ends with the answer, unless closed ones are before it.  Blocks that say that they
    are something else (``text``, ``bash``, ``json`` ...) and empty ones do not count.
    """
    blocks, left_open = _fenced_blocks(answer)
    scripts = [code for language, code in blocks if language not in _NO_SCRIPT and code.strip()]
    if scripts:
        return scripts[-1]
    if left_open is not None and left_open.strip():
        return left_open
    return answer


def _fenced_blocks(text: str) -> tuple[list[tuple[str, str]], str | None]:
    """Language and content of the closed blocks, and the content of one that was left open."""
    blocks: list[tuple[str, str]] = []
    marks, language, inside = "", "", list[str]()
    for line in text.splitlines():
        fence = _FENCE.match(line)
        words = fence[2].split() if fence is not None else []
        if fence is not None and (words or not marks):
            # Also inside of a block: no script has such a line, so the block before was never closed.
            language = words[0].lower() if words else ""
            marks, inside = "" if language in _WRAPPERS else fence[1], []
        elif fence is not None and fence[1].startswith(marks):
            blocks.append((language, _code(inside)))
            marks = ""
        elif marks:
            inside.append(line)
    return blocks, _code(inside) if marks and language not in _NO_SCRIPT else None


def _code(lines: list[str]) -> str:
    """Less the indentation that all lines share: blocks in lists have one, which Python does not take."""
    return textwrap.dedent("\n".join(lines) + "\n")


def _fence_around(text: str) -> str:
    """Marks longer than any in the text, so that the text cannot end its own quotation."""
    longest = max((len(one) for one in re.findall(r"`+", text)), default=0)
    return "`" * max(3, longest + 1)


@cache
def _template() -> jinja2.Template:
    import jinja2

    # The text is shown as it is, to a model and not in a page.
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, keep_trailing_newline=True, autoescape=False)
    environment.filters.update(_FILTERS)
    text = (resources.files(__package__) / "prompt.md.j2").read_text(encoding="utf-8")
    return environment.from_string(text)


_FILTERS: Mapping[str, object] = MappingProxyType(
    {
        "quoted": lambda text: json.dumps(" ".join(text.split()), ensure_ascii=False).replace("#", "\\#"),
        "js": lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
        "cell": lambda text: " ".join(text.split()).replace("|", "\\|"),
        "line": lambda text: " ".join(text.split()),
    }
)

"""Which TOML files are taken for rules, so that a broken one is told and another program's is left alone."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from pytest_iclayout.rules.rule import RuleError
from pytest_iclayout.rules.sniff import has_rule_table, is_rule_file
from pytest_iclayout.suite.rule_files import load_rules, rules_of

GOOD = """[[rule]]
id = "m1"
text = "met1 is at least 0.14 µm wide."
layers = { met1 = "68/20" }
gold = 'met1.width(0.14).output("m1")'
pass = ["met1 0 0 1 1"]
"""


def without(*keys: str) -> str:
    return "".join(line for line in GOOD.splitlines(keepends=True) if line.split(" ")[0] not in keys)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (GOOD, True),
        ("\ufeff" + GOOD, True),
        (GOOD.replace("\n", "\r\n"), True),
        ("#" * 60_000 + "\n" + GOOD, True),
        (GOOD.replace("pass =", "fail.m1 ="), True),
        (GOOD.replace("[[rule]]", ' [[ "rule" ]]'), True),
        (GOOD.replace("[[rule]]", "[rule]"), True),
        (GOOD.replace("[[rule]]", "[[rules]]"), True),
        (GOOD.replace("[[rule]]", "[[rulebook]]"), False),
        (GOOD.replace("[[rule]]", ""), False),
        (without("gold"), True),
        (without("gold", "pass"), True),
        (without("text", "layers", "pass"), True),
        (without("layers", "gold"), False),
        ('[[rule]]\nid = "a"\ntext = "b"\npattern = "c"\n', False),
        ('[[rules]]\nid = "key"\nregex = "k"\npath = "p"\n', False),
    ],
)
def test_file_with_keys_of_rules_is_one_whatever_else_is_missing(tmp_path: Path, text: str, found: bool) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(text.encode())
    assert is_rule_file(path) is found


def test_any_table_of_the_name_is_enough_in_a_file_that_is_given(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_text('[[rule]]\nid = "a"\n', encoding="utf-8")
    assert has_rule_table(path)
    path.write_text('[ruler]\nid = "a"\n', encoding="utf-8")
    assert not has_rule_table(path)


@pytest.mark.parametrize("name", ["x.toml", "x.jsonl", "spec.yaml"])
def test_pipe_that_nobody_writes_to_is_not_waited_for(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    os.mkfifo(path)
    (tmp_path / "good.toml").write_text(GOOD, encoding="utf-8")
    said: list[object] = []

    def ask() -> None:
        said.extend(rules_of(tmp_path))
        try:
            load_rules(path)
        except RuleError as error:
            said.append(str(error))

    asking = threading.Thread(target=ask, daemon=True)  # one that waits must not keep the tests from ending
    asking.start()
    asking.join(timeout=20)
    assert said[1:] == [f"{path}: a pipe, socket or device, not a file"]

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_iclayout.technology.layers import Layer
from pytest_iclayout.technology.load import builtin_technology, load_technology
from pytest_iclayout.technology.models import TechnologyError

MINIMAL = """
name = "two_metals"
layers = [
  { name = "m1", layer = "8/0", z_bottom_nm = 0, thickness_nm = 300 },
  { name = "v1", layer = "19/0" },
  { name = "m2", layer = { layer = 10, datatype = 0 }, color = "00FF00FF" },
]
connections = [{ bottom = "8/0", top = "10/0", cut = "19/0" }]

[rule_sets]
all = [{ id = "M1.a", kind = "width", layer = "8/0", value = 160 }]
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "process.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_both_forms_of_a_layer_are_read(tmp_path):
    technology = load_technology(write(tmp_path, MINIMAL))
    assert technology.layer_named("m2") == Layer(layer=10, datatype=0)
    assert technology.connections[0].cut == Layer(layer=19, datatype=0)
    assert [rule.id for rule in technology.rule_set("all")] == ["M1.a"]
    assert technology.dbu_um == 0.001


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"8/0", z', '"8-0", z', "layers[0].layer: '8-0' is not a layer; write LAYER/DATATYPE"),
        ('"19/0" }', '"70000/0" }', "layers[1].layer.layer: "),
        ('"19/0" }', "190 }", "layers[1].layer: needs a table of keys (given 190)"),
        ('"19/0" }', '"19/0", colour = "red" }', "layers[1].colour: unknown key"),
        ('"00FF00FF"', '"green"', "layers[2].color: "),
        ('"00FF00FF"', '"green"', "(given 'green')"),
        ("thickness_nm = 300", "thickness_nm = 0", "layers[0].thickness_nm: "),
        ('name = "two_metals"', "", "name: required, but not given"),
        ('name = "v1"', 'name = "m1"', "layer name m1 is declared twice"),
        ('"19/0" }', '"8/0" }', "layer 8/0 is declared twice"),
        (
            'cut = "19/0"',
            'cut = "19/1"',
            "a connection names layer 19/1, which the technology does not declare",
        ),
        ('kind = "width"', 'kind = "girth"', "rule_sets.all[0].kind: "),
        ('kind = "width"', 'kind = "girth"', "(given 'girth')"),
        ('kind = "width"', 'kind = "enclosure"', "rule M1.a: kind enclosure needs other_layer"),
        ("value = 160", 'value = 160, other_layer = "10/0"', "kind width does not take other_layer"),
        ("value = 160", "value = 160.5", "rule_sets.all[0].value: "),
        ("value = 160", "value = -1", "rule_sets.all[0].value: "),
        ('id = "M1.a"', 'id = ""', "rule_sets.all[0].id: "),
        ('layer = "8/0", value', 'layer = "9/0", value', "rule M1.a of rule set 'all' names layer 9/0"),
        ("[rule_sets]", 'cut_by = { m1 = "poly" }\n[rule_sets]', "cut_by names 'poly'"),
        ("layers = [", "layers = [[", "not TOML: "),
        ("layers = [", f"x = {'1' * 5000}\nlayers = [", "not TOML: Exceeds the limit"),
        ("layers = [", f"x = {'[' * 5000}\nlayers = [", "not TOML: "),
    ],
)
def test_fault_of_a_file_is_told_in_one_line_with_file_and_key(tmp_path, old, new, message):
    assert old in MINIMAL
    path = write(tmp_path, MINIMAL.replace(old, new, 1))
    with pytest.raises(TechnologyError) as caught:
        load_technology(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert message in text
    assert "\n" not in text
    assert "pydantic" not in text


def test_list_with_a_faulty_entry_is_not_called_too_short_as_well(tmp_path):
    path = write(tmp_path, 'name = "x"\nlayers = [{ name = "m", layer = "a" }]')
    with pytest.raises(TechnologyError) as caught:
        load_technology(path)
    assert str(caught.value) == (
        f"{path}: layers[0].layer: 'a' is not a layer; write LAYER/DATATYPE, for example 68/20"
    )


def test_every_fault_of_a_file_is_told_at_once(tmp_path):
    broken = MINIMAL.replace('"8/0", z', '"8-0", z').replace("value = 160", "value = -1")
    with pytest.raises(TechnologyError, match=r"layers\[0\]\.layer: .*; rule_sets\.all\[0\]\.value: "):
        load_technology(write(tmp_path, broken))


def test_missing_file_and_other_bytes_are_technology_errors(tmp_path):
    with pytest.raises(TechnologyError, match=r"absent\.toml: cannot be read"):
        load_technology(tmp_path / "absent.toml")
    (tmp_path / "binary.toml").write_bytes(b"name = \xff")
    with pytest.raises(TechnologyError, match=r"binary\.toml: not UTF-8 text \(byte 7\)"):
        load_technology(tmp_path / "binary.toml")


def test_unknown_builtin_lists_what_there_is():
    with pytest.raises(TechnologyError, match="no technology 'sky131' is built in; there is sky130"):
        builtin_technology("sky131")


def test_builtin_name_cannot_reach_other_files():
    with pytest.raises(TechnologyError):
        builtin_technology("../data/sky130")


def test_builtin_is_read_once():
    assert builtin_technology("sky130") is builtin_technology("sky130")

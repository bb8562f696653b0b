"""The published suite's task files, made anew from the facts table: same ids, checkers, parameters and intents."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

SHARED = Path(__file__).parents[3] / "shared"
FACTS = SHARED / "reference" / "layout_task_facts.csv"
TRANSCRIPTS = SHARED / "data" / "transcripts_dev"

_TERMINAL = re.compile(r"(\w+)@(\d+)/(\d+)\((-?\d+),(-?\d+),(-?\d+),(-?\d+)\)")
_TECHNOLOGY = """technology sky130
dbu_per_micron 1000
layer 64 20 nwell 8060A050
layer 65 20 diff 26A65B90
layer 65 44 tap 1E8A6E90
layer 66 20 poly D2202090
layer 66 44 licon1 8A181880
layer 67 20 li1 D4A02790
layer 67 44 mcon 8A6A1080
layer 68 20 met1 3A6FD490
layer 68 44 via 24478A80
layer 69 20 met2 C23A9E90
layer 69 44 via2 7A1E6480
layer 70 20 met3 3AB0A090
layer 70 44 via3 1E6E6480
layer 71 20 met4 C2903A90
layer 71 44 via4 8A5E1E80
layer 72 20 met5 6A6AAD90
"""


def write_published_suite(folder: Path, checkers: set[str]) -> dict[str, str]:
    """Write the tasks of the named checkers in the published format; returns id to checker."""
    written: dict[str, str] = {}
    for row in csv.DictReader(FACTS.read_text(encoding="utf-8").splitlines()):
        if row["checker"] not in checkers:
            continue
        spec = row["checker"] + (f":{row['params']}" if row["params"] else "")
        lines = [
            f'id = "{row["id"]}"',
            f"tier = {row['tier']}",
            f'prompt = "Stands for the published sentence of {row["id"]}."',
            'technology = "sky130.tech"',
            f'checker = "{spec}"',
        ]
        if row["intent_terminals_dbu"]:
            lines.append(f"intent = '{json.dumps(intent_of(row['intent_terminals_dbu']))}'")
        (folder / f"{row['id']}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
        written[row["id"]] = row["checker"]
    (folder / "sky130.tech").write_text(_TECHNOLOGY, encoding="utf-8")
    listed = ", ".join(f'"{task}"' for task in written)
    (folder / "manifest.toml").write_text(f'version = "0.4.0"\ntasks = [{listed}]\n', encoding="utf-8")
    return written


def intent_of(text: str) -> dict[str, Any]:
    """``net: a@68/20(x0,y0,x1,y1) b@... ; net: ... | forbidden a!b`` as the intent's JSON."""
    nets_text, _, forbidden_text = text.partition("|")
    nets = []
    for part in nets_text.split(";"):
        name, _, terminals = part.partition(":")
        nets.append(
            {
                "name": name.strip(),
                "terminals": [
                    {
                        "name": found[0],
                        "layer": {"layer": int(found[1]), "datatype": int(found[2])},
                        "region": {
                            "min": {"x": int(found[3]), "y": int(found[4])},
                            "max": {"x": int(found[5]), "y": int(found[6])},
                        },
                    }
                    for found in _TERMINAL.findall(terminals)
                ],
            }
        )
    pairs = re.findall(r"(\w+)!(\w+)", forbidden_text)
    return {"nets": nets, "forbidden": [{"net_a": one, "net_b": other} for one, other in pairs]}

"""Prints what a CI run skipped and why, and fails on skips that a CI machine should not have."""

from __future__ import annotations

import re
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

ALLOWED = (
    # What no install step can give.  Everything else that is skipped here is a hole in the set-up.
    r"root may write into any folder",
    r"xdist is not (installed|active)",
)


def main(folder: Path) -> int:
    counts: Counter[str] = Counter()
    skips: Counter[str] = Counter()
    reports = sorted(folder.glob("*.xml"))
    for report in reports:
        for suite in ElementTree.parse(report).iter("testsuite"):
            for key in ("tests", "failures", "errors", "skipped"):
                counts[key] += int(suite.get(key, "0"))
        for case in ElementTree.parse(report).iter("testcase"):
            for skip in case.iter("skipped"):
                skips[f"{report.stem}: {case.get('classname')}.{case.get('name')}: {skip.get('message')}"] += 1
    for line in sorted(skips):
        print(f"skipped: {line}")
    refused = [line for line in skips if not any(re.search(pattern, line) for pattern in ALLOWED)]
    for line in refused:
        print(f"this skip is not allowed in CI: {line}")
    failed = counts["failures"] + counts["errors"]
    passed = counts["tests"] - failed - counts["skipped"]
    print(f"{len(reports)} test runs")
    print(f"total: {passed} passed, {failed} failed, {counts['skipped']} skipped")
    return 1 if refused or not passed else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))

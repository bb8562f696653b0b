"""Tables of labels that are damaged are one error with file, line and column, never a label that nobody wrote."""

from __future__ import annotations

import csv

import pytest

from pytest_iclayout.rules.labels import read_labels, write_labels
from pytest_iclayout.rules.rule import RuleError

FILES = ("pass/a.gds", "fail/b.gds")
GOOD = "filename,A,B\npass/a.gds,0,0\nfail/b.gds,1,0\n"


def read(text: str | bytes, prefixes: tuple[str, ...] = ()) -> dict[str, frozenset[str]]:
    data = text if isinstance(text, bytes) else text.encode()
    return dict(read_labels(data, "labels.csv", FILES, prefixes).violates)


def test_ones_are_violations_in_the_order_of_the_rows() -> None:
    assert list(read(GOOD).items()) == [("pass/a.gds", frozenset()), ("fail/b.gds", frozenset({"A"}))]


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + GOOD,
        GOOD.replace("\n", "\r\n"),
        GOOD.replace("\n", "\n\n") + ",,\n",
        GOOD.replace(",1,", ", 1 ,").replace(",A,", " , A ,"),
        'filename,A,B\n"pass/a.gds","0","0"\n"fail/b.gds","1","0"\n',
        "A,filename,B\n0,pass/a.gds,0\n1,fail/b.gds,0\n",
        GOOD.replace("pass/a.gds", "./pass/a.gds").replace("fail/b.gds", "fail\\b.gds"),
    ],
    ids=["bom", "crlf", "blank lines", "spaces", "quotes", "filename in the middle", "other slashes"],
)
def test_what_spreadsheets_make_of_a_table_reads_alike(text: str) -> None:
    assert read(text) == read(GOOD)


def test_a_file_of_another_rule_is_not_taken_for_one_of_the_same_name() -> None:
    prefixed = GOOD.replace("pass/", "problems/1/data/gds/pass/")
    assert read(prefixed, ("problems/1/data/gds/",)) == read(GOOD)
    with pytest.raises(RuleError, match=r"^labels.csv:2: column filename: no layout 'problems/1/data/gds/pass/a.gds'$"):
        read(prefixed, ("problems/2/data/gds/",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "labels.csv: empty; needs the header filename,CATEGORY,..."),
        ("file,A\n", "labels.csv:1: no column filename; the header has 'file', 'A'"),
        ("\nfilename,A,A\n", "labels.csv:2: column A stands twice in the header"),
        ("filename,A,\n", "labels.csv:1: a column of the header has no name"),
        (GOOD.replace(",1,", ",2,"), "labels.csv:3: column A: '2' is neither 0 nor 1"),
        (GOOD.replace(",1,", ",,"), "labels.csv:3: column A: '' is neither 0 nor 1"),
        (GOOD.replace(",1,", ",1.0,"), "labels.csv:3: column A: '1.0' is neither 0 nor 1"),
        (GOOD.replace(",1,0", ",1"), "labels.csv:3: has 2 cells, the header 3"),
        (GOOD.replace(",1,0", ",1,0,0"), "labels.csv:3: has 4 cells, the header 3"),
        (GOOD + "./fail/b.gds,0,0\n", "labels.csv:4: column filename: './fail/b.gds' has a row already"),
        (GOOD + "fail/c.gds,0,0\n", "labels.csv:4: column filename: no layout 'fail/c.gds'"),
        ("filename,A\nfail/b.gds,1\n", "labels.csv: no row for pass/a.gds"),
        ("filename,A\n", "labels.csv: no row for fail/b.gds (and 1 more)"),
        (b"filename,A\nfail/\xff.gds,1\n", "labels.csv:2: not UTF-8: byte 0xff"),
        (GOOD + '"fail/b', "labels.csv:4: no table of comma-separated values: unexpected end of data"),
    ],
)
def test_a_damaged_table_is_one_error_that_names_the_place(text: str | bytes, message: str) -> None:
    with pytest.raises(RuleError) as raised:
        read(text)
    assert str(raised.value) == message


def test_a_table_without_layouts_judges_nothing_and_is_an_error() -> None:
    with pytest.raises(RuleError, match=r"^labels.csv: no layouts$"):
        read_labels(b"filename,A\n", "labels.csv", ())


def test_what_is_written_is_read_again() -> None:
    violates = {"fail/b.gds": {"A,B", "C"}, "pass/a.gds": set[str]()}
    text = write_labels(["C", "A,B"], violates)
    assert next(csv.reader([text.splitlines()[0]])) == ["filename", "C", "A,B"]
    again = read_labels(text.encode(), "labels.csv", FILES)
    assert again.categories == ("C", "A,B")
    assert again.violates == {name: frozenset(ones) for name, ones in violates.items()}

"""Cells of a spreadsheet: none of them computes, and each text comes back."""

from __future__ import annotations

import csv
import io

import pytest

from tminus.cli.cells import plain, safe
from tminus.cli.report.table import FIRST, table

SIGNS = ["=", "+", "-", "@", "\t", "\r", "\n", "\0", "＝", "＋", "－", "＠"]  # noqa: RUF001 - full width is meant.
FORMULAS = [
    "=1+1", "=cmd|' /C calc'!A0", '=HYPERLINK("http://x.example","click")', "=IMPORTXML(A1)", "+1+1", "-1+1",
    "-2+3+cmd|' /C calc'!D2", "@SUM(1+1)", "\t=1+1", "\r=1+1", "\n=1+1", "\0=1+1", "＝1+1", "＋1", "－1", "＠a",  # noqa: RUF001 - full width is meant.
    " =1+1", "\u00a0=1+1", "\ufeff=1+1", "'=1+1", "''=1+1", "' =1+1", "=", "-", "@user", "+49 30 123",
    '="a"",""b"', "=1+1;2", "=1,2", "=A1\n=B1",
]  # fmt: skip
HARMLESS = [
    "", "anna@contoso.com", "O'Brien", "'quoted'", "a=b", "1+1", "a,b", 'say "no"', "two\nlines", "Ünï", "x\ty", "'",
]  # fmt: skip


def read_back(text: str) -> str:
    """Write a text as the only cell that differs, and read the file as a spreadsheet would."""
    row: dict[str, object] = dict.fromkeys(_columns(), "")
    report: dict[str, object] = {"batch_id": 1, "runbook_name": text, "t0": None, "phases": []}
    row["phases"] = {}
    lines = "".join(table(report, [[row]]))
    return list(csv.reader(io.StringIO(lines, newline="")))[1][1]


def _columns() -> list[str]:
    header = next(iter(table({"batch_id": 1, "runbook_name": "", "t0": None, "phases": []}, [])))
    return [name for name in next(csv.reader([header])) if name not in {FIRST, "runbook_name", "t0"}]


@pytest.mark.parametrize("text", FORMULAS)
def test_a_formula_is_shown_and_comes_back(text: str) -> None:
    cell = read_back(text)
    assert cell.startswith("'")
    assert plain(cell) == text


@pytest.mark.parametrize("text", HARMLESS)
def test_any_other_text_stays_as_it_is(text: str) -> None:
    assert read_back(text) == text
    assert plain(text) == text


@pytest.mark.parametrize("sign", SIGNS)
def test_each_sign_that_begins_a_formula_is_known(sign: str) -> None:
    assert safe(f"{sign}x") == f"'{sign}x"


def test_every_cell_is_quoted() -> None:
    row: dict[str, object] = dict.fromkeys(_columns(), "x")
    row |= {"phases": {"p": "=1"}, "retries": 3, "is_late": True}
    report: dict[str, object] = {"batch_id": 1, "runbook_name": "w", "t0": None, "phases": [{"phase_name": "p"}]}
    line = list(table(report, [[row]]))[1]
    assert line.startswith('"1","w","",')
    assert line.endswith('"\'=1"\r\n')
    assert all(cell.startswith('"') for cell in line.strip().split(","))

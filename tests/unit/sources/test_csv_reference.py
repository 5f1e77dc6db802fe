"""The reference page says what the code does: every code with its title, every limit with its number."""

from __future__ import annotations

import re
from pathlib import Path

from tminus.domain.codes.source import CSV_CODES
from tminus.domain.members import KEY_CHARACTERS_MAX
from tminus.sources.header import NAME_CHARACTERS_MAX
from tminus.sources.intake import LINE_BYTES_MAX
from tminus.sources.reading import HANDED_IN, PROBLEMS_KEPT, CsvLimits
from tminus.sources.table import CELL_CHARACTERS_MAX

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "csv.md").read_text(encoding="utf-8")
MIB = 1024 * 1024


def test_every_code_stands_there_with_its_title() -> None:
    told = re.findall(r"^\| (E\d{3}) \| (.+) \|$", PAGE, re.MULTILINE)
    assert told == [(code.code, code.title) for code in CSV_CODES]


def test_codes_in_the_text_exist() -> None:
    assert set(re.findall(r"`(E\d{3})`", PAGE)) <= {code.code for code in CSV_CODES}


def test_the_limits_are_the_ones_of_the_code() -> None:
    watched = CsvLimits()
    for row in (
        f"| rows | {watched.rows_max:,} | {HANDED_IN.rows_max:,} |",
        f"| size | {watched.bytes_max // MIB} MiB | {HANDED_IN.bytes_max // MIB} MiB |",
        f"| columns | {watched.columns_max:,} | {HANDED_IN.columns_max:,} |",
        f"| cell | {CELL_CHARACTERS_MAX:,} characters |",
        f"| line | {LINE_BYTES_MAX // MIB} MiB |",
        f"| problems listed | {PROBLEMS_KEPT:,} ",
        f"At most {KEY_CHARACTERS_MAX} characters",
        f"at most {NAME_CHARACTERS_MAX} characters",
    ):
        assert row in PAGE


def test_every_code_says_what_to_do() -> None:
    for code in CSV_CODES:
        assert code.cause.endswith((".", "`"))
        assert code.cure.endswith((".", "`"))
        assert not code.title.endswith(".")

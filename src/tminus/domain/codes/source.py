"""The codes of sources: why a source gave no answer, and why a row of an answer was left out.

E301 to E329 are whole answers that were refused (nothing is concluded from them), E330 to E349 single rows, E350 and up
the verdict on a file that a person hands in. This module holds words only; who raises them is written in the sources.
"""

from __future__ import annotations

from typing import Final

from tminus.domain.errors import Code, Side

_FILE: Final = (
    Code(
        code="E301",
        title="The source's connection is not set",
        side=Side.OPERATOR,
        cause="`connection` names an environment variable or secret, and nothing is stored under that name.",
        cure="Set the variable to the path of the file where the scheduler runs.",
        example="export MEMBERS_CSV=/srv/waves/members.csv",
    ),
    Code(
        code="E302",
        title="The file is not there",
        side=Side.OPERATOR,
        cause="No file stands at the path. Absence of the file never means that its members left.",
        cure="Put the file back, or correct the path.",
        exit_code=7,
        http_status=404,
    ),
    Code(
        code="E303",
        title="The file is still being written",
        side=Side.INFRASTRUCTURE,
        cause="Its size or its time of change moved within the last second, or while it was being read.",
        cure="Nothing, if the writer finishes soon: the next question reads it. Else write to another name and rename.",
        http_status=409,
    ),
    Code(
        code="E304",
        title="The file's last line is not complete",
        side=Side.OPERATOR,
        cause="The last line does not end with a line break, as a file does that was cut off while it was copied.",
        cure="Copy the file again; if it is whole, end its last line with a line break.",
    ),
    Code(
        code="E305",
        title="The file cannot be read",
        side=Side.INFRASTRUCTURE,
        cause="The operating system refused: no permission, not a regular file, or an error of the disk or share.",
        cure="Give the account that runs tminus the right to read the file, and check the share.",
    ),
    Code(
        code="E306",
        title="The file is UTF-16 or UTF-32",
        side=Side.AUTHOR,
        cause="Only UTF-8 is read, with or without a byte order mark.",
        cure="Save it as `CSV UTF-8`; in PowerShell: Export-Csv -Encoding utf8.",
    ),
    Code(
        code="E307",
        title="The file is not UTF-8",
        side=Side.AUTHOR,
        cause="A byte stands where UTF-8 allows none; most often the file was saved in a Windows code page.",
        cure="Save it as `CSV UTF-8`. The message names the first such line and byte.",
    ),
    Code(
        code="E308",
        title="The file is not text",
        side=Side.AUTHOR,
        cause="It begins as a workbook, an archive or another binary file does, or its first line holds NUL bytes.",
        cure="Export the table as `CSV UTF-8`.",
    ),
    Code(
        code="E309",
        title="The file is empty",
        side=Side.OPERATOR,
        cause="It holds no header line. An empty file is no answer; a header alone says that nobody is there.",
        cure="Write at least the header line.",
    ),
    Code(
        code="E310",
        title="A quote is not closed",
        side=Side.AUTHOR,
        cause="A quoted cell runs over line ends without a proper end, so that rows may be hidden inside it.",
        cure="Close the quote in the row that the message names; a quote inside a quoted cell is written twice.",
        example='"Ann ""the boss"" Lee"',
    ),
    Code(
        code="E311",
        title="A cell or line is too long",
        side=Side.AUTHOR,
        cause="A cell has more than 1,048,576 characters or a line more than 8 MiB; most often a quote is not closed.",
        cure="Close the quote, or keep such a value in a file of its own and name that file in the cell.",
    ),
    Code(
        code="E312",
        title="Too many rows",
        side=Side.OPERATOR,
        cause="The table has more rows than the setting allows.",
        cure="Split the file into several, or raise the limit.",
        http_status=413,
    ),
    Code(
        code="E313",
        title="The file is too large",
        side=Side.OPERATOR,
        cause="The file has more bytes than the setting allows.",
        cure="Leave out columns that no step uses, split the file, or raise the limit.",
        http_status=413,
    ),
    Code(
        code="E314",
        title="Too many columns",
        side=Side.AUTHOR,
        cause="The header has more columns than the setting allows.",
        cure="Leave out columns that no step uses.",
    ),
    Code(
        code="E315",
        title="A column has no name",
        side=Side.AUTHOR,
        cause="Every column needs a name, because templates and views speak of columns by name.",
        cure="Name the column, or delete it (a delimiter at the end of the header makes one).",
    ),
    Code(
        code="E316",
        title="Two columns have one name",
        side=Side.AUTHOR,
        cause="Two names are the same, or differ in letter case, width or invisible characters only.",
        cure="Rename or delete one of the two.",
    ),
    Code(
        code="E317",
        title="A column's name cannot be used",
        side=Side.AUTHOR,
        cause="It holds a line break or an invisible character, is longer than 128 characters, or is a name that "
        "tminus itself gives meaning to, such as _batch_id.",
        cure="Rename the column.",
    ),
    Code(
        code="E318",
        title="The primary key column is missing",
        side=Side.AUTHOR,
        cause="The header does not name the column that the runbook calls `primary_key`.",
        cure="Correct the header or the runbook; columns are separated by comma, semicolon or tab.",
    ),
    Code(
        code="E319",
        title="The batch time column is missing",
        side=Side.AUTHOR,
        cause="The header does not name the column that the runbook calls `batch_time_column`.",
        cure="Correct the header or the runbook.",
    ),
)

_ROW: Final = (
    Code(
        code="E330",
        title="A row has the wrong number of cells",
        side=Side.AUTHOR,
        cause="The row has more or fewer cells than the header, so that no cell of it can be trusted.",
        cure="Quote cells that hold the delimiter, and give every row as many cells as the header.",
    ),
    Code(
        code="E331",
        title="A row is quoted wrongly",
        side=Side.AUTHOR,
        cause="Text follows the closing quote of a cell.",
        cure="Write a quote inside a quoted cell twice.",
        example='"Ann ""the boss"" Lee"',
    ),
    Code(
        code="E332",
        title="A row holds a NUL character",
        side=Side.AUTHOR,
        cause="NUL cannot be stored in a database and never belongs into a table of members.",
        cure="Remove the character; most often a tool wrote a damaged cell.",
    ),
    Code(
        code="E333",
        title="A row has no key",
        side=Side.AUTHOR,
        cause="The cell of the primary key is empty.",
        cure="Fill in the key, or delete the row.",
    ),
    Code(
        code="E334",
        title="A key is too long",
        side=Side.AUTHOR,
        cause="A key may have 512 characters.",
        cure="Choose a column with a shorter identity as primary key.",
    ),
    Code(
        code="E335",
        title="A key holds a control character",
        side=Side.AUTHOR,
        cause="A line break, tab or other control character stands inside the key.",
        cure="Remove the character; the message names it.",
    ),
    Code(
        code="E336",
        title="A key appears twice",
        side=Side.AUTHOR,
        cause="An earlier row has the same key. The first row counts.",
        cure="Delete one of the two rows.",
    ),
    Code(
        code="E337",
        title="Two keys are twins",
        side=Side.AUTHOR,
        cause="An earlier row's key differs in letter case, width or invisible characters only: to a person it is the "
        "same key. The first row counts.",
        cure="Delete one of the two rows, or make the keys differ visibly.",
    ),
    Code(
        code="E338",
        title="A row has no batch time",
        side=Side.AUTHOR,
        cause="The cell of the batch time column is empty.",
        cure="Fill in the time, or leave the row out until it has one.",
    ),
    Code(
        code="E339",
        title="A batch time cannot be read",
        side=Side.AUTHOR,
        cause="The cell is no ISO 8601 date or time, or a time that does not exist.",
        cure="Write 2026-12-04T22:00, 2026-12-04 22:00, 2026-12-04 or 2026-12-04T22:00+01:00.",
    ),
    Code(
        code="E340",
        title="A list cannot be read",
        side=Side.AUTHOR,
        cause="The column's format is json_array, and the cell is not a JSON array.",
        cure='Write the cell as ["a", "b"], or change the column\'s format in the runbook.',
    ),
    Code(
        code="E341",
        title="A value has no JSON form",
        side=Side.AUTHOR,
        cause="The source gave a value that JSON cannot express: bytes, not-a-number, infinity, half a character.",
        cure="Convert the column to text in the source's query.",
    ),
)

_KIND: Final = (
    Code(
        code="E320",
        title="No such kind of source is built in",
        side=Side.INFRASTRUCTURE,
        cause="The runbook's source type needs an adapter that this installation does not have.",
        cure="Use a CSV file as the source, or make batches by hand from a CSV file.",
    ),
)

_MANUAL: Final = (
    Code(
        code="E350",
        title="The file of members was refused",
        side=Side.AUTHOR,
        cause="At least one row or the header is wrong. A file that a person hands in is taken whole or not at all.",
        cure="Correct every place that is listed, and hand it in again. Nothing was created.",
    ),
    Code(
        code="E351",
        title="The file names no members",
        side=Side.AUTHOR,
        cause="There is a header and no row below it.",
        cure="Add one row per member.",
    ),
)

# What a CSV file can bring about; `docs/reference/csv.md` lists them.
CSV_CODES: Final[tuple[Code, ...]] = (*_FILE, *_ROW, *_MANUAL)
CODES: Final[tuple[Code, ...]] = (*CSV_CODES, *_KIND)

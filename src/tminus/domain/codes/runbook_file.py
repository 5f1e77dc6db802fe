"""The codes of a runbook's file: why it is no YAML that a runbook can be, before any key is looked at.

This module holds words only; who raises them is written in the runbook room.
"""

from __future__ import annotations

from typing import Final

from tminus.domain.errors import Code, Side


def _error(code: str, title: str, cause: str, cure: str, example: str = "") -> Code:
    """Make one entry; what is wrong in a file is mended by its author."""
    return Code(code=code, title=title, side=Side.AUTHOR, cause=cause, cure=cure, example=example)


CODES: Final = (
    _error(
        "E101",
        "The file is empty",
        "There is nothing in it, or only comments.",
        "Begin with `name:`; `tminus init` writes a runbook to start from.",
    ),
    _error(
        "E102",
        "The file is too large",
        "A runbook has at most 1 MiB. Larger files are lists of members, not runbooks.",
        "Move the members into the data source.",
    ),
    _error(
        "E103",
        "The file is not UTF-8",
        "Some byte belongs to another encoding, often Windows-1252.",
        "Save the file as UTF-8.",
    ),
    _error(
        "E104",
        "The file is UTF-16 or UTF-32",
        "Some editors and PowerShell's `>` write it.",
        "Save it as UTF-8; in PowerShell: Out-File -Encoding utf8.",
    ),
    _error(
        "E105",
        "A character that cannot stand in a file",
        "Control characters, half surrogate pairs and exotic line breaks: each program reads them in its own way.",
        "Delete the character; inside double quotes an escape such as \\t is possible.",
    ),
    _error(
        "E106",
        "Not YAML",
        "The indentation, a quote or a colon inside text makes the file unreadable from here on.",
        "Look at this line and the one before. Text with `: ` or `#` in it needs quotes.",
        'query: "SELECT a: b"',
    ),
    _error(
        "E107",
        "A tab in the indentation",
        "YAML indents with blanks only.",
        "Replace the tab by blanks.",
    ),
    _error(
        "E108",
        "A second document",
        "A line `---` begins another document; one file holds one runbook.",
        "Put the second runbook into its own file.",
    ),
    _error(
        "E109",
        "An anchor or alias",
        "`&name` and `*name` repeat parts of a file; a few of them can expand to gigabytes.",
        "Write the text where it is needed. A star or ampersand that is meant as text needs quotes.",
        'params: {Filter: "*"}',
    ),
    _error(
        "E110",
        "A tag",
        "`!name` and `!!name` give values types or let YAML build objects. A runbook has none.",
        "Delete the tag; quotes make a text of anything.",
        'Code: "012"',
    ),
    _error(
        "E111",
        "A merge key",
        "`<<` copies the keys of another map. A runbook says everything where it is.",
        "Write the keys out.",
    ),
    _error(
        "E112",
        "A key stands twice",
        "Other readers keep the last one silently, and nobody sees which one counts.",
        "Keep one.",
    ),
    _error(
        "E113",
        "A key is not text",
        "A number, true, null, a list or a map stands where a key belongs.",
        "Put the key in quotes.",
        'params: {"365": on-premises}',
    ),
    _error(
        "E114",
        "Nested too deep",
        "More than 32 levels.",
        "Flatten the parameters.",
    ),
    _error(
        "E115",
        "Too many keys and values",
        "More than 20,000. Such a file holds members.",
        "Move the members into the data source.",
    ),
    _error(
        "E116",
        "A text or key is too long",
        "A text has at most 65,536 characters, a key 200.",
        "Shorten it, or let the function read it from where it lives.",
    ),
    _error(
        "E117",
        "The file is not a map of keys",
        "It is a list or a single text.",
        "Begin with `name:` at the start of a line.",
        "name: wave-1",
    ),
    _error(
        "E118",
        "A directive",
        "Lines that begin with `%` change how YAML reads the file.",
        "Delete the line.",
    ),
    _error(
        "E119",
        "A number that reaches no worker",
        "Infinite, not a number, or beyond 64 bits: each database and language would make something else of it.",
        "Put it in quotes to send it as text.",
        'Id: "123456789012345678901234"',
    ),
    _error(
        "E120",
        "More problems than are listed",
        "The first 200 are shown; the rest usually follows from them.",
        "Mend the first ones and check again.",
    ),
    Code(
        code="E121",
        title="The file cannot be opened",
        side=Side.AUTHOR,
        cause="There is no file of this name, or it may not be read.",
        cure="Look at the name and at the rights.",
        exit_code=7,
        http_status=404,
    ),
)

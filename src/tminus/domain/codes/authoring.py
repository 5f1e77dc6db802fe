"""The codes of authoring: why a file that an author works on is not written, laid out or compared.

This module holds words only; who answers with them is written in the command line.
"""

from __future__ import annotations

from typing import Final

from tminus.domain.errors import Code, Side

CODES: Final[tuple[Code, ...]] = (
    Code(
        code="E470",
        title="The file cannot be written anew without changing it",
        side=Side.AUTHOR,
        cause="Writing a runbook anew must keep every comment and every meaning. Here that could not be made sure of.",
        cure="Nothing was written. Write the part that the message names another way by hand, then try again.",
        example="runbook.yaml:7:3: E470 a comment stands inside a list in brackets",
        exit_code=2,
        http_status=400,
    ),
)

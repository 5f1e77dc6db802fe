"""The codes of commands: why something that an operator asked for was not done.

This module holds words only; who answers with them is written in the progression room.
"""

from __future__ import annotations

from typing import Final

from tminus.domain.errors import Code, Side

CODES: Final[tuple[Code, ...]] = (
    Code(
        code="E410",
        title="The command was refused",
        side=Side.OPERATOR,
        cause="What it would change is not in a state in which that is possible; the message says which, and why.",
        cure="Look at what is possible now: every screen of a batch and a member lists it with its reasons.",
        example="anna@contoso.com: E410 the member is done; only a failed or cancelled one can be tried again",
        exit_code=1,
        http_status=409,
    ),
)

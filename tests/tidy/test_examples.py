"""Runbooks on pages are runbooks: each is checked as a person's own file would be.

A block of YAML whose first line is `name:` is a whole runbook; anything else is a part of one and stays unchecked.
"""

from __future__ import annotations

import re

import pytest

from tests.tidy.tree import ROOT, pages
from tminus.runbook import parse, render

BLOCK = re.compile(r"^```ya?ml\n(name:.*?)^```$", re.MULTILINE | re.DOTALL)

EXAMPLES = [
    pytest.param(block, id=f"{page.relative_to(ROOT).as_posix()}-{number}")
    for page in pages(ROOT)
    for number, block in enumerate(BLOCK.findall(page.read_text(encoding="utf-8")), start=1)
]

CAPTURE = re.compile(r"^\$ tminus validate mailbox\.yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SLIPS = {
    "timezone: Europe/Berlin": "time_zone: Europe/Berlin",
    "offset: T-5d": "offset: T-5days",
    "on_failure: undo-user": "on_failure: undo-users",
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_runbook_on_a_page_has_no_problem(text: str) -> None:
    verdict = parse(text)
    assert not verdict.problems, render(verdict, text)


def test_the_capture_on_the_front_page_is_what_the_checker_says() -> None:
    front = (ROOT / "README.md").read_text(encoding="utf-8")
    text = BLOCK.findall(front)[0]
    for right, wrong in SLIPS.items():
        text = text.replace(right, wrong)
    shown = render(parse(text, place="mailbox.yaml"), text)
    assert CAPTURE.findall(front) == [shown.rstrip() + "\n"]

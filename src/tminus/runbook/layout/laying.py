"""The door: a runbook's text in, the same runbook in its one layout out, or the reason why not.

Whatever the steps before have done, the last word is a comparison: what was written must read as the same values of the
same types, as the same runbook, and hold the same comments. A text that fails it is left as it is.
"""

from __future__ import annotations

import json
from collections import Counter
from typing import TYPE_CHECKING

import yaml

from tminus.runbook.intake import take_in
from tminus.runbook.layout.comments import comments_in, hang
from tminus.runbook.layout.pieces import Unsafe
from tminus.runbook.layout.taking import entries_in, take_apart
from tminus.runbook.layout.writing import write
from tminus.runbook.parsing import load
from tminus.runbook.problem import Report
from tminus.runbook.shapes import plain_map
from tminus.runbook.tree import read_tree

if TYPE_CHECKING:
    from tminus.runbook.layout.pieces import Branch

__all__ = ["Unsafe", "laid_out"]


def laid_out(text: str) -> str:
    """Return a valid runbook in its layout, with the line breaks that it had; raise `Unsafe` where that is not sure."""
    plain = _unbroken(text)
    root, comments = _taken(plain)
    written = write(root)
    again, kept = _taken(written)
    del again
    if Counter(kept) != Counter(comments):
        raise Unsafe("a comment stands where it cannot be kept")
    if _meaning(written) != _meaning(plain) or load(written) != load(plain):
        raise Unsafe("it would not read as the same runbook")
    return written.replace("\n", "\r\n") if "\r\n" in text else written


def _unbroken(text: str) -> str:
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _taken(text: str) -> tuple[Branch, list[str]]:
    """Take a text apart; return its root and the texts of its comments."""
    try:
        root = take_apart(text)
    except yaml.YAMLError as error:
        raise Unsafe("one of the two YAML readers does not take it") from error
    comments = comments_in(text, root)
    beside = [entry.beside for entry in entries_in(root) if entry.beside]
    hang(text, root, comments)
    return root, [*(comment.text for comment in comments), *beside]


def _meaning(text: str) -> str:
    """Return all values of a text with their types, as one text; the order of keys means nothing."""
    report = Report()
    clean = take_in(text, report)
    tree = None if clean is None else read_tree(clean, report)
    if tree is None or report.failed:
        raise Unsafe("it would not read as a runbook")
    return json.dumps(plain_map(tree), sort_keys=True)

"""What stands for an answer of the CSV source: which question, which file, which content.

The store keeps a fingerprint as text and hands it back with the next question. It is believed only when every part can
be read and the question is the same one; in any doubt the file is simply read again. The leading mark names the rules
by which rows are made: it changes when they do, so that an update of tminus reads every file once more.
"""

from __future__ import annotations

import hashlib
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, Final

from tminus.sources.still import Look

if TYPE_CHECKING:
    from tminus.ports.source import Question
    from tminus.sources.reading import CsvLimits

_RULES: Final = "csv1"
_PARTS: Final = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Fingerprint:
    """The question's digest, the file's look, its content's hash, and whether the answer was complete."""

    asked: str
    look: Look
    sha256: str
    complete: bool

    @property
    def text(self) -> str:
        """Write it as one line."""
        seen = " ".join(str(number) for number in astuple(self.look))
        return f"{_RULES} {self.asked} {seen} {self.sha256} {'complete' if self.complete else 'partial'}"

    @classmethod
    def read(cls, text: str | None) -> Fingerprint | None:
        """Read what `text` wrote; None for anything else."""
        parts = text.split(" ") if text else []
        if len(parts) != _PARTS or parts[0] != _RULES or parts[-1] not in {"complete", "partial"}:
            return None
        numbers = parts[2:7]
        if not all(number.isascii() and number.isdigit() for number in numbers):
            return None
        look = Look(*(int(number) for number in numbers))
        return cls(asked=parts[1], look=look, sha256=parts[7], complete=parts[-1] == "complete")


def digest_of(question: Question, limits: CsvLimits) -> str:
    """Return a short digest of everything but the file that an answer depends on."""
    source = question.data_source
    lists = tuple((multi.name, multi.format) for multi in source.multi_valued_columns)
    parts = (source.connection, source.primary_key, source.batch_time_column, lists, question.timezone, limits)
    return hashlib.sha256(repr(parts).encode(errors="backslashreplace")).hexdigest()[:16]

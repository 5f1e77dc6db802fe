"""The CSV source: a file that somebody else writes and tminus reads again and again.

Whoever writes the file does not know of the reader, so the reader takes care: the file must stand still, its last line
must be complete, and it must be the same file when the last byte was read. A file that was replaced while it was read
gives the table of the old one; the next question meets the new one. This module must not know who asks, nor how often.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tminus.ports.source import Answer, SourceError, Unchanged
from tminus.sources.fingerprint import Fingerprint, digest_of
from tminus.sources.intake import BUFFER_BYTES, too_large
from tminus.sources.reading import CsvLimits, Reading, read_csv
from tminus.sources.still import Look, Patience, look_at, opened, settle

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.ports.source import Question

_LIMITS: Final = CsvLimits()


class CsvSource:
    """Reads the file whose path stands under the name that `connection` gives.

    `resolve` looks a name up, in the environment or a store of secrets, and returns None for an unknown one.
    """

    def __init__(
        self, resolve: Callable[[str], str | None], *, limits: CsvLimits = _LIMITS, patience: Patience | None = None
    ) -> None:
        """Keep the means; nothing is read yet."""
        self._resolve = resolve
        self._limits = limits
        self._patience = patience or Patience()

    def ask(self, question: Question) -> Answer | Unchanged:
        """Read the file, unless it is the one that is known already; raises `SourceError`."""
        path = self._path(question)
        place = place_of(path)
        asked = digest_of(question, self._limits)
        known = Fingerprint.read(question.known)
        if known is not None and known.asked != asked:
            known = None
        look = look_at(path, place=place)
        if known is not None and known.look == look:
            return Unchanged(fingerprint=known.text, complete=known.complete)
        if look.size > self._limits.bytes_max:
            raise too_large(place, self._limits.bytes_max)
        look = settle(path, self._patience, place=place)
        if known is not None and known.look.size == look.size and _hash(path, look, place) == known.sha256:
            same = Fingerprint(asked=asked, look=look, sha256=known.sha256, complete=known.complete)
            return Unchanged(fingerprint=same.text, complete=same.complete)
        reading = read_file(path, look, question, limits=self._limits)
        seen = Fingerprint(asked=asked, look=look, sha256=reading.sha256, complete=reading.complete)
        return Answer(
            columns=reading.columns,
            rows=reading.rows,
            problems=tuple(reading.problems),
            problem_count=reading.problem_count,
            failed_keys=frozenset(reading.failed_keys),
            complete=reading.complete,
            notes=reading.notes,
            fingerprint=seen.text,
        )

    def _path(self, question: Question) -> Path:
        name = question.data_source.connection
        if name is None:
            raise SourceError("E301", "data_source has no connection", hint="name the variable that holds the path")
        path = self._resolve(name)
        if not path or not path.strip():
            hint = f"set {name} to the path of the CSV file"
            if not name.isidentifier():
                hint = "connection names a variable of the environment, and that variable holds the path"
            raise SourceError("E301", f"{name} is not set", hint=hint)
        return Path(path)


def read_file(path: Path, look: Look, question: Question, *, limits: CsvLimits, timed: bool = True) -> Reading:
    """Read the file of that look whole; raises `SourceError`."""
    place = place_of(path)
    reading: Reading | None = None
    try:
        with opened(path, look, place=place) as stream:
            reading = read_csv(stream, question, name=place, limits=limits, timed=timed)
    except SourceError:
        if reading is not None:
            reading.rows.close()
        raise
    return reading


def place_of(path: Path) -> str:
    """Return the file's name for messages; what cannot be shown in it becomes a question mark."""
    name = path.name or str(path)
    return "".join(character if character.isprintable() else "?" for character in name)


def _hash(path: Path, look: Look, place: str) -> str:
    digest = hashlib.sha256()
    with opened(path, look, place=place) as stream:
        while block := stream.read(BUFFER_BYTES):
            digest.update(block)
    return digest.hexdigest()

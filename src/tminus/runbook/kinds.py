"""Kinds of values: how one is read, how it is described to an editor, and what it is called in the reference.

A kind reads a node into a value with a type, or reports what is wrong and gives nothing. Each kind describes itself in
JSON Schema and in words beside its reading, so that the three cannot drift apart. Kinds know nothing of a runbook's
keys; those are laid out in `keys`, out of these.
"""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

from tminus.domain.errors import TminusError
from tminus.runbook.condition import Condition
from tminus.runbook.offset import Offset
from tminus.runbook.template import Text
from tminus.runbook.tree import Blank, Mapping, Node, Scalar, Sequence
from tminus.runbook.wording import did_you_mean, quoted
from tminus.runbook.zones import zone_of

if TYPE_CHECKING:
    from tminus.runbook.problem import Report, Spot

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
Schema = dict[str, object]

# Controls, formats (zero width, direction), surrogates, private and unassigned characters, and exotic blanks.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})


class Kind(Protocol[T_co]):
    """One kind of value; `words` is what the reference calls it."""

    @property
    def words(self) -> str:
        """Name the kind."""
        ...

    def read(self, node: Node, what: str, report: Report) -> T_co | None:
        """Return the value, or report why there is none; `what` names it in messages."""

    def schema(self) -> Schema:
        """Describe the value to an editor."""
        ...


@dataclass(frozen=True, slots=True)
class Located(Generic[T]):
    """A value and where it stands."""

    value: T
    spot: Spot


def described(node: Node) -> str:
    """Say what a node is, for "… expected, not …"."""
    if isinstance(node, Sequence):
        return "a list"
    if isinstance(node, Mapping):
        return "a map"
    if isinstance(node, Blank) or node.value is None:
        return "nothing"
    if isinstance(node.value, bool):
        return f"{node.text} (true or false)"
    return f"the number {quoted(node.text)}" if isinstance(node.value, int | float) else f"the text {quoted(node.text)}"


def text_of(node: Node, what: str, report: Report) -> str | None:
    """Return a text that is not blank, or report what stands there instead; a number is taken as it is written."""
    if isinstance(node, Blank):
        return None
    if isinstance(node, Scalar) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return node.text
    if not isinstance(node, Scalar) or not isinstance(node.value, str):
        hint = "put it in quotes" if isinstance(node, Scalar) and node.value is not None else ""
        code = "E203" if isinstance(node, Scalar) and node.value is None else "E202"
        message = f"{what} is empty" if code == "E203" else f"{what} must be text, not {described(node)}"
        report.error(code, message, node.spot, hint)
        return None
    if not node.value.strip():
        report.error("E203", f"{what} is empty", node.spot)
        return None
    return node.value


@dataclass(frozen=True, slots=True)
class AnyText:
    """Text as it stands, of any number of lines; `blank` where an empty text means something."""

    words: str = "text"
    longest: int = 65_536
    blank: bool = False

    def read(self, node: Node, what: str, report: Report) -> str | None:
        """Take the text as it is written."""
        if self.blank and isinstance(node, Scalar) and isinstance(node.value, str):
            return node.value
        text = text_of(node, what, report)
        if text is not None and len(text) > self.longest:
            report.error("E212", f"{what} is longer than {self.longest} characters", node.spot)
            return None
        return text

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "string"} if self.blank else {"type": "string", "pattern": r"\S"}


@dataclass(frozen=True, slots=True)
class Name:
    """A name that people read and rows are found by: visible characters, no blank at either end, no template."""

    words: str = "name"
    longest: int = 200
    special: bool = True

    def read(self, node: Node, what: str, report: Report) -> str | None:
        """Take the name, and say what makes it unusable."""
        text = text_of(node, what, report)
        if text is None:
            return None
        why = self._fault(text)
        if why is not None:
            report.error("E220" if why == "a template" else "E212", f"{what} {quoted(text)} holds {why}", node.spot)
            return None
        if not self.special and text.startswith("_"):
            hint = f"names with a leading underscore are tminus's own; write {quoted(text.lstrip('_') or 'name')}"
            report.error("E228", f"{what} {quoted(text)} begins with an underscore", node.spot, hint)
            return None
        return text

    def _fault(self, text: str) -> str | None:
        """Say what a name must not hold."""
        if "{{" in text or "}}" in text:
            return "a template"
        if len(text) > self.longest:
            return f"more than {self.longest} characters"
        if text != text.strip():
            return "a blank at its end"
        unseen = next((char for char in text if unicodedata.category(char) in _UNSEEN), None)
        return None if unseen is None else f"the invisible character U+{ord(unseen):04X}"

    def schema(self) -> Schema:
        """Describe it to an editor."""
        pattern = r"^\S(.*\S)?$" if self.special else r"^[^_\s](.*\S)?$"
        return {"type": "string", "pattern": pattern, "maxLength": self.longest}


@dataclass(frozen=True, slots=True)
class SecretName:
    """The name of an environment variable or secret; what looks like the secret itself is refused."""

    words: str = "name of a variable"

    def read(self, node: Node, what: str, report: Report) -> str | None:
        """Take the name; the text itself is not repeated in the message, for it may be a password."""
        text = text_of(node, what, report)
        if text is None:
            return None
        if len(text) > 200 or any(char.isspace() or char in ";=@'\"{}" for char in text) or "://" in text:  # noqa: PLR2004 - stands beside what it bounds.
            hint = "write the NAME of an environment variable or secret, never what it holds"
            report.error("E217", f"{what} is not a name", node.spot, hint)
            return None
        return text

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "string", "pattern": "^[^\\s;=@'\"{}]+$", "maxLength": 200}


@dataclass(frozen=True, slots=True)
class OffsetText:
    """A distance from T-0."""

    words: str = "offset"

    def read(self, node: Node, what: str, report: Report) -> Located[Offset] | None:
        """Take the offset with its place."""
        text = text_of(node, what, report)
        if text is None:
            return None
        try:
            return Located(Offset.parse(text), node.spot)
        except TminusError as error:
            report.raised(error, node.spot)
            return None

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "string", "pattern": "^(T-0|T[+-](?=[0-9])([0-9]+d)?([0-9]+h)?([0-9]+m)?([0-9]+s)?)$"}


@dataclass(frozen=True, slots=True)
class Zone:
    """The IANA name of a time zone."""

    words: str = "time zone"

    def read(self, node: Node, what: str, report: Report) -> str | None:
        """Take the name of a zone that exists."""
        text = text_of(node, what, report)
        if text is None:
            return None
        try:
            zone_of(text)
        except TminusError as error:
            report.raised(error, node.spot)
            return None
        return text

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "string", "pattern": r"^[A-Za-z][A-Za-z0-9_+\-]*(/[A-Za-z0-9_+\-]+){0,2}$"}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of a few words; letter case is forgiven, as it was to runbooks of the Toolkit."""

    options: tuple[str, ...]

    @property
    def words(self) -> str:
        """List the words."""
        return ", ".join(f"`{option}`" for option in self.options)

    def read(self, node: Node, what: str, report: Report) -> str | None:
        """Take the word."""
        text = text_of(node, what, report)
        if text is None:
            return None
        if text.lower() in self.options:
            return text.lower()
        hint = did_you_mean(text, self.options) or f"one of {', '.join(self.options)}"
        report.error("E204", f"{what} cannot be {quoted(text)}", node.spot, hint)
        return None

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"enum": list(self.options)}


@dataclass(frozen=True, slots=True)
class Template:
    """Text with `{{ names }}`; knows its place for the message of a later failure."""

    place: str
    words: str = "template"

    def read(self, node: Node, what: str, report: Report) -> Located[Text] | None:
        """Compile the template."""
        text = text_of(node, what, report)
        if text is None:
            return None
        try:
            return Located(Text.compile(text, place=self.place), node.spot)
        except TminusError as error:
            report.raised(error, node.spot)
            return None

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "string", "pattern": r"\S"}


@dataclass(frozen=True, slots=True)
class When:
    """A condition; the bare values true and false are conditions too."""

    words: str = "condition"

    def read(self, node: Node, what: str, report: Report) -> Located[Condition] | None:
        """Compile the condition."""
        if isinstance(node, Scalar) and isinstance(node.value, bool):
            text: str | None = "true" if node.value else "false"
        else:
            text = text_of(node, what, report)
        if text is None:
            return None
        try:
            return Located(Condition.compile(text), node.spot)
        except TminusError as error:
            report.raised(error, node.spot)
            return None

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": ["string", "boolean"]}

"""YAML as a tree that remembers lines and columns, built from events under limits.

The limits (depth, nodes, lengths, no aliases, no tags) hold on the stream of events, before anything is built, so that
a bomb of 200 bytes costs 200 bytes. The reader's own way to objects is not used at all: it resolves by YAML 1.1, keeps
the last of two equal keys and knows no places. What cannot be read becomes a `Blank`: it was reported once, and nothing
that looks at the tree later reports it again. This module must not know the keys of a runbook.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import yaml

from tminus.runbook.intake import lines_of
from tminus.runbook.problem import Spot
from tminus.runbook.scalars import Unusable, Value, plain_value
from tminus.runbook.wording import quoted

if TYPE_CHECKING:
    from tminus.runbook.problem import Report

DEEPEST: Final = 32
MOST_NODES: Final = 20_000
LONGEST_SCALAR: Final = 65_536
LONGEST_KEY: Final = 200


@dataclass(slots=True)
class Blank:
    """Something that was reported and is not looked at again."""

    spot: Spot


@dataclass(slots=True)
class Scalar:
    """One value: as it was written, and what it stands for; `plain` means without quotes."""

    spot: Spot
    text: str
    value: Value
    plain: bool


@dataclass(slots=True)
class Sequence:
    """A list."""

    spot: Spot
    items: list[Node] = field(default_factory=list["Node"])


@dataclass(slots=True)
class Mapping:
    """A map whose keys are texts, each once; the spot of each key is kept."""

    spot: Spot
    entries: dict[str, Node] = field(default_factory=dict[str, "Node"])
    key_spots: dict[str, Spot] = field(default_factory=dict[str, Spot])


Node = Blank | Scalar | Sequence | Mapping


def read_tree(text: str, report: Report) -> Mapping | None:
    """Return the one map of a document, or nothing after an error that leaves nothing to look at."""
    builder = _Builder(report)
    try:
        for event in yaml.parse(text, Loader=EVENTS):
            builder.take(event)
    except _StopError:
        return None
    except yaml.MarkedYAMLError as error:
        _report_syntax(text, error, report)
        return None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        # The reader written in Python lets errors of an escape such as \\UFFFFFFFF through as they are.
        report.error("E106", f"not YAML: {quoted(str(error))}", Spot(1, 1))
        return None
    root = builder.root
    if isinstance(root, Mapping):
        return root
    if root is None or (isinstance(root, Scalar) and root.value is None):
        report.error("E101", "the file is empty", Spot(1, 1), "a runbook begins with name: …")
    elif not isinstance(root, Blank):
        report.error("E117", "the file is not a map of keys", root.spot, "a runbook begins with name: …")
    return None


# The reader in C where it is there: it is ten times as fast. Only its events are used, never what it would build.
EVENTS: type[yaml.SafeLoader | yaml.CSafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StopError(Exception):
    """What follows cannot or need not be read."""


@dataclass(slots=True)
class _Frame:
    """A list or map that is still open; `key` is the one that waits for its value."""

    node: Sequence | Mapping
    key: str | None = None
    waiting: bool = False


class _Builder:
    """Takes events one by one and keeps the tree."""

    def __init__(self, report: Report) -> None:
        self.root: Node | None = None
        self._report = report
        self._frames: list[_Frame] = []
        self._nodes = 0
        self._documents = 0

    def take(self, event: yaml.Event) -> None:
        """Add what one event brings."""
        if isinstance(event, yaml.ScalarEvent):
            self._count(event)
            self._scalar(event)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._count(event)
            self._open(event)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            self._place(self._frames.pop().node)
        elif isinstance(event, yaml.AliasEvent):
            self._count(event)
            message = f"alias {quoted(f'*{event.anchor}')}: a runbook has no aliases"
            self._report.error("E109", message, _spot(event), "write the text again where it is needed")
            self._place(Blank(_spot(event)))
        elif isinstance(event, yaml.DocumentStartEvent):
            self._document(event)

    def _document(self, event: yaml.DocumentStartEvent) -> None:
        self._documents += 1
        if self._documents > 1:
            self._report.error("E108", "a second document begins here", _spot(event), "one file holds one runbook")
            raise _StopError
        if event.version or event.tags:
            self._report.error("E118", "a directive: a runbook has none", Spot(1, 1), 'delete the lines with "%"')

    def _count(self, event: yaml.NodeEvent) -> None:
        """Hold the limit of nodes, and refuse anchors and tags wherever they stand."""
        self._nodes += 1
        if self._nodes > MOST_NODES:
            hint = "members belong into the source, not into the runbook"
            self._report.error("E115", f"more than {MOST_NODES:,} keys and values", _spot(event), hint)
            raise _StopError
        if event.anchor is not None and not isinstance(event, yaml.AliasEvent):
            message = f"anchor {quoted(f'&{event.anchor}')}: a runbook has no anchors"
            self._report.error("E109", message, _spot(event), "delete it and write the text where it is needed")
        tag = getattr(event, "tag", None)
        if tag is not None:
            message = f"tag {quoted(str(tag))}: a runbook has no tags"
            self._report.error("E110", message, _spot(event), "delete it; quotes make a text of anything")

    def _open(self, event: yaml.MappingStartEvent | yaml.SequenceStartEvent) -> None:
        """Open a list or map; where it belongs is settled when it ends."""
        if len(self._frames) >= DEEPEST:
            self._report.error("E114", f"nested deeper than {DEEPEST} levels", _spot(event), "flatten it")
            raise _StopError
        node = Mapping(_spot(event)) if isinstance(event, yaml.MappingStartEvent) else Sequence(_spot(event))
        self._frames.append(_Frame(node))

    def _scalar(self, event: yaml.ScalarEvent) -> None:
        """Resolve one scalar; what is unusable becomes a blank."""
        spot, text = _spot(event), event.value
        plain = event.style in {None, ""}
        if event.tag is not None:
            self._place(Blank(spot))
        elif len(text) > LONGEST_SCALAR:
            self._report.error("E116", f"a text of {len(text):,} characters", spot, f"at most {LONGEST_SCALAR:,}")
            self._place(Blank(spot))
        elif "\x00" in text or any("\ud800" <= char <= "\udfff" for char in text):
            self._report.error("E105", "an escape stands for a character that no text can hold", spot, "delete it")
            self._place(Blank(spot))
        else:
            try:
                self._place(Scalar(spot, text, plain_value(text) if plain else text, plain))
            except Unusable:
                message = f"{quoted(text)} is no number that reaches a worker"
                self._report.error("E119", message, spot, "put it in quotes to send it as text")
                self._place(Blank(spot))

    def _place(self, node: Node) -> None:
        """Hang a finished node where it belongs."""
        if not self._frames:
            self.root = node
            return
        frame = self._frames[-1]
        if isinstance(frame.node, Sequence):
            frame.node.items.append(node)
        elif not frame.waiting:
            self._key(node)
        else:
            if frame.key is not None:
                frame.node.entries[frame.key] = node
            frame.key, frame.waiting = None, False

    def _key(self, node: Node) -> None:
        """Take a key; one that is refused takes its value with it."""
        frame = self._frames[-1]
        frame.waiting = True
        mapping = frame.node
        if isinstance(node, Blank) or not isinstance(mapping, Mapping):
            return
        if not isinstance(node, Scalar) or not isinstance(node.value, str):
            text = quoted(node.text) if isinstance(node, Scalar) else "a list or map"
            self._report.error("E113", f"{text} as a key is not text", node.spot, "put the key in quotes")
        elif node.plain and node.text == "<<":
            self._report.error("E111", "a merge key: a runbook has none", node.spot, "write the keys where they belong")
        elif len(node.text) > LONGEST_KEY:
            self._report.error("E116", f"a key of {len(node.text):,} characters", node.spot, f"at most {LONGEST_KEY}")
        elif node.text in mapping.key_spots:
            first = mapping.key_spots[node.text].line
            message = f"key {quoted(node.text)} stands here for the second time"
            self._report.error("E112", message, node.spot, f"the first is in line {first}; keep one")
        else:
            frame.key = node.text
            mapping.key_spots[node.text] = node.spot


def _spot(event: yaml.Event) -> Spot:
    """Return where an event begins, and how much of that line it takes."""
    start, end = event.start_mark, event.end_mark
    if start is None or end is None:
        return Spot(1, 1)
    width = end.column - start.column if end.line == start.line else 1
    return Spot(start.line + 1, start.column + 1, max(width, 1))


def _report_syntax(text: str, error: yaml.MarkedYAMLError, report: Report) -> None:
    """Put the reader's complaint into words; the commonest cause, a tab, has words of its own."""
    mark = error.problem_mark or error.context_mark
    if error.context_mark is not None and "end of stream" in (error.problem or ""):
        # A quote that is never closed is looked for where it was opened, not at the end of the file.
        mark = error.context_mark
    spot = Spot(mark.line + 1, mark.column + 1) if mark is not None else Spot(1, 1)
    lines = lines_of(text)
    if spot.line > len(lines):
        # The end of a file without a last line break is counted as a line of its own by one of the readers.
        spot = Spot(len(lines), len(lines[-1]) + 1)
    line = lines[spot.line - 1]
    indent = line[: len(line) - len(line.lstrip())]
    if "\t" in indent:
        report.error("E107", "a tab in the indentation", Spot(spot.line, line.index("\t") + 1), "indent with blanks")
        return
    because = f", {error.context}" if error.context else ""
    begun = error.context_mark
    where = f" begun in line {begun.line + 1}" if because and begun and begun.line + 1 != spot.line else ""
    hint = "look at the indentation, at quotes and at ': ' inside text, here and in the line before"
    report.error("E106", f"not YAML: {error.problem or 'it cannot be read'}{because}{where}", spot, hint)

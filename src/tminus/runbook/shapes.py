"""Shapes of values: tables of keys, lists, maps, and a step's parameters.

A `Table` is the one description of a map with known keys: reading, JSON Schema and the reference all walk it. Unknown
keys are errors with the nearest known one; a key left empty counts as absent. What is read comes back as `Fields`, from
which each `Key` takes its value with its type. This module must not know which keys a runbook has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from tminus.domain.errors import TminusError
from tminus.runbook.kinds import Kind, Located, Schema, described, text_of
from tminus.runbook.template import Params, Text
from tminus.runbook.tree import Blank, Mapping, Node, Scalar, Sequence
from tminus.runbook.wording import did_you_mean, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Mapping as Map

    from tminus.runbook.problem import Report, Spot

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


@dataclass(frozen=True, slots=True)
class Key(Generic[T_co]):
    """One key of a table: its kind, what it is about, and what holds without it; `example` if it is required."""

    name: str
    kind: Kind[T_co]
    about: str
    required: bool = False
    default: str = ""
    example: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """A map with known keys; `title` is the noun for it in messages and in the reference."""

    title: str
    keys: tuple[Key[object], ...]

    @property
    def ref(self) -> str:
        """The name of its definition in the JSON Schema."""
        return self.title.replace(" ", "_")

    def read(self, node: Mapping, report: Report) -> Fields:
        """Read every key that is there; report unknown, missing and empty ones."""
        known = {key.name: key for key in self.keys}
        fields = Fields(node)
        for name, child in node.entries.items():
            key = known.get(name)
            if key is None:
                self._unknown(name, node.key_spots[name], report)
            elif isinstance(child, Scalar) and child.value is None:
                _empty(key, child, node.key_spots[name], report)
            else:
                fields.values[name] = key.kind.read(child, name, report)
        for key in self.keys:
            if key.required and key.name not in node.key_spots:
                message = f'{self._called(node)} has no key "{key.name}"'
                report.error("E201", message, node.spot, f"write {key.example}")
        return fields

    def _called(self, node: Mapping) -> str:
        """Name the map by its title, and by its own name if it has one."""
        name = node.entries.get("name")
        return f"{self.title} {quoted(name.text)}" if isinstance(name, Scalar) and name.text else self.title

    def _unknown(self, name: str, spot: Spot, report: Report) -> None:
        """Report an unknown key with the nearest known one, else with all."""
        names = [key.name for key in self.keys]
        hint = "" if report.full else did_you_mean(name, names) or f"{self.title} has {', '.join(names)}"
        report.error("E214", f"unknown key {quoted(name)}", spot, hint)

    def schema(self) -> Schema:
        """Describe the map to an editor."""
        properties = {key.name: {"description": key.about, **key.kind.schema()} for key in self.keys}
        required = [key.name for key in self.keys if key.required]
        shape: Schema = {"type": "object", "additionalProperties": False, "properties": properties}
        return {**shape, "required": required} if required else shape


def _empty(key: Key[object], child: Scalar, spot: Spot, report: Report) -> None:
    if key.required:
        report.error("E203", f"{key.name} is empty", child.spot, f"write {key.example}")
    else:
        report.warn("W104", f"{key.name} is empty and counts as absent", spot, "give it a value, or delete the line")


class Fields:
    """What was read of one map: values by key, and the places that later checks point at."""

    __slots__ = ("node", "values")

    def __init__(self, node: Mapping) -> None:
        """Begin with nothing read."""
        self.node = node
        self.values: dict[str, object] = {}

    def take(self, key: Key[T]) -> T | None:
        """Return a key's value, nothing if it is absent or was in error."""
        # A value was put there by this key's own kind and by nothing else.
        return cast("T | None", self.values.get(key.name))

    def stands(self, key: Key[object]) -> bool:
        """Tell whether the key is written in the file with anything behind it, in error or not."""
        return key.name in self.values

    def spot(self, key: Key[object]) -> Spot:
        """Return where the value of a key stands, or the map if the key is absent."""
        child = self.node.entries.get(key.name)
        return self.node.spot if child is None else child.spot

    def key_spot(self, key: Key[object]) -> Spot:
        """Return where a key itself stands, or the map if it is absent."""
        return self.node.key_spots.get(key.name, self.node.spot)


@dataclass(frozen=True, slots=True)
class Record:
    """A map with known keys as a value."""

    table: Table

    @property
    def words(self) -> str:
        """Name the table."""
        return f"map: {self.table.title}"

    def read(self, node: Node, what: str, report: Report) -> Fields | None:
        """Read the map."""
        if isinstance(node, Mapping):
            return self.table.read(node, report)
        if not isinstance(node, Blank):
            names = ", ".join(key.name for key in self.table.keys)
            report.error("E202", f"{what} must be a map, not {described(node)}", node.spot, f"with the keys {names}")
        return None

    def schema(self) -> Schema:
        """Refer to the table's definition."""
        return {"$ref": f"#/$defs/{self.table.ref}"}


@dataclass(frozen=True, slots=True)
class Shorthand:
    """A map with known keys, or one value that stands for its first key."""

    table: Table

    @property
    def words(self) -> str:
        """Name both forms."""
        return f"{self.table.keys[0].kind.words}, or map: {self.table.title}"

    def read(self, node: Node, what: str, report: Report) -> Fields | None:
        """Read either form."""
        if isinstance(node, Scalar):
            first = self.table.keys[0].name
            node = Mapping(node.spot, {first: node}, {first: node.spot})
        return Record(self.table).read(node, what, report)

    def schema(self) -> Schema:
        """Offer both forms."""
        return {"oneOf": [self.table.keys[0].kind.schema(), Record(self.table).schema()]}


@dataclass(frozen=True, slots=True)
class ListOf(Generic[T]):
    """A list of one kind; `least` entries, `unique` without repetitions."""

    kind: Kind[T]
    least: int = 0
    unique: bool = False

    @property
    def words(self) -> str:
        """Name the entries."""
        return f"list of {self.kind.words.removeprefix('map: ')}"

    def read(self, node: Node, what: str, report: Report) -> list[Located[T]] | None:
        """Read each entry; those in error are left out."""
        if isinstance(node, Blank):
            return None
        if not isinstance(node, Sequence):
            hint = (
                "put a dash before it"
                if isinstance(node, Mapping)
                else "write [a, b] or one entry per line with a dash"
            )
            report.error("E202", f"{what} must be a list, not {described(node)}", node.spot, hint)
            return None
        if len(node.items) < self.least:
            report.error("E213", f"{what} has no entry", node.spot, f"at least {self.least}")
        found: list[Located[T]] = []
        seen: set[object] = set()
        for item in node.items:
            value = self.kind.read(item, f"{what} entry", report)
            if value is None:
                continue
            if self.unique and value in seen:
                text = item.text if isinstance(item, Scalar) else ""
                report.error("E236", f"{what} names {quoted(text)} twice", item.spot, "keep one")
                continue
            if self.unique:
                seen.add(value)
            found.append(Located(value, item.spot))
        return found

    def schema(self) -> Schema:
        """Describe it to an editor."""
        shape: Schema = {"type": "array", "items": self.kind.schema()}
        if self.least:
            shape["minItems"] = self.least
        return {**shape, "uniqueItems": True} if self.unique else shape


@dataclass(frozen=True, slots=True)
class MapOf(Generic[T]):
    """A map from the author's own names to one kind."""

    naming: Kind[str]
    kind: Kind[T]

    @property
    def words(self) -> str:
        """Name both sides."""
        return f"map of {self.naming.words} to {self.kind.words.removeprefix('map: ')}"

    def read(self, node: Node, what: str, report: Report) -> dict[str, Located[T]] | None:
        """Read each entry; the place kept is that of its key."""
        if isinstance(node, Blank):
            return None
        if not isinstance(node, Mapping):
            report.error("E202", f"{what} must be a map, not {described(node)}", node.spot, "write name: value")
            return None
        found: dict[str, Located[T]] = {}
        for name, child in node.entries.items():
            spot = node.key_spots[name]
            named = self.naming.read(Scalar(spot, name, name, plain=False), f"{what} name", report)
            value = self.kind.read(child, f"{what}.{name}", report)
            if named is not None and value is not None:
                found[named] = Located(value, spot)
        return found

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "object", "additionalProperties": self.kind.schema()}


@dataclass(frozen=True, slots=True)
class Leaf:
    """One string somewhere inside a step's parameters."""

    text: Text
    spot: Spot


@dataclass(frozen=True, slots=True)
class ParamTree:
    """A step's parameters, and every template in them with its place."""

    params: Params
    leaves: tuple[Leaf, ...]


@dataclass(frozen=True, slots=True)
class Tree:
    """Any tree of maps, lists and scalars, whose strings are templates."""

    words: str = "map of anything"

    def read(self, node: Node, what: str, report: Report) -> ParamTree | None:
        """Read the tree; every string in it is compiled, every fault reported."""
        if isinstance(node, Blank):
            return None
        if not isinstance(node, Mapping):
            report.error("E202", f"{what} must be a map, not {described(node)}", node.spot, "write Name: value")
            return None
        leaves: list[Leaf] = []
        faults = _faults(node, what, leaves, report)
        # With a fault there will be no runbook, but the other templates are still to be looked at.
        return ParamTree(Params.compile({} if faults else plain_map(node), place=what), tuple(leaves))

    def schema(self) -> Schema:
        """Describe it to an editor."""
        return {"type": "object"}


# YAML 1.1 took these words for true and false, and many editors still paint them so.
_OLD_TRUTH = frozenset({"yes", "no", "on", "off"})


def _faults(node: Node, place: str, leaves: list[Leaf], report: Report) -> int:
    """Walk a parameter tree, gather its templates, and return how many faults were reported."""
    if isinstance(node, Mapping):
        count = 0
        for name, child in node.entries.items():
            text_of(Scalar(node.key_spots[name], name, name, plain=False), f"a key of {place}", report)
            if "{{" in name:
                hint = "keys are sent as they stand; only values are templates"
                report.error("E220", f"key {quoted(name)} of {place} holds a template", node.key_spots[name], hint)
            count += _faults(child, f"{place}.{name}", leaves, report)
        return count
    if isinstance(node, Sequence):
        return sum(_faults(item, f"{place}[{index}]", leaves, report) for index, item in enumerate(node.items))
    if isinstance(node, Blank):
        return 1
    if not isinstance(node.value, str):
        return 0
    if node.plain and node.text.lower() in _OLD_TRUTH:
        hint = f"write {'true' if node.text.lower() in {'yes', 'on'} else 'false'}, or put quotes around it"
        report.warn("W105", f"{place}: {quoted(node.text)} is text, not true or false", node.spot, hint)
    try:
        leaves.append(Leaf(Text.compile(node.value, place=place), node.spot))
    except TminusError as error:
        report.error(error.code, f"{place}: {error.message}", node.spot, error.hint)
        return 1
    return 0


def plain_map(node: Mapping) -> Map[str, object]:
    """Return a map of the tree as plain values."""
    return {name: _plain(child) for name, child in node.entries.items()}


def _plain(node: Node) -> object:
    if isinstance(node, Mapping):
        return plain_map(node)
    if isinstance(node, Sequence):
        return [_plain(item) for item in node.items]
    return node.value if isinstance(node, Scalar) else None


def tables_in(table: Table) -> Iterator[Table]:
    """Yield a table and every table that its keys lead to, each once, in order of appearance."""
    seen: dict[str, Table] = {}
    _gather(table, seen)
    yield from seen.values()


def _gather(table: Table, seen: dict[str, Table]) -> None:
    seen[table.title] = table
    for key in table.keys:
        kind: object = key.kind
        while isinstance(kind, ListOf | MapOf):
            kind = cast("ListOf[object] | MapOf[object]", kind).kind
        if isinstance(kind, Record | Shorthand) and kind.table.title not in seen:
            _gather(kind.table, seen)

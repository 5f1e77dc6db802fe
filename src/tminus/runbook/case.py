"""A case: how a runbook is to be rehearsed, and what must come of it. `runbook test` and `rehearse --expect` read it.

A case is a small YAML file under the limits of runbooks, with line and column for everything that is wrong in it. What
it expects is compared with what a rehearsal counted; whatever it does not mention may come out as it likes. This module
must not know how a rehearsal runs.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from tminus.runbook.intake import take_in
from tminus.runbook.problem import Problem, Report
from tminus.runbook.tree import Blank, Mapping, Scalar, Sequence, read_tree
from tminus.runbook.wording import did_you_mean, listed, quoted

if TYPE_CHECKING:
    from collections.abc import Callable

    from tminus.runbook.scalars import Value
    from tminus.runbook.tree import Node

GATES: Final = ("approve", "reject", "wait")
COUNTED: Final = {
    "batches": ("completed", "failed", "cancelled", "active", "detected", "init_dispatched", "closing"),
    "members": ("done", "failed", "removed", "cancelled", "active"),
    "steps": (
        "succeeded", "failed", "skipped", "cancelled", "rolled_back", "poll_timeout", "pending", "dispatched",
        "polling",
    ),
    "attempts": (
        "succeeded", "failed", "throttled", "timeout", "lost", "poll_timeout", "deadline", "cancelled", "marked_done",
    ),
    "phase": ("succeeded", "failed", "cancelled", "total", "open"),
}  # fmt: skip
NUMBERS: Final = ("exit", "members_total", "joined_late", "rolled_back")
_EXPECTED: Final = ("batches", "members", "steps", "attempts", "phases", "holds", "member", *NUMBERS)
_KEYS: Final = ("runbook", "members", "at", "data", "seed", "until", "gates", "faults", "expect")
_COMPARISON: Final = re.compile(r"(<=|>=|<|>|=)?\s*([0-9]{1,9})")
_HOW: Final = 'write a number, or a comparison such as ">= 1"'


@dataclass(frozen=True, slots=True)
class Amount:
    """A number to be compared: `3`, `">= 1"`, `"< 5"`."""

    sign: str
    number: int

    def fits(self, found: int) -> bool:
        """Tell whether a number is as expected."""
        if self.sign == "<=":
            return found <= self.number
        if self.sign == ">=":
            return found >= self.number
        if self.sign == "<":
            return found < self.number
        return found > self.number if self.sign == ">" else found == self.number

    def __str__(self) -> str:
        """Write it as it is read."""
        return str(self.number) if self.sign == "=" else f"{self.sign} {self.number}"


@dataclass(slots=True)
class PhaseExpected:
    """What is expected of a phase: its status, and counts of its lanes."""

    status: str | None = None
    counts: dict[str, Amount] = field(default_factory=dict[str, Amount])


@dataclass(slots=True)
class Expected:
    """What must come out; `holds` None says nothing about holds, an empty list that none may be open."""

    counts: dict[str, dict[str, Amount]] = field(default_factory=dict[str, "dict[str, Amount]"])
    numbers: dict[str, Amount] = field(default_factory=dict[str, Amount])
    phases: dict[str, PhaseExpected] = field(default_factory=dict[str, PhaseExpected])
    members: dict[str, str] = field(default_factory=dict[str, str])
    holds: tuple[str, ...] | None = None


@dataclass(slots=True)
class Case:
    """A rehearsal to be run; what is None is left to whoever runs it. Paths are relative to the case's file."""

    runbook: str | None = None
    members: str | None = None
    at: str | None = None
    data: dict[str, str] = field(default_factory=dict[str, str])
    seed: int | None = None
    until: str | None = None
    gates: str | None = None
    faults: tuple[str, ...] = ()
    expect: Expected = field(default_factory=Expected)


def parse_case(text: str | bytes) -> tuple[Case | None, tuple[Problem, ...]]:
    """Read a case: the case if there is no error, and every problem."""
    report = Report()
    clean = take_in(text, report)
    tree = None if clean is None else read_tree(clean, report)
    case = None if tree is None else _Reading(report).case(tree)
    return (None if report.failed else case), report.sorted()


class _Reading:
    """Reads the parts of a case, and reports what is wrong."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def case(self, tree: Mapping) -> Case:
        case = Case()
        for name, node in self._known(tree, _KEYS, "a case"):
            if name == "expect":
                case.expect = self._expected(node)
            elif name == "faults":
                case.faults = tuple(self._texts(node))
            elif name == "data":
                case.data = {key: str(self._text(value) or "") for key, value in self._map(node)}
            elif name == "seed":
                case.seed = self._whole(node)
            elif name == "gates":
                case.gates = self._one_of(node, GATES)
            else:
                setattr(case, name, self._text(node))
        if "expect" not in tree.entries and not self._report.failed:
            self._report.error("E431", "the case expects nothing", tree.spot, "add expect: {members: {failed: 0}}")
        return case

    def _expected(self, node: Node) -> Expected:
        expected = Expected()
        for name, part in self._known(node, _EXPECTED, "expect"):
            if name in NUMBERS:
                expected.numbers |= self._amount(name, part)
            elif name == "holds":
                expected.holds = tuple(self._texts(part))
            elif name == "member":
                expected.members = {key: self._one_of(value, COUNTED["members"]) for key, value in self._map(part)}
            elif name == "phases":
                expected.phases = {key: self._phase(value) for key, value in self._map(part)}
            else:
                expected.counts[name] = self._amounts(part, COUNTED[name], name)
        return expected

    def _phase(self, node: Node) -> PhaseExpected:
        if not isinstance(node, Mapping):
            return PhaseExpected(self._text(node))
        found = PhaseExpected()
        for name, part in self._known(node, ("status", *COUNTED["phase"]), "a phase"):
            if name == "status":
                found.status = self._text(part)
            else:
                found.counts |= self._amount(name, part)
        return found

    def _amounts(self, node: Node, known: tuple[str, ...], what: str) -> dict[str, Amount]:
        found: dict[str, Amount] = {}
        for name, part in self._known(node, known, what):
            found |= self._amount(name, part)
        return found

    def _amount(self, name: str, node: Node) -> dict[str, Amount]:
        text = self._text(node)
        match = _COMPARISON.fullmatch(text) if text is not None else None
        if match is None:
            if text is not None:
                self._wrong(node, f"{quoted(text)} is no number", _HOW)
            return {}
        return {name: Amount(match[1] or "=", int(match[2]))}

    # -- kinds of nodes --------------------------------------------------------------------------------------------

    def _known(self, node: Node, known: tuple[str, ...], what: str) -> list[tuple[str, Node]]:
        found: list[tuple[str, Node]] = []
        for name, part in self._map(node):
            if name in known:
                found.append((name, part))
                continue
            spot = node.key_spots[name] if isinstance(node, Mapping) else part.spot
            hint = did_you_mean(name, known) or f"known here: {listed(known)}"
            self._report.error("E214", f"unknown key {quoted(name)} in {what}", spot, hint)
        return found

    def _map(self, node: Node) -> list[tuple[str, Node]]:
        if isinstance(node, Mapping):
            return list(node.entries.items())
        self._wrong(node, "is no map", "write NAME: VALUE lines")
        return []

    def _texts(self, node: Node) -> list[str]:
        if isinstance(node, Sequence):
            return [text for text in map(self._text, node.items) if text is not None]
        self._wrong(node, "is no list", "write [one, two]")
        return []

    def _text(self, node: Node) -> str | None:
        if isinstance(node, Scalar) and node.value is not None:
            return node.text
        self._wrong(node, "is no plain value", "write one word or text")
        return None

    def _one_of(self, node: Node, known: tuple[str, ...]) -> str:
        text = self._text(node)
        if text is not None and text not in known:
            self._wrong(node, f"{quoted(text)} is none of the words here", did_you_mean(text, known) or listed(known))
        return text or ""

    def _whole(self, node: Node) -> int | None:
        return _checked(node, lambda value: isinstance(value, int) and not isinstance(value, bool), self._wrong)

    def _wrong(self, node: Node, said: str, hint: str) -> None:
        if not isinstance(node, Blank):
            self._report.error("E431", said, node.spot, hint)


def _checked(node: Node, fits: Callable[[Value], bool], wrong: Callable[[Node, str, str], None]) -> int | None:
    if isinstance(node, Scalar) and fits(node.value):
        return int(node.text, 0)
    wrong(node, "is no whole number", "write a number such as 7")
    return None

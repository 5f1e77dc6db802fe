"""Stubs in Python for the functions that a runbook names: one for each, by worker, with the parameters it is given."""

from __future__ import annotations

import keyword
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tminus.runbook.quoting import double_quoted
from tminus.runbook.wording import visible

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tminus.runbook.model import Runbook, Step

_BREAK = "\n"
_HEAD = '''\
"""The functions that the runbook names. Each stub fails at once until you have written its body.

Parameters arrive by name and keep their types: a list is a list, true is True. Return a dictionary of what
`output_params` names. `raise Pending()` while work goes on elsewhere, `raise Throttled(retry_after=30)` when the other
side asks to wait; both come `from tminus import Pending, Throttled`.
"""

from tminus import Fatal, function
'''


@dataclass(slots=True)
class Stub:
    """One function: who runs it, in which steps, with what, and what its result must hold."""

    name: str
    workers: list[str] = field(default_factory=list[str])
    steps: list[str] = field(default_factory=list[str])
    calls: list[frozenset[str]] = field(default_factory=list[frozenset[str]])
    params: dict[str, None] = field(default_factory=dict[str, None])
    outputs: dict[str, None] = field(default_factory=dict[str, None])
    polls: bool = False


@dataclass(slots=True)
class Offered:
    """The functions of a runbook by name, and the names that only a template knows."""

    named: dict[str, Stub] = field(default_factory=dict[str, Stub])
    computed: list[str] = field(default_factory=list[str])


def offered(book: Runbook) -> Offered:
    """Return every function that a runbook names, in the order in which it does."""
    found = Offered()
    for where, step in _steps(book):
        _take(found, where, step)
    return found


def _steps(book: Runbook) -> Iterator[tuple[str, Step]]:
    lists = [("init", book.init), *((phase.name, phase.steps) for phase in book.phases)]
    lists += [("on_member_removed", book.on_member_removed), ("on_member_failed", book.on_member_failed)]
    lists += [("on_batch_finished", book.on_batch_finished), *book.rollbacks.items()]
    for where, steps in lists:
        yield from ((where, step) for step in steps)


def _take(found: Offered, where: str, step: Step) -> None:
    texts = [step.function]
    if step.poll is not None and step.poll.function is not None:
        texts.append(step.poll.function)
    for text in texts:
        if not text.constant:
            if text.source not in found.computed:
                found.computed.append(text.source)
            continue
        stub = found.named.setdefault(text.source, Stub(text.source))
        stub.steps.append(f"{where}/{step.name}")
        if step.worker_id not in stub.workers:
            stub.workers.append(step.worker_id)
        stub.calls.append(frozenset(step.params.source))
        stub.params.update(dict.fromkeys(step.params.source))
        stub.outputs.update(dict.fromkeys(path for _, path in step.output_params))
        stub.polls = stub.polls or step.poll is not None


def written(found: Offered) -> str:
    """Write the file of stubs."""
    parts = [_HEAD]
    taken: set[str] = set()
    by_worker: dict[str, list[Stub]] = {}
    for stub in found.named.values():
        by_worker.setdefault(stub.workers[0], []).append(stub)
    for worker, mine in by_worker.items():
        parts.append(f"\n# -- worker {visible(worker)} --\n")
        parts += [_stub(stub, taken) for stub in mine]
    if found.computed:
        names = "\n".join(f"#   {visible(name)}" for name in found.computed)
        parts.append(
            f"\n# A template puts these names together; write one function for each that can come out:\n{names}\n"
        )
    return "\n".join(parts)


def _stub(stub: Stub, taken: set[str]) -> str:
    facts = [f"Called by {', '.join(dict.fromkeys(stub.steps))}."]
    if len(stub.workers) > 1:
        facts.append(f"Workers: {', '.join(stub.workers)}.")
    if stub.outputs:
        facts.append(f"The result must hold: {', '.join(stub.outputs)}.")
    if stub.polls:
        facts.append("It is called again until it is complete: `raise Pending()` until then.")
    first, *rest = [visible(fact).replace("\\", "/").replace('"', "'") for fact in facts]
    words = "\n    ".join(["", *rest, ""]) if rest else ""
    return (
        f"\n@function({double_quoted(stub.name)})\n"
        f"def {_identifier(stub.name, taken)}({_signature(stub)}):\n"
        f'    """{first}{_BREAK + words if rest else ""}"""\n'
        f"    raise Fatal({double_quoted(f'{stub.name} is not written yet')})\n"
    )


def _identifier(name: str, taken: set[str]) -> str:
    """Return a name for Python: New-EntraUser becomes new_entra_user."""
    words = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    plain = re.sub(r"\W+", "_", words, flags=re.ASCII).strip("_").lower() or "stub"
    if plain[0].isdigit() or keyword.iskeyword(plain) or plain in {"fatal", "function"}:
        plain = f"do_{plain}"
    chosen, number = plain, 1
    while chosen in taken:
        number += 1
        chosen = f"{plain}_{number}"
    taken.add(chosen)
    return chosen


def _signature(stub: Stub) -> str:
    """Return the parameters: those that every call gives are required; what Python cannot name comes in `rest`."""
    named = [name for name in stub.params if _can_be_named(name)]
    always = [name for name in named if all(name in call for call in stub.calls)]
    parts = [*always, *(f"{name}=None" for name in named if name not in always)]
    return ", ".join([*parts, *(["**rest"] if len(named) < len(stub.params) else [])])


def _can_be_named(name: str) -> bool:
    """Tell whether Python takes a name as it stands; letters beyond ASCII it would change."""
    return name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and name not in {"Fatal", "rest"}

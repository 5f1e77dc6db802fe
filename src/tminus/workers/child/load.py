"""People's files become a table of functions: by name, and by nothing else.

Each file is loaded under a name of its own, with its folder first on the path, so that it may import its neighbours. A
file that cannot be loaded is a `LoadError` with file and line, never a traceback.
"""

from __future__ import annotations

import sys
from difflib import get_close_matches
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from inspect import iscoroutinefunction, unwrap
from pathlib import Path
from typing import TYPE_CHECKING

from tminus.functions import OFFERED
from tminus.workers.child.bind import Binder
from tminus.workers.child.boundary import attempted, words_of
from tminus.workers.child.log import bounded

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MESSAGE_BYTES_MAX = 2000


class LoadError(Exception):
    """Why the functions cannot be offered, in the parts that a face lays out."""

    def __init__(self, code: str, message: str, *, file: str = "", line: int = 0, hint: str = "") -> None:
        """Keep the parts."""
        super().__init__(message)
        self.parts = {
            "code": code,
            "message": bounded(message, MESSAGE_BYTES_MAX),
            "file": file,
            "line": line,
            "hint": hint,
        }


class FunctionNotFound(Exception):  # noqa: N818 - a kind of failure by which runbooks may name it.
    """A job names a function that no file offers; trying again cannot help."""


class Offer:
    """One function on offer."""

    __slots__ = ("binder", "call", "is_async", "name", "place", "slow")

    def __init__(self, name: str, call: Callable[..., object]) -> None:
        """Look at the function once."""
        self.name = name
        self.call = call
        self.is_async = iscoroutinefunction(unwrap(call)) or iscoroutinefunction(type(call).__call__)
        self.binder = Binder(call)
        self.place = _place(call)
        self.slow = True
        """Whether its last call took long; one never called might."""


class Table:
    """The functions on offer; names resolve here and nowhere else."""

    __slots__ = ("_offers",)

    def __init__(self, offers: dict[str, Offer]) -> None:
        """Hold them."""
        self._offers = offers

    @property
    def names(self) -> list[str]:
        """Return the names in order."""
        return sorted(self._offers)

    @property
    def has_async(self) -> bool:
        """Say whether an event loop is needed."""
        return any(offer.is_async for offer in self._offers.values())

    def find(self, name: str) -> Offer | None:
        """Return the function of this name."""
        return self._offers.get(name)

    def missing(self, name: str) -> FunctionNotFound:
        """Return the refusal of a name, with the one that was probably meant."""
        names = list(self._offers)
        meant = get_close_matches(name[:200], names, n=1, cutoff=0.6)
        meant = meant or [known for known in names if known.casefold() == name.casefold()]
        hint = f', did you mean "{meant[0]}"?' if meant else ""
        return FunctionNotFound(f'no function "{name[:200]}" is offered here{hint}')


def loaded(files: Sequence[str]) -> Table:
    """Load the files, in order, and return what they offer."""
    paths = list(dict.fromkeys(str(Path(file).resolve()) for file in files))
    for folder in dict.fromkeys(str(Path(path).parent) for path in paths):
        sys.path.insert(0, folder)
    for index, path in enumerate(paths):
        _load(path, index, frozenset(paths))
    offers: dict[str, Offer] = {}
    for name, call in OFFERED.entries:
        offer = Offer(name, call)
        other = offers.setdefault(name, offer)
        if other is not offer and (other.place != offer.place or other.place == ("", 0)):
            file, line = offer.place
            where = "{}:{}".format(*other.place)
            raise LoadError(
                "E603",
                f'two functions are offered as "{name}", the other one at {where}',
                file=file,
                line=line,
                hint='give one of them another name: @function("...")',
            )
    if not offers:
        hint = "mark functions: from tminus import function, then @function above each"
        raise LoadError("E602", "no function is offered", file=", ".join(files), hint=hint)
    return Table(offers)


def _load(path: str, index: int, ours: frozenset[str]) -> None:
    name = f"tminus_functions_{index}_{Path(path).stem}"
    loader = SourceFileLoader(name, path)
    spec = spec_from_loader(name, loader)
    if spec is None:
        raise LoadError("E601", "the file cannot be loaded as Python", file=path)
    module = module_from_spec(spec)
    sys.modules[name] = module  # Dataclasses and annotations look their module up here.
    raised = attempted(partial(loader.exec_module, module))
    if not isinstance(raised, BaseException):
        return
    file, line = _fault(raised, ours, path)
    if isinstance(raised, OSError) and raised.filename == path:
        raise LoadError("E604", f"the file cannot be read: {raised.strerror}", file=path)
    words = raised.msg if isinstance(raised, SyntaxError) else words_of(raised)
    raise LoadError("E601", f"{type(raised).__name__}: {words}", file=file, line=line)


def _fault(raised: BaseException, ours: frozenset[str], path: str) -> tuple[str, int]:
    """Return the innermost place of a failure that lies in a file of the person who has to mend it."""
    if isinstance(raised, SyntaxError) and raised.filename:
        return raised.filename, raised.lineno or 0
    place, step = (path, 0), raised.__traceback__
    while step is not None:
        if step.tb_frame.f_code.co_filename in ours:
            place = (step.tb_frame.f_code.co_filename, step.tb_lineno)
        step = step.tb_next
    return place


def _place(call: Callable[..., object]) -> tuple[str, int]:
    code = getattr(unwrap(call), "__code__", None)
    return (str(getattr(code, "co_filename", "")), int(getattr(code, "co_firstlineno", 0)))

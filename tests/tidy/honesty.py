"""Nothing is waved through: no silenced type, no swallowed error, no query that asks which database it speaks to.

Each of these is a small comfort where it stands and a hole in what the gates promise everywhere else.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from typing import TYPE_CHECKING

from tests.tidy.tree import finding, modules, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# The outermost frames, around foreign code and around a round of the relay, outlive whatever is thrown.
BROAD_HANDLERS = {"src/tminus/workers/child/boundary.py": 1, "src/tminus/engine/relay.py": 1}

SILENCED_TYPE = re.compile(r"#\s*(?:type:\s*ignore|mypy:|pyright:(?!\s*ignore\[)|ruff:\s*noqa)")
BARE_WAIVER = re.compile(r"#\s*noqa(?::\s*[A-Z]+\d+(?:[,\s]+[A-Z]+\d+)*)?\s*$")


def comments(path: Path) -> Iterator[tuple[int, str]]:
    """Yield each comment of a file with its line; text in strings that looks like one is not."""
    for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def silenced_types(root: Path) -> list[str]:
    """Find comments in src that switch a checker off, for a line or for a file."""
    return [
        finding(root, path, line, f"'{text}' hides what the checker sees: mend the type")
        for path in modules(root, "src")
        for line, text in comments(path)
        if SILENCED_TYPE.match(text)
    ]


def bare_waivers(root: Path) -> list[str]:
    """Find lint waivers that do not say why."""
    return [
        finding(root, path, line, f"'{text}' needs its reason behind it")
        for path in modules(root, "src", "tests", "bench")
        for line, text in comments(path)
        if BARE_WAIVER.search(text)
    ]


def is_broad(handler: ast.ExceptHandler) -> bool:
    """Tell whether a handler takes whatever comes and does not throw it on."""
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {node.id if isinstance(node, ast.Name) else None for node in caught}
    takes_all = handler.type is None or bool(names & {"Exception", "BaseException"})
    last = handler.body[-1]
    throws_on = isinstance(last, ast.Raise) and last.exc is None
    return takes_all and not throws_on


def broad_handlers(root: Path) -> list[str]:
    """Find handlers of every exception outside the outermost frames."""
    found: list[str] = []
    seen: Counter[str] = Counter()
    for path in modules(root, "src"):
        place = path.relative_to(root).as_posix()
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ExceptHandler) and is_broad(node):
                seen[place] += 1
                if seen[place] > BROAD_HANDLERS.get(place, 0):
                    found.append(finding(root, path, node.lineno, "name the exceptions that are expected here"))
    return found


def names_in(node: ast.AST) -> set[str]:
    """Return every name and attribute that an expression mentions, in lower case."""
    inner = list(ast.walk(node))
    plain = {part.id.lower() for part in inner if isinstance(part, ast.Name)}
    return plain | {part.attr.lower() for part in inner if isinstance(part, ast.Attribute)}


def dialect_branches(root: Path) -> list[str]:
    """Find queries that branch on the database; a gap between databases has a name in `db` instead."""
    found: list[str] = []
    for path in modules(root, "src/tminus/store", "src/tminus/bus", "src/tminus/engine"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.If | ast.IfExp | ast.While):
                asked = node.test
            elif isinstance(node, ast.Match):
                asked = node.subject
            else:
                continue
            if any("dialect" in name for name in names_in(asked)):
                found.append(finding(root, path, node.lineno, "give this gap between databases a name in db"))
    return found

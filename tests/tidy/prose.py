"""What is written for people is true: headers stand, links lead somewhere, and named commands exist.

Documentation ages silently, because nothing runs it. These rules run the part that a program can judge.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tests.tidy.tree import finding, line_of, makefile_targets, modules, pages, parsed

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`[^`\n]+`")
LINK = re.compile(r"\[[^\]\n]*\]\(\s*<?([^)\s>]+)")
HEADING = re.compile(r"^#+\s+(.+?)\s*#*$", re.MULTILINE)
OUTER = re.compile(r"^(?:[a-z][a-z0-9+.-]*:|//)")
MAKE = re.compile(r"(?<![\w-])make((?:\s+(?:-\S+|[A-Z_]+=\S+))*)\s+([a-z][\w-]*)")
MODULE = re.compile(r"python3? -m (tminus(?:\.\w+)*)")
TREE_PATH = re.compile(r"`((?:src|tests|docs|bench|requirements)/[\w./-]+)`")


def module_headers(root: Path) -> list[str]:
    """Find modules without a header that says, in sentences, what they are."""
    found: list[str] = []
    for path in modules(root, "src", "tests", "bench"):
        opening = (ast.get_docstring(parsed(path)) or "").strip().split("\n\n", 1)[0]
        if not opening.endswith((".", ":", "!", "?")):
            found.append(finding(root, path, 1, "open with a docstring: what this is, why, what it must not know"))
    return found


def blanked(text: str, pattern: re.Pattern[str]) -> str:
    """Return the text with every match made blank, each position kept."""
    return pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def anchors(page: Path) -> set[str]:
    """Return the fragments that the headings of a page answer to."""
    text = blanked(page.read_text(encoding="utf-8"), FENCE)
    bare = (re.sub(r"[^\w\- ]", "", heading.lower()) for heading in HEADING.findall(text))
    return {heading.strip().replace(" ", "-") for heading in bare}


def broken_links(root: Path) -> list[str]:
    """Find links between pages that lead to no file or to no heading."""
    found: list[str] = []
    for page in pages(root):
        text = blanked(blanked(page.read_text(encoding="utf-8"), FENCE), INLINE)
        for match in LINK.finditer(text):
            target = match.group(1)
            if OUTER.match(target):
                continue
            name, _, fragment = target.partition("#")
            file = (page.parent / name).resolve() if name else page
            lost = not file.exists() or (fragment and file.suffix == ".md" and fragment not in anchors(file))
            if lost:
                found.append(finding(root, page, line_of(text, match.start()), f"the link '{target}' leads nowhere"))
    return found


def orphan_pages(root: Path) -> list[str]:
    """Find pages that no other page leads to, so that nobody finds them."""
    reached: set[Path] = set()
    for page in pages(root):
        targets = (target.partition("#")[0] for target in LINK.findall(page.read_text(encoding="utf-8")))
        reached |= {(page.parent / target).resolve() for target in targets if target} - {page.resolve()}
    lost = [page for page in sorted((root / "docs").rglob("*.md")) if page.resolve() not in reached]
    return [finding(root, page, 1, "no page leads here: link it from docs/README.md") for page in lost]


def code_spans(text: str) -> Iterator[re.Match[str]]:
    """Yield what a page sets as code: fenced blocks, then inline spans outside of them."""
    yield from FENCE.finditer(text)
    yield from INLINE.finditer(blanked(text, FENCE))


def lost_commands(root: Path) -> list[str]:
    """Find commands on pages whose make target or module is not there."""
    found: list[str] = []
    targets = makefile_targets(root)
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        for span in code_spans(text):
            named = {match.group(2) for match in MAKE.finditer(span.group())}
            lost = [f"the Makefile has no target '{target}'" for target in sorted(named - targets)]
            run = {match.group(1) for match in MODULE.finditer(span.group())}
            lost += [f"there is no module {module} to run" for module in sorted(run) if not can_run(root, module)]
            found += [finding(root, page, line_of(text, span.start()), sentence) for sentence in lost]
    return found


def can_run(root: Path, module: str) -> bool:
    """Tell whether `python -m` finds this module in the checkout."""
    place = root / "src" / module.replace(".", "/")
    return place.with_suffix(".py").is_file() or (place / "__main__.py").is_file()


def lost_paths(root: Path) -> list[str]:
    """Find paths on pages, set as code, that are not in the checkout."""
    found: list[str] = []
    for page in pages(root):
        text = page.read_text(encoding="utf-8")
        lost = [match for match in TREE_PATH.finditer(text) if not (root / match.group(1)).exists()]
        found += [finding(root, page, line_of(text, match.start()), f"there is no {match.group(1)}") for match in lost]
    return found

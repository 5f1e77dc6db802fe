"""Every rule, held against this checkout.

That each rule can fail is shown next door, on samples that are wrong in just the way the rule is about.
"""

from __future__ import annotations

import pytest

from tests.tidy import frozen, honesty, leaks, locks, prose, purity, size
from tests.tidy.tree import ROOT, Rule, is_checkout

RULES: list[Rule] = [
    size.file_ceilings,
    size.block_ceilings,
    size.module_names,
    purity.core_imports,
    purity.core_calls,
    purity.core_nested_imports,
    honesty.silenced_types,
    honesty.bare_waivers,
    honesty.broad_handlers,
    honesty.dialect_branches,
    prose.module_headers,
    prose.broken_links,
    prose.orphan_pages,
    prose.lost_commands,
    prose.lost_paths,
    frozen.thawed_migrations,
    locks.stale_locks,
]


def named(rule: Rule) -> str:
    return rule.__name__


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_the_checkout_keeps_the_rule(rule: Rule) -> None:
    found = rule(ROOT)
    assert not found, "\n" + "\n".join(found)


def test_nothing_of_one_machine_is_tracked() -> None:
    if not is_checkout(ROOT):
        pytest.skip("not a git checkout: nothing says which files are tracked")
    found = leaks.leaks(ROOT)
    assert not found, "\n" + "\n".join(found)

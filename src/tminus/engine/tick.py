"""The tick: whatever has become due is found and decided, a page at a time.

There is no leader and no message to oneself: a scheduler looks into the indexes and lets the store decide. Two ticks at
once do the same work twice at worst, and the second time nothing is left to do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from tminus.ports.store import Ticking

START: Final = ("", 0)
MOST_PAGES: Final = 200


def tick(store: Ticking, cursor_pages: int = MOST_PAGES) -> int:
    """Do everything that is due now; return how many events were decided.

    Waking lanes and ending members go on by cursors. `cursor_pages` is how many pages of each are taken now, so that a
    caller with answers to take can let them in between.
    """
    done = store.move_versions()
    for look in store.looks():
        page = look(START)
        for _ in range(MOST_PAGES):
            if page.events:
                done += store.decide(page.events)
            if page.after is None:
                break
            page = look(page.after)
    for step in (store.wake, store.end_members):
        for _ in range(cursor_pages):
            taken = step()
            done += taken
            if not taken:
                break
    return done

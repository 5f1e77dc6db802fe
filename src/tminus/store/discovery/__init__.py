"""Discovery: what a source's answer does to rows, batches and members.

An answer becomes `source_rows`, and a row that changed is marked. Batches follow the marks, in short transactions, and
a mark goes in the same commit as what it asked for. So a crash costs nothing but time, and an unchanged row costs one
comparison. Nothing here asks a source.
"""

from tminus.store.discovery.automation import set_automation
from tminus.store.discovery.manual import add_members, create_manual
from tminus.store.discovery.taking import DiscoveryStore

__all__ = ["DiscoveryStore", "add_members", "create_manual", "set_automation"]

"""The promises as one function: what must never be seen in a database, whatever happened to it.

The simulator calls `check` after every event, the long runs at their end, `doctor` in production. It only reads.
"""

from tminus.store.promises.checking import check
from tminus.store.promises.findings import Ended, Logs, Received, Started, Violation

__all__ = ["Ended", "Logs", "Received", "Started", "Violation", "check"]

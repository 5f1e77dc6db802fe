"""tminus: cohorts of things moved through a countdown.

The package root holds the version, and hands out the four names that files of functions use. Those are loaded when they
are asked for, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tminus.functions import Fatal as Fatal
    from tminus.functions import Pending as Pending
    from tminus.functions import Throttled as Throttled
    from tminus.functions import function as function

__version__ = "0.1.0"

_FUNCTION_NAMES = frozenset({"Fatal", "Pending", "Throttled", "function"})


def __getattr__(name: str) -> object:
    """Load what files of functions use on first use."""
    if name in _FUNCTION_NAMES:
        return getattr(import_module("tminus.functions"), name)
    raise AttributeError(f"module 'tminus' has no attribute '{name}'")

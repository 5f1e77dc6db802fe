"""tminus: cohorts of things moved through a countdown.

The package root holds the version only, so that importing it costs nothing.
"""

__version__ = "0.1.0"

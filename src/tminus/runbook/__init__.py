"""Runbooks: YAML in, a frozen and checked `Runbook` out; offsets, durations, templates and conditions.

Text is checked whole, once, with every error at its line and column; what leaves this room cannot be wrong in itself.
It does no I/O: it is handed text, and knows nothing of files, stores or the present.
"""

from tminus.runbook.parsing import load, parse
from tminus.runbook.problem import Problem, Verdict
from tminus.runbook.rendering import render

__all__ = ["Problem", "Verdict", "load", "parse", "render"]

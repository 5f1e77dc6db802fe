"""Runbooks: YAML in, a frozen and checked `Runbook` out; offsets, durations, templates and conditions.

Text is checked whole, once, with every error at its line and column; what leaves this room cannot be wrong in itself.
It does no I/O: it is handed text, and knows nothing of files, stores or the present.
"""

"""Runbooks: YAML text becomes a checked, frozen runbook; nothing here knows rows, a database or a clock."""

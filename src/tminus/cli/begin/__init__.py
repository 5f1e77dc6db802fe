"""Beginnings: the files that `tminus init` writes, from a sample, from nothing, or from what somebody has already.

Each module turns what it is given into drafts, texts with names. None of them writes a file or knows a database.
"""

"""The nouns: ids, instants, statuses, rows, and errors with codes.

Everything above speaks in these words. This room imports no other room and does no I/O.
"""

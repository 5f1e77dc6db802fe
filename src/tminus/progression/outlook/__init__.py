"""What a plan would do: who would run what, when and with which parameters, computed without touching anything.

Templates, conditions, offsets and rings are those of the engine; only what running alone can tell stands there as what
it is: a value that comes later. Nothing here reads rows or writes them.
"""

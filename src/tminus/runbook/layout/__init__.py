"""One layout for runbooks: keys in the order of the key table, two blanks of indentation, comments kept.

The text is taken apart by the events of a YAML reader, comments are hung on what they are about, and all of it is
written anew. What comes out must read as exactly the same runbook and hold exactly the same comments; else nothing
comes out. This room must not know files.
"""

from tminus.runbook.layout.laying import Unsafe, laid_out

__all__ = ["Unsafe", "laid_out"]

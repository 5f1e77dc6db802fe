"""The catalogue: every code that a person can meet, with its cause and its cure.

One module per noun holds the words; this one puts them together and refuses a code that is given twice. To add a
module, name it in the import and in `MODULES`. Faces look codes up here (`tminus explain E214`); nothing here knows who
raises them.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from tminus.domain.codes import authoring, operator, plan, runbook, source, store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tminus.domain.errors import Code

MODULES: Final = (runbook, source, operator, plan, authoring, store)


def merged(parts: Iterable[Iterable[Code]]) -> Mapping[str, Code]:
    """Put the codes of all modules into one table; a code given twice is a defect and stops the start."""
    catalogue: dict[str, Code] = {}
    for code in (code for part in parts for code in part):
        if code.code in catalogue:
            raise ValueError(f"{code.code} is given twice in the catalogue")
        catalogue[code.code] = code
    return MappingProxyType(catalogue)


CATALOGUE: Final = merged(module.CODES for module in MODULES)

"""Large results live apart, so that the tables people read stay small; rows refer to them."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Final

import orjson

from tminus.store.reading import number, text

if TYPE_CHECKING:
    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant

MOST_BYTES: Final = 256_000
_REFERENCE: Final = '{"$payload":'
_ADD: Final = "INSERT INTO payloads (digest, body, created_at) VALUES (?, ?, ?)"


def fit(tx: Tx, result_json: str | None, now: Instant) -> str | None:
    """Return the result itself, or a reference to it where it is too large for a row, or could pass for one."""
    if result_json is None or _is_small(result_json):
        return result_json
    body = result_json.encode("utf-8", "surrogatepass")
    digest = hashlib.sha256(body).hexdigest()
    known = tx.one("SELECT id FROM payloads WHERE digest = ?", (digest,))
    payload_id = number(known[0]) if known else tx.add(_ADD, (digest, result_json, now))
    return orjson.dumps({"$payload": payload_id, "bytes": len(body)}).decode()


def _is_small(result_json: str) -> bool:
    if result_json.startswith(_REFERENCE):
        return False
    # A character has one to four bytes, so that most results need not be counted.
    if len(result_json) * 4 <= MOST_BYTES:
        return True
    return len(result_json) <= MOST_BYTES and len(result_json.encode("utf-8", "surrogatepass")) <= MOST_BYTES


def full(tx: Tx, result_json: str | None) -> str | None:
    """Return a result in full, following a reference."""
    if result_json is None or not result_json.startswith(_REFERENCE):
        return result_json
    row = tx.one("SELECT body FROM payloads WHERE id = ?", (orjson.loads(result_json)["$payload"],))
    return None if row is None else text(row[0])

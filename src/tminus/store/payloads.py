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
_ADD: Final = "INSERT INTO payloads (digest, body, created_at) VALUES (?, ?, ?)"


def fit(tx: Tx, result_json: str | None, now: Instant) -> str | None:
    """Return the result itself, or a reference to it where it is too large for a row."""
    if result_json is None or len(result_json) <= MOST_BYTES:
        return result_json
    digest = hashlib.sha256(result_json.encode("utf-8", "surrogatepass")).hexdigest()
    known = tx.one("SELECT id FROM payloads WHERE digest = ?", (digest,))
    payload_id = number(known[0]) if known else tx.add(_ADD, (digest, result_json, now))
    return orjson.dumps({"$payload": payload_id, "bytes": len(result_json)}).decode()


def full(tx: Tx, result_json: str | None) -> str | None:
    """Return a result in full, following a reference."""
    if result_json is None or not result_json.startswith('{"$payload":'):
        return result_json
    row = tx.one("SELECT body FROM payloads WHERE id = ?", (orjson.loads(result_json)["$payload"],))
    return None if row is None else text(row[0])

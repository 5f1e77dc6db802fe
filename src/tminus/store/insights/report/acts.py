"""What people did and decided: the audit's acts on a batch, and its holds with everybody who answered them.

A retry of five hundred members is one act with five hundred subjects; what differs in nothing but its subject is folded
while it is read, so that no more than the few distinct acts are ever held.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, cast

import orjson

from tminus.runbook.masking import masked
from tminus.store.insights import holds as of_holds
from tminus.store.insights.records import Record, plain, records
from tminus.store.reading import IDS, ids, number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tminus.db.connection import Tx
    from tminus.domain.instant import Instant

MOST: Final = 1_000
FEW: Final = 5
_PAGE: Final = 5_000

_ANSWERS: Final = f"""SELECT v.entity_id, v.at, v.cause, v.actor FROM events v
  WHERE v.entity = 'hold' AND v.from_status IS NOT NULL AND v.batch_id IS ? AND v.member_id IS NULL
    AND v.entity_id IN {IDS}
  UNION ALL SELECT v.entity_id, v.at, v.cause, v.actor FROM events v
  WHERE v.entity = 'hold' AND v.from_status IS NOT NULL AND v.batch_id = ? AND v.member_id IN {IDS}
  ORDER BY 2, 1"""
_AUDIT: Final = plain("id", "at", "actor", "action", "subject", "reason", "outcome", of="a")
# One person's act on a batch, or on all batches of its runbook while it lived.
_ACTS: Final = f"""SELECT {{columns}} FROM audit a WHERE a.id > ? AND (a.scope = ?
  OR (a.scope IN ('', 'runbook') AND a.at >= ? AND a.at <= ? AND a.subject IN {IDS})) ORDER BY a.id LIMIT {_PAGE}"""
WORDS: Final = {
    "CreateBatch": "made the batch", "AddMembers": "added members", "Publish": "published the runbook",
    "ApplyPlan": "applied a plan", "Advance": "advanced the batch",
    "AnswerHold": "answered", "ApproveEarly": "approved before it was due",
    "CancelBatch": "cancelled the batch", "EditData": "edited data", "Move": "moved to another batch",
    "OpenHold": "paused", "PassStep": "skipped or marked done", "Remove": "removed", "Reschedule": "moved T-0",
    "SetTime": "gave an own T-0",
    "Retry": "tried again", "RetryCleanup": "tried the clean-up again", "RetryInit": "tried init again",
    "RollBack": "rolled back", "EnableAutomation": "had the source asked",
    "DisableAutomation": "stopped asking the source",
    "Activate": "activated the runbook", "Deactivate": "deactivated the runbook",
}  # fmt: skip


def holds(tx: Tx, batch: Record, now: Instant) -> list[Record]:
    """Return the holds of a batch, and those over all batches that fell into its life, the first first."""
    batch_id = int(str(batch["id"]))
    own = of_holds.listed(tx, batch_id=batch_id, closed=True)
    wide = of_holds.wide(tx, str(batch["runbook_name"]), str(batch["detected_at"]), str(batch["completed_at"] or now))
    found = sorted([*own, *wide], key=lambda one: (str(one["opened_at"]), int(str(one["id"]))))
    answers: dict[int, list[Record]] = {}
    members = ids(int(str(one["member_id"])) for one in own if one["member_id"] is not None)
    for home, listed in ((batch_id, own), (None, wide)):
        wanted = ids(int(str(one["id"])) for one in listed)
        for hold_id, at, cause, actor in tx.all(_ANSWERS, (home, wanted, home, members)):
            answer: Record = {"at": at, "answer": cause, "actor": actor}
            answers.setdefault(number(hold_id), []).append(answer)
    return [_hold(one, answers.get(int(str(one["id"])), [])) for one in found]


def _hold(row: Record, answers: Sequence[Record]) -> Record:
    """Return what is told of a hold: its evidence may name ids and is left to `tminus why`."""
    keys = (
        "id",
        "kind",
        "scope",
        "state",
        "is_open",
        "member_key",
        "phase_name",
        "opened_at",
        "opened_by",
        "expires_at",
    )
    told = {key: row[key] for key in (*keys, "closed_at", "closed_by")}
    return told | {
        "reason": masked(str(row["reason"])),
        "note": None if row["note"] is None else masked(str(row["note"])),
        "answers": list(answers),
    }


def acts(tx: Tx, batch: Record, now: Instant, listed: Sequence[Record]) -> list[Record]:
    """Return what people did to a batch, in its order; `listed` are its holds, from which answers have their words."""
    batch_id, name = int(str(batch["id"])), str(batch["runbook_name"])
    said = {
        (f"hold {hold['id']}", str(one["at"])): (str(one["answer"]), hold)
        for hold in listed
        for one in cast("list[Record]", hold["answers"])
    }
    subjects = [f"batch {batch_id}", name, f"runbook {name}", "all"]
    until = str(batch["completed_at"] or now)
    found: list[Record] = []
    after = 0
    while len(found) <= MOST:
        wanted = (after, f"batch {batch_id}", str(batch["detected_at"]), until, orjson.dumps(subjects).decode())
        page = records(tx, _AUDIT, _ACTS, wanted)
        for row in page:
            _fold(found, row, said)
        if len(page) < _PAGE:
            break
        after = int(str(page[-1]["id"]))
    return found[:MOST]


def _fold(found: list[Record], row: Record, said: dict[tuple[str, str], tuple[str, Record]]) -> None:
    subject, action = str(row["subject"]), str(row["action"])
    words = WORDS.get(action, action)
    if (subject, str(row["at"])) in said:
        answer, hold = said[subject, str(row["at"])]
        words = f"{answer}: {hold['kind']}"
        about = [str(hold[key]) for key in ("phase_name", "member_key") if hold[key]]
        subject = " ".join(about) or {"batch": "the batch", "all": "everything"}.get(str(hold["scope"]), subject)
    act: Record = {
        "at": row["at"],
        "until": row["at"],
        "actor": row["actor"],
        "action": action,
        "words": words,
        "reason": masked(str(row["reason"])),
        "outcome": row["outcome"],
        "count": 1,
        "subjects": [subject],
    }
    alike = ("actor", "action", "words", "reason", "outcome")
    if found and all(found[-1][key] == act[key] for key in alike):
        last = found[-1]
        last |= {"count": int(str(last["count"])) + 1, "until": row["at"]}
        few = cast("list[str]", last["subjects"])
        if len(few) < FEW:
            few.append(subject)
    else:
        found.append(act)

"""Differences in words: each key of a runbook that changes is told, once, and nothing else is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.unit.runbook.samples import CORPUS, valid_files
from tminus.runbook import load
from tminus.runbook.difference import differences
from tminus.runbook.layout import laid_out

if TYPE_CHECKING:
    from pathlib import Path

EVERY_KEY = (CORPUS / "valid" / "every-key.yaml").read_text(encoding="utf-8")

EDITS = [
    ("timezone: Europe/Berlin", "timezone: Europe/Paris", "timezone Europe/Berlin -> Europe/Paris"),
    ("inputs: [repoUrn, prId]", "inputs: [repoUrn, prId, more]", "inputs repoUrn, prId -> repoUrn, prId, more"),
    ("FROM migration.members", "FROM migration.people", "source query changed"),
    ("policy: remove", "policy: propose", "source leavers remove, grace 2, brake 20% -> propose, grace 2, brake 20%"),
    ("retry: {max_retries: 2,", "retry: {max_retries: 5,", "retries 2 -> 5"),
    (
        "Start-Move: {per_minute: 120}",
        "Start-Move: {per_minute: 90}",
        "limit Start-Move 120 per minute -> 90 per minute",
    ),
    ("  Start-Move: {per_minute: 120}\n", "", "limit Start-Move 120 per minute -> none"),
    (
        "output_params: {GroupId: id}",
        "output_params: {GroupId: key}",
        "init step create-group: output_params.GroupId id -> key",
    ),
    ("offset: T-7d", "offset: T-8d", "phase check: offset T-7d -> T-8d"),
    ("gate: {expires: 12h}", "gate: {}", "phase prepare: gate yes, expires after 12h -> yes"),
    ('rings: [1, "10%", "100%"]', 'rings: [2, "100%"]', "phase prepare: rings 1, 10%, 100% -> 2, 100%"),
    ('    brake: "10%"\n', "", "phase prepare: brake 10% -> none"),
    ("preflight: {valid: 7d}", "preflight: {valid: 1d}", "phase check: preflight valid for 7d -> valid for 1d"),
    ("deadline: 8m\n", "deadline: 9m\n", "phase prepare: deadline 8m from dispatch -> 9m from dispatch"),
    ("    overlap: true\n", "", "phase cutover: overlap true -> none"),
    ("Enabled: true", "Enabled: 1", "phase prepare: step create-user: params.Enabled true -> 1"),
    ("          Quota: 50\n", "", "phase prepare: step create-user: params.Quota 50 -> none"),
    (
        'when: "{{HasArchive}} == true"',
        'when: "{{HasArchive}} == false"',
        "phase prepare: step create-user: when {{HasArchive}} == true -> {{HasArchive}} == false",
    ),
    ("        on_failure: undo-user\n", "", "phase prepare: step create-user: on_failure undo-user -> none"),
    ("timeout: 30m", "timeout: 31m", "phase prepare: step create-user: timeout 30m -> 31m"),
    ("          max_retries: 3\n", "          max_retries: 4\n", "phase prepare: step create-user: retries 3 -> 4"),
    ("          jitter: true\n", "", "phase prepare: step create-user: retry_jitter true -> none"),
    ("        one_way: true\n", "", "phase cutover: step move-mailbox: one_way true -> none"),
    (
        "timeout: 8h, function: Get-Move",
        "timeout: 9h, function: Get-Move",
        "phase cutover: step move-mailbox: poll every 5m for 8h with Get-Move -> every 5m for 9h with Get-Move",
    ),
    (
        "worker_id: mail-worker\n        function: Send-Survey",
        "worker_id: other\n        function: Send-Survey",
        "phase care: step survey: worker_id mail-worker -> other",
    ),
    (
        'params: {Identity: "{{UserPrincipalName}}"}\n  - name: prepare',
        'params: {Identity: "{{Key}}"}\n  - name: prepare',
        'phase check: step check-mailbox: params.Identity "{{UserPrincipalName}}" -> "{{Key}}"',
    ),
    (
        "function: Send-Alert",
        "function: Send-Mail",
        "on_member_failed step tell-owner: function Send-Alert -> Send-Mail",
    ),
    (
        "  - name: care\n    offset: T+2d10h",
        "  - name: later\n    offset: T+2d10h",
        "phase care is gone (T+2d10h)|new phase later (T+2d10h)",
    ),
    (
        "      - name: survey\n",
        "      - name: ask\n",
        "phase care lost step survey (Send-Survey)|phase care gained step ask (Send-Survey)",
    ),
    ("description: Moves mailboxes", "description: Move mailboxes", "description changed"),
]


@pytest.mark.parametrize(("old", "new", "words"), EDITS, ids=[words[:50] for _, _, words in EDITS])
def test_what_changed_is_told_and_nothing_else(old: str, new: str, words: str) -> None:
    assert EVERY_KEY.count(old) >= 1
    changed = load(EVERY_KEY.replace(old, new, 1))
    assert [one.words for one in differences(load(EVERY_KEY), changed)] == words.split("|")


def test_a_rollback_gains_and_loses_steps() -> None:
    more = EVERY_KEY + "    - {name: tell, worker_id: w, function: Tell}\n  undo-more:\n"
    more += "    - {name: a, worker_id: w, function: f}\n"
    forth = [one.words for one in differences(load(EVERY_KEY), load(more))]
    assert forth == ["rollback undo-user gained step tell (Tell)", "new rollback undo-more (a)"]
    back = [one.words for one in differences(load(more), load(EVERY_KEY))]
    assert back == ["rollback undo-more is gone (a)", "rollback undo-user lost step tell (Tell)"]


def test_an_order_that_matters_is_told() -> None:
    step = "      - {{name: {0}, worker_id: w, function: f}}\n"
    head = "name: w\ndata_source: {type: manual, primary_key: E}\nphases:\n  - name: p\n    offset: T-0\n    steps:\n"
    one, two = head + step.format("a") + step.format("b"), head + step.format("b") + step.format("a")
    assert [it.words for it in differences(load(one), load(two))] == [
        "phase p: steps run in another order: a, b -> b, a"
    ]
    phase = "  - {{name: {0}, offset: {1}, steps: [{{name: s, worker_id: w, function: f}}]}}\n"
    top = "name: w\ndata_source: {type: manual, primary_key: E}\nphases:\n"
    three, four = (top + phase.format("a", "T-2d") + phase.format("b", "T-1d"),
                   top + phase.format("a", "T-2d") + phase.format("b", "T-3d"))  # fmt: skip
    assert [it.words for it in differences(load(three), load(four))] == [
        "phase b: offset T-1d -> T-3d",
        "phases run in another order: a, b -> b, a",
    ]


@pytest.mark.parametrize("path", valid_files(), ids=lambda path: path.name)
def test_layout_and_spelling_make_no_difference(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert differences(load(text), load(laid_out(text))) == []
    assert differences(load(EVERY_KEY), load(EVERY_KEY.replace("timeout: 30m", "timeout: 1800s"))) == []


def test_nothing_that_cannot_be_seen_reaches_a_terminal() -> None:
    changed = load(EVERY_KEY.replace("Enabled: true", 'Enabled: "\\e[31m"'))
    assert all(one.words.isprintable() for one in differences(load(EVERY_KEY), changed))

"""A fresh folder for each rehearsal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.acceptance.cli.terminal import Terminal

if TYPE_CHECKING:
    from pathlib import Path

BOOK = """\
name: wave
timezone: Europe/Berlin
data_source: {type: manual, primary_key: upn}
retry: {max_retries: 1, interval: 10m, unless: [Conflict]}
phases:
  - name: prepare
    offset: T-5d
    steps:
      - {name: create, worker_id: w, function: F-create, output_params: {TargetId: account.id}, on_failure: undo}
      - {name: check, worker_id: w, function: F-check, params: {id: "{{TargetId}}"}, poll: {interval: 1h, timeout: 20h}}
  - name: cutover
    offset: T-0
    gate: {expires: 12h}
    rings: [1, "100%"]
    brake: "30%"
    steps:
      - {name: move, worker_id: w, function: F-move, params: {id: "{{TargetId}}"}, on_failure: undo}
  - name: care
    offset: T+2d10h
    steps:
      - {name: survey, worker_id: v, function: F-survey}
rollbacks:
  undo:
    - {name: remove, worker_id: w, function: F-remove}
"""
KEYS = ("anna@contoso.com", "ben@contoso.com", "cleo@contoso.com", "dan@contoso.com")


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    for name in ("TMINUS_DB", "TMINUS_ACTOR", "NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    found = Terminal(tmp_path)
    (tmp_path / "runbook.yaml").write_text(BOOK, encoding="utf-8")
    (tmp_path / "members.csv").write_text("\n".join(["upn", *KEYS, ""]), encoding="utf-8")
    return found

"""Versions compared, and what one would do to live batches: told before, and then exactly that happens."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from tests.acceptance.cli.terminal import BOOK, MEMBERS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.acceptance.cli.terminal import Ran, Terminal

Rows = list[dict[str, object]]

CARE = """\
  - name: care
    offset: T+2d
    steps:
      - {name: ask, worker_id: w, function: F-ask}
on_member_removed:
"""
NEXT = BOOK.replace("function: F-check", "function: F-look").replace("on_member_removed:\n", CARE)
INIT = "init:\n  - {name: group, worker_id: w, function: F-group}\nphases:\n"


@pytest.fixture(name="wave")
def prepared(author: Terminal) -> Terminal:
    (author.folder / "runbook.yaml").write_text(BOOK, encoding="utf-8")
    (author.folder / "members.csv").write_text(MEMBERS, encoding="utf-8")
    (author.folder / "next.yaml").write_text(NEXT, encoding="utf-8")
    return author


def lines(ran: Ran) -> list[str]:
    return [line.strip() for line in ran.out.splitlines()]


TOLD = ["phase prepare: step check: function F-check -> F-look", "new phase care (T+2d)"]


def test_files_and_versions_are_named_in_every_way(wave: Terminal) -> None:
    assert lines(wave.well("runbook", "diff", "runbook.yaml", "next.yaml"))[1:] == TOLD
    wave.published()
    assert lines(wave.well("runbook", "diff", "next.yaml")) == ["wave@1 -> next.yaml", *TOLD]
    assert lines(wave.well("runbook", "diff")) == ["wave@1 -> runbook.yaml", "nothing differs"]
    wave.well("runbook", "publish", "next.yaml")
    ways: list[tuple[str, ...]] = [
        ("1", "2"), ("wave@1", "wave@2"), ("wave@1", "wave"), ("wave", "1", "2"), ("wave@v1", "v2"),
        ("runbook.yaml", "2"), ("1", "next.yaml"), ("wave",), ("1", "2", "--runbook", "wave"),
    ]  # fmt: skip
    for words in ways:
        assert lines(wave.well("runbook", "diff", *words))[1:] == TOLD, words


def test_scripts_get_keys_and_an_exit_code(wave: Terminal) -> None:
    wave.published()
    ran = wave.run("runbook", "diff", "next.yaml", "-o", "json", "--detailed-exitcode")
    assert ran.code == 10
    assert ran.fields() == {
        "old": {"name": "wave", "version": 1, "label": "wave@1"},
        "new": {"name": "wave", "version": None, "label": "next.yaml"},
        "changes": [
            {"place": "phase prepare: step check", "key": "function", "kind": "changed", "before": "F-check",
             "after": "F-look", "text": TOLD[0]},
            {"place": "phase", "key": "care", "kind": "new", "before": None, "after": "T+2d", "text": TOLD[1]},
        ],
    }  # fmt: skip
    assert wave.run("runbook", "diff", "runbook.yaml", "--detailed-exitcode").code == 0
    (wave.folder / "other.yaml").write_text(f"# said\n{BOOK}", encoding="utf-8")
    assert "only layout or comments differ" in wave.well("runbook", "diff", "other.yaml").out
    assert wave.well("runbook", "diff", "next.yaml", "-o", "name").out.splitlines() == TOLD


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("1", "9"), 7, "E404 there is no version 9"),
        (("wav",), 7, "E521"),
        (("wave",), 7, "version 1 is the first"),
        (("none.yaml",), 7, "E121"),
        (("a.yaml", "b.yaml", "c.yaml"), 2, "E401"),
        (("99999999999999999999", "1"), 7, "E404"),
    ],
)
def test_what_is_not_there_is_said(wave: Terminal, words: tuple[str, ...], code: int, said: str) -> None:
    ran = wave.published().run("runbook", "diff", *words)
    assert (ran.code, said in ran.err) == (code, True), ran.err


def test_a_number_alone_needs_one_name(wave: Terminal) -> None:
    wave.published()
    (wave.folder / "else.yaml").write_text(BOOK.replace("name: wave", "name: else"), encoding="utf-8")
    wave.well("runbook", "publish", "else.yaml")
    ran = wave.run("runbook", "diff", "1", "2")
    assert (ran.code, '--runbook NAME: "else", "wave"' in ran.err) == (2, True)


def told(wave: Terminal, *words: str) -> list[dict[str, object]]:
    """Return the batches of an impact, and make sure that looking has changed nothing."""
    before = wave.dump()
    found = wave.well("runbook", "impact", *words, "-o", "json").fields()
    assert wave.dump() == before
    assert wave.well("runbook", "impact", *words).out
    assert wave.dump() == before
    return cast("Rows", found["batches"])


def fates(batch: dict[str, object], mode: str) -> dict[str, tuple[object, object]]:
    """Return for each phase its status after the move, and whether it is held."""
    found: dict[str, tuple[object, object]] = {}
    for phase in cast("Rows", batch["phases"]):
        fate = cast("dict[str, object] | None", phase.get(f"overdue_{mode}"))
        if fate is not None:
            found[str(phase["phase_name"])] = (fate["status"], fate["is_held"])
    return found


def happened(wave: Terminal, version: int) -> dict[str, tuple[object, object]]:
    """Return the same as it came out: no job runs, the batches only move."""
    from tminus.bootstrap import open_store  # noqa: PLC0415 - a defect in it must not keep the other tests away.

    store = open_store(str(wave.path))
    store.move_versions()
    store.database.close()
    held = {row["phase_name"] for row in wave.well("hold", "list", "-o", "json").rows() if row["kind"] == "one_way"}
    phases = wave.well("batch", "phases", "1", "-o", "json").rows()
    return {
        str(row["phase_name"]): (row["status"], row["phase_name"] in held)
        for row in phases
        if row["runbook_version"] == version or (row["status"] == "superseded" and version == 9)
    }


@pytest.mark.parametrize("mode", ["rerun", "ignore"])
@pytest.mark.parametrize("one_way", [False, True])
def test_what_is_told_is_what_happens(wave: Terminal, mode: str, one_way: bool) -> None:  # noqa: FBT001 - a case.
    book, new = BOOK, NEXT
    if one_way:
        book, new = (text.replace("F-check}", "F-check, one_way: true}") for text in (BOOK, NEXT))
        (wave.folder / "runbook.yaml").write_text(book, encoding="utf-8")
        (wave.folder / "next.yaml").write_text(new, encoding="utf-8")
    wave.wave()
    (batch,) = told(wave, "next.yaml")
    assert (batch["moves"], batch["members_active"]) == (True, 3)
    wave.well("runbook", "publish", "next.yaml", "--overdue", mode)
    assert fates(batch, mode) == happened(wave, 2)
    assert fates(batch, mode)["prepare"] == (("skipped", False) if mode == "ignore" else ("pending", one_way))


def test_members_are_counted_where_they_stand(wave: Terminal) -> None:
    wave.wave(failing=["F-check"])
    wave.well("retry", "anna@contoso.com", "--reason", "mended")
    wave.work()
    (batch,) = told(wave, "next.yaml")
    prepare, cutover, care = cast("Rows", batch["phases"])
    assert (prepare["change"], prepare["past"], prepare["inside"]) == ("changed", 1, 0)
    assert cast("dict[str, object]", prepare["overdue_rerun"])["again"] == 1
    assert cast("dict[str, object]", prepare["overdue_ignore"])["members"] == 0
    assert (cutover["change"], care["change"]) == ("same", "new")
    assert cast("dict[str, object]", care["overdue_rerun"])["members"] == 1
    ran = wave.well("runbook", "impact", "next.yaml")
    assert "1 run it at once, 1 of them again" in ran.out
    assert "nobody: ignored" in ran.out


def test_a_phase_that_is_gone_is_shown(wave: Terminal) -> None:
    gone = BOOK[: BOOK.index("  - name: cutover")] + BOOK[BOOK.index("on_member_removed:") :]
    (wave.folder / "gone.yaml").write_text(gone, encoding="utf-8")
    wave.wave()
    (batch,) = told(wave, "gone.yaml")
    assert [(one["phase_name"], one["change"]) for one in cast("Rows", batch["phases"])] == [
        ("prepare", "same"),
        ("cutover", "gone"),
    ]


def test_batches_that_stay_say_why(wave: Terminal) -> None:
    text = BOOK.replace("phases:\n", INIT)
    (wave.folder / "runbook.yaml").write_text(text, encoding="utf-8")
    (wave.folder / "next.yaml").write_text(NEXT.replace("phases:\n", INIT), encoding="utf-8")
    wave.batch("--at", "2030-01-01")
    (batch,) = told(wave, "next.yaml")
    assert (batch["moves"], batch["stays_because"]) == (False, "its init is running; it moves when that has ended")
    assert batch["phases"] == []
    wave.work()
    (batch,) = told(wave, "next.yaml")
    assert (batch["moves"], batch["rerun_init_runs_init"]) == (True, True)
    assert "with --rerun-init it runs again" in wave.well("runbook", "impact", "next.yaml").out
    (batch,) = told(wave, "wave")
    assert (batch["moves"], batch["stays_because"]) == (False, "it runs this version already")


def test_a_version_that_is_published_and_not_followed_yet_is_told_as_well(wave: Terminal) -> None:
    wave.wave()
    before = told(wave, "next.yaml")
    wave.well("runbook", "publish", "next.yaml", "--overdue", "ignore")
    after = told(wave, "wave@2")
    for mode in ("rerun", "ignore"):
        assert fates(before[0], mode) == fates(after[0], mode)


def test_without_live_batches_there_is_nothing_to_tell(wave: Terminal) -> None:
    wave.published()
    assert told(wave, "next.yaml") == []
    assert wave.run("runbook", "impact", "none.yaml").code == 7
    columns: Sequence[str] = wave.well("runbook", "impact", "next.yaml").out.splitlines()
    assert columns == ["next.yaml: 0 of 0 live batches would move at the next tick"]

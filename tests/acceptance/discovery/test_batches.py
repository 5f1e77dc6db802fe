"""What an answer makes: batches, joiners, fresh data, rows that are left out, and the view that shows it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from tests.acceptance.discovery.stage import INTERVAL_S, LATER, NEAR, Scene, book, keys
from tminus.domain.instant import plus
from tminus.progression import events as ev
from tminus.runbook.model import DataSource
from tminus.sources.manual import MemberFile, read_member_bytes
from tminus.store.cohort import NewBatch
from tminus.store.discovery import create_manual
from tminus.testing.world import DAY, fails, ok

if TYPE_CHECKING:
    from pathlib import Path

DAYS_AGO_3, DAYS_AGO_9 = "2025-12-29 22:00", "2025-12-23 22:00"


def test_a_batch_for_each_time_with_its_members_and_phases(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR, "bob": NEAR, "cyd": LATER})
    assert scene.batches() == [(NEAR, NEAR, "active"), (LATER, LATER, "active")]
    assert (scene.members(1), scene.members(2)) == ({"ann": "active", "bob": "active"}, {"cyd": "active"})
    assert scene.world.value("SELECT count(*) FROM phase_executions WHERE due_at IS NOT NULL") == 4
    scene.until(NEAR)
    assert scene.world.called() == ["Make", "Make", "Switch", "Switch"]
    assert scene.violations() == []


def test_the_same_instant_in_two_spellings_is_one_batch(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": "2026-01-10 22:00", "bob": "2026-01-10T23:00:00+01:00", "cyd": "2026-01-10T22:00:00.900"})
    assert scene.batches() == [(NEAR, NEAR, "active")]


def test_an_old_time_begins_held_and_a_recent_one_does_not(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"old": DAYS_AGO_9, "new": DAYS_AGO_3})
    assert [kind for kind, _ in scene.holds()] == ["old_t0"]
    assert scene.world.member_status("new") == "done"
    assert scene.world.steps("old") == {}


def test_an_unchanged_source_changes_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR})
    before = scene.world.rows("SELECT * FROM batch_members"), scene.world.rows("SELECT * FROM source_rows")
    history = scene.world.value("SELECT count(*) FROM events")
    scene.look(3)
    assert (scene.world.rows("SELECT * FROM batch_members"), scene.world.rows("SELECT * FROM source_rows")) == before
    assert scene.world.value("SELECT count(*) FROM events") == history
    assert scene.questions == 4


def test_a_joiner_catches_up(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR})
    scene.until("2026-01-10 12:00")
    scene.told({"ann": NEAR, "bob": NEAR})
    assert scene.world.steps("bob") == {"make": "succeeded"}
    scene.until(NEAR)
    assert scene.world.steps("bob") == {"make": "succeeded", "switch": "succeeded"}


def test_data_follow_the_source_while_a_member_is_active_or_failed(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Switch": fails()}
    scene.told({"ann": (NEAR, "first")}, {"ann": (NEAR, "second")})
    assert scene.data("ann")["Name"] == "second"
    scene.until("2026-01-11 22:00")
    assert (scene.world.member_status("ann"), scene.world.batch_status()) == ("failed", "completed")
    scene.told({"ann": (NEAR, "third")})
    assert scene.data("ann")["Name"] == "third"
    scene.world.behaviours = {"Switch": ok()}
    scene.world.command(ev.Retry(actor="ann", reason="corrected", member_id=1))
    scene.world.run()
    assert scene.world.member_status("ann") == "done"
    scene.told({"ann": (NEAR, "fourth")})
    assert scene.data("ann")["Name"] == "third"


def test_an_own_edit_wins_over_the_source(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": (NEAR, "first")})
    scene.world.command(ev.EditData(actor="ann", reason="typo", member_id=1, values={"Name": "mine"}))
    scene.told({"ann": (NEAR, "second")})
    scene.until(NEAR)
    assert scene.world.calls[0].params == {"name": "mine"}


def test_a_key_of_a_live_manual_batch_is_left_out_until_that_has_ended(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    by_hand = scene.world.batch("wave", ["ann"], t0_in_s=None).batch_id
    scene.told({"ann": NEAR, "bob": NEAR})
    assert scene.members(2) == {"bob": "active"}
    assert scene.problems("left_out") == [("E362", "ann")]
    scene.look()
    assert scene.problems("left_out") == [("E362", "ann")]
    scene.world.command(ev.CancelBatch(actor="ann", reason="not so", batch_id=by_hand))
    scene.world.run()
    scene.look()
    assert scene.members(2) == {"bob": "active", "ann": "active"}
    assert scene.problems("left_out") == []


def handed(*names: str) -> MemberFile:
    text = "Key,Name\n" + "".join(f"{name},x\n" for name in names)
    return read_member_bytes(text.encode(), DataSource(type="manual", primary_key="Key"), name="list.csv")


def test_a_source_and_a_hand_that_spell_a_key_apart_mean_one_member(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    when = plus(scene.clock.now, 3 * DAY)
    create_manual(scene.world.store, "wave", handed("M000", "other"), when, {}, "ann")
    scene.told(keys(2))
    assert scene.problems("left_out") == [("E362", "M000")]
    assert scene.world.rows("SELECT batch_id, member_key FROM batch_members ORDER BY id") == [
        (1, "M000"), (1, "other"), (2, "m001"),
    ]  # fmt: skip
    assert create_manual(scene.world.store, "wave", handed("M001", "z"), when, {}, "ann").left_out == ["m001"]
    scene.world.pass_time(3 * DAY)
    scene.look()
    assert scene.problems("left_out") == [("E363", "M000")]
    assert scene.violations() == []


def test_s08_rows_of_a_finished_batch_are_ignored_also_under_a_new_version(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR})
    scene.until(NEAR)
    assert scene.world.batch_status() == "completed"
    scene.look(2)
    scene.publish(book() + "description: again\n")
    scene.look(2)
    scene.told({"ann": (NEAR, "renamed")})
    assert (len(scene.batches()), scene.members(), scene.holds()) == (1, {"ann": "done"}, [])
    assert scene.world.called("Switch") != []
    assert len(scene.world.called("Switch")) == 1


def test_new_keys_of_a_finished_batch_raise_one_alert(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR})
    scene.until(NEAR)
    scene.told(
        {"ann": NEAR, "bob": NEAR}, {"ann": NEAR, "bob": NEAR, "cyd": NEAR}, {"ann": NEAR, "cyd": NEAR, "bob": NEAR}
    )
    assert [kind for kind, _ in scene.holds()] == ["move"]
    scene.told({"ann": NEAR, "bob": (NEAR, "changed"), "cyd": NEAR})
    assert scene.listed("move") == ["bob", "cyd"]
    assert '"count":2' in str(scene.world.value("SELECT evidence_json FROM holds WHERE is_open"))
    assert scene.members() == {"ann": "done"}
    assert not scene.answer("move", "accept")
    assert scene.answer("move", "lift")
    scene.look(2)
    assert scene.holds() == []


def test_an_alert_about_a_finished_batch_is_taken_back_when_the_source_gives_another_time(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(2))
    scene.until("2026-01-11 00:00")
    scene.told(keys(4))
    assert [kind for kind, _ in scene.holds()] == ["move"]
    scene.told({**keys(3), "m003": LATER})
    assert [kind for kind, _ in scene.holds()] == ["move"]
    scene.told({**keys(2), "m002": LATER, "m003": LATER})
    assert (scene.holds(), scene.members(2)) == ([], {"m003": "active", "m002": "active"})


def test_a_done_key_with_a_new_time_is_not_run_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR, "bob": LATER})
    scene.until(NEAR)
    scene.told({"ann": LATER, "bob": LATER})
    assert scene.members(2) == {"bob": "active"}
    assert scene.problems("left_out") == [("E363", "ann")]


def test_a_failed_key_with_a_new_time_goes_with_the_next_wave(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Make": fails()}
    scene.told({"ann": NEAR, "bob": LATER})
    scene.until("2026-01-11 22:00")
    assert scene.world.batch_status() == "failed"
    scene.told({"ann": LATER, "bob": LATER})
    assert scene.members(2) == {"bob": "active", "ann": "active"}


def test_s07_a_failed_member_that_is_still_named_stays_failed_and_stops_nobody(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.world.behaviours = {"Make": fails()}
    scene.told({"ann": NEAR, "bob": LATER})
    scene.until("2026-01-10 12:00")
    scene.told({"ann": (NEAR, "again"), "bob": LATER, "cyd": LATER})
    assert scene.world.member_status("ann") == "failed"
    assert scene.world.value("SELECT count(*) FROM batch_members WHERE member_key = 'ann'") == 1
    assert scene.world.member_status("cyd") == "active"
    assert scene.error() is None


def test_s09_of_rows_with_one_key_the_first_counts(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.write(f"Key,Name,When\nann,first,{NEAR}\nann,second,{LATER}\nbob,Bob,{NEAR}\n")
    scene.look()
    assert (scene.members(), len(scene.batches())) == ({"ann": "active", "bob": "active"}, 1)
    assert scene.data("ann")["Name"] == "first"
    assert scene.problems() == [("E336", "ann")]
    assert scene.world.value("SELECT source_problem_count FROM runbooks") == 1


def test_s10_a_malformed_cell_costs_its_row_alone(tmp_path: Path) -> None:
    text = book(time="batch_time_column: When\n  multi_valued_columns: [{name: Name, format: json_array}]")
    scene = Scene(tmp_path, text)
    scene.write(f'Key,Name,When\nann,"[1",{NEAR}\nbob,"[""x""]",{NEAR}\ncyd,[],soon\n,[],{NEAR}\n')
    scene.look()
    assert scene.members() == {"bob": "active"}
    assert scene.data("bob")["Name"] == ["x"]
    assert [code for code, _ in scene.problems()] == ["E340", "E339", "E333"]
    scene.say({"ann": NEAR})
    scene.write(f"Key,Name,When\nann,[1],{NEAR}\nbob,[],{NEAR}\n")
    scene.look()
    assert scene.members() == {"bob": "active", "ann": "active"}
    assert scene.problems() == []


def test_w12_a_published_version_puts_nobody_into_a_second_batch(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR})
    scene.publish(book() + "description: two\n")
    scene.look(2)
    assert scene.world.value("SELECT count(*) FROM batch_members") == 1
    assert scene.world.value("SELECT runbook_version FROM batches") == 2
    assert scene.violations() == []


def test_a_key_in_another_spelling_is_the_same_member(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"Ann@x": NEAR, "bob": NEAR})
    scene.told({"ann@X": NEAR, "bob": NEAR})
    scene.look(3)
    assert scene.members() == {"Ann@x": "active", "bob": "active"}
    assert scene.data("Ann@x")["Key"] == "ann@X"


def test_many_rows_are_taken_in_chunks(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(4_500))
    assert scene.world.value("SELECT members_active FROM batches") == 4_500
    assert scene.world.value("SELECT count(*) FROM source_rows WHERE is_pending") == 0
    scene.told({**keys(4_500), **keys(250, start=4_500)})
    assert scene.world.value("SELECT members_active FROM batches") == 4_750
    assert scene.violations() == []


def test_joiners_of_an_open_batch_come_a_hundred_at_a_time(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told(keys(1))
    scene.say(keys(251))
    scene.clock.advance(INTERVAL_S)
    asked = scene.store.claim(scene.store.due_runbooks(scene.clock.now)[0], scene.clock.now)
    assert asked is not None
    steps = scene.store.take(asked, scene.open_source(asked.question.data_source).ask(asked.question))
    sizes = [1, *(int(scene.world.value("SELECT members_active FROM batches") or 0) for _ in steps)]
    assert (max(after - before for before, after in pairwise(sizes)), sizes[-1]) == (100, 251)


def test_a_batch_that_is_being_cancelled_takes_nobody(tmp_path: Path) -> None:
    scene = Scene(tmp_path, book().replace("function: Make,", "function: Make, one_way: true,"))
    scene.told({"ann": NEAR})
    scene.until("2026-01-10 12:00")
    scene.world.command(ev.CancelBatch(actor="ann", reason="not so", batch_id=1))
    scene.world.run()
    assert scene.world.rows("SELECT status, is_cancelling FROM batches") == [("active", 1)]
    scene.told({"ann": NEAR, "bob": NEAR})
    assert (scene.members(), scene.listed("move")) == ({"ann": "active"}, ["bob"])


def test_the_view_shows_what_the_source_last_said(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.told({"ann": NEAR, "bob": NEAR, "cyd": NEAR, "dan": NEAR, "eve": NEAR})
    scene.told({"ann": (NEAR, "New"), "bob": NEAR, "cyd": NEAR, "dan": NEAR})
    sql = 'SELECT _member_key, "Name", _batch_time, _is_current, _first_seen_at, _last_seen_at FROM runbook_wave_v1'
    found = {str(row[0]): row[1:] for row in scene.world.rows(sql)}
    first, second, t0 = "2026-01-01T00:05:00.000Z", "2026-01-01T00:10:00.000Z", "2026-01-10T22:00:00.000Z"
    assert found["ann"] == ("New", t0, 1, first, second)
    assert found["bob"] == ("Name of bob", t0, 1, first, second)
    assert found["eve"] == ("Name of eve", t0, 0, first, first)
    scene.write(f"Key,When,A new one\nann,{NEAR},x\nbob,{NEAR},y\ncyd,{NEAR},z\ndan,{NEAR},z\n")
    scene.look()
    sql = "SELECT name FROM pragma_table_info('runbook_wave_v1')"
    assert [str(name) for (name,) in scene.world.rows(sql)][6:] == ["Key", "When", "A new one"]


def test_a_batch_that_was_made_meanwhile_is_found_not_doubled(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    t0 = "2026-01-10T22:00:00.000Z"
    scene.world.store.create_batch(
        NewBatch("wave", [("ann", "{}")], t0=type(scene.clock.now)(t0), source_time=type(scene.clock.now)(t0))
    )
    scene.told({"ann": NEAR, "bob": NEAR})
    assert (len(scene.batches()), scene.members()) == (1, {"ann": "active", "bob": "active"})

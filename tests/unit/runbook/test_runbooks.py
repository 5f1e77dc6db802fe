"""From a valid file to the runbook: every key arrives, defaults are those of the reference."""

from __future__ import annotations

import pytest

from tests.unit.runbook.samples import CORPUS, SMALL, small
from tminus.runbook import load, parse
from tminus.runbook.condition import Condition
from tminus.runbook.model import (
    DataSource,
    Deadline,
    Gate,
    Leavers,
    Limit,
    MultiValued,
    Poll,
    Retry,
    Runbook,
    Share,
)
from tminus.runbook.offset import Offset
from tminus.runbook.template import Params, Text


@pytest.fixture(scope="module")
def book() -> Runbook:
    return load((CORPUS / "valid" / "every-key.yaml").read_bytes())


def test_the_head_and_the_source_arrive(book: Runbook) -> None:
    assert (book.name, book.timezone, book.inputs) == (
        "contoso-mailbox-migration",
        "Europe/Berlin",
        ("repoUrn", "prId"),
    )
    assert book.description.startswith("Moves mailboxes")
    query = book.data_source.query
    assert query is not None
    assert query.startswith("SELECT UserPrincipalName")
    assert book.data_source == DataSource(
        type="databricks",
        connection="DATABRICKS_HOST",
        warehouse_id="DATABRICKS_WAREHOUSE_ID",
        query=query,
        primary_key="UserPrincipalName",
        batch_time_column="MigrationDate",
        multi_valued_columns=(
            MultiValued(name="ProxyAddresses", format="semicolon_delimited"),
            MultiValued(name="Groups", format="comma_delimited"),
            MultiValued(name="Licences", format="json_array"),
        ),
        interval_s=300.0,
        leavers=Leavers(policy="remove", grace=2, brake=Share(percent=20.0)),
    )
    assert book.limits == {
        "cloud-worker": Limit(in_flight=50, per_minute=600),
        "Start-Move": Limit(in_flight=None, per_minute=120),
    }


def test_phases_arrive_with_all_that_holds_them(book: Runbook) -> None:
    check, prepare, cutover, care = book.phases
    assert (check.offset, check.preflight_valid_s) == (Offset(7, 0), 604_800.0)
    assert (prepare.gate, prepare.deadline) == (Gate(expires_s=43_200.0), Deadline(after_s=480.0, start="dispatch"))
    assert prepare.rings == (Share(count=1), Share(percent=10.0), Share(percent=100.0))
    assert (prepare.brake, prepare.overlap) == (Share(percent=10.0), False)
    assert (cutover.gate, cutover.brake, cutover.overlap) == (Gate(expires_s=None), Share(count=3), True)
    assert cutover.deadline == Deadline(after_s=480.0, start="due")
    assert care.offset == Offset(-2, -36_000)
    assert book.phases_by_name["care"] is care


def test_a_step_arrives_compiled(book: Runbook) -> None:
    step = book.phases[1].steps[0]
    assert (step.name, step.worker_id, step.on_failure, step.timeout_s) == (
        "create-user",
        "cloud-worker",
        "undo-user",
        1_800.0,
    )
    assert step.function == Text.compile("New-{{ObjectType}}")
    assert step.params == Params.compile(
        {
            "DisplayName": "{{DisplayName}}",
            "Enabled": True,
            "Quota": 50,
            "Tags": ["{{Department}}", "m365"],
            "Origin": {"Group": "{{GroupId}}", "Key": "{{_member_key}}"},
        }
    )
    assert step.when == Condition.compile("{{HasArchive}} == true")
    assert step.output_params == (("TargetId", "id"), ("TargetMailbox", "mailbox.address"))
    assert step.retry == Retry(
        max_retries=3,
        interval_s=30.0,
        backoff=2.0,
        max_interval_s=600.0,
        jitter=True,
        total_s=3_600.0,
        unless=("NotFound",),
    )


def test_a_step_without_retry_has_the_runbooks_and_one_of_its_own_replaces_it_whole(book: Runbook) -> None:
    common = Retry(max_retries=2, interval_s=60.0)
    assert book.retry == common
    assert book.init[0].retry == common
    assert book.rollbacks["undo-user"][0].retry == common
    move = book.phases[2].steps[0]
    assert move.retry == Retry(max_retries=0, interval_s=0.0)
    assert move.one_way
    assert move.poll == Poll(interval_s=300.0, timeout_s=28_800.0, function=Text.compile("Get-Move"))


def test_hooks_arrive(book: Runbook) -> None:
    assert [steps[0].name for steps in (book.on_member_removed, book.on_member_failed, book.on_batch_finished)] == [
        "remove-user",
        "tell-owner",
        "report",
    ]


def test_what_is_left_out_has_the_defaults_of_the_reference() -> None:
    book = load(SMALL)
    phase, step = book.phases[0], book.phases[0].steps[0]
    assert (book.description, book.timezone, book.inputs, book.retry, book.limits) == ("", "UTC", (), None, {})
    assert (book.init, book.on_member_removed, book.on_member_failed, book.on_batch_finished) == ((), (), (), ())
    assert (phase.gate, phase.rings, phase.brake, phase.preflight_valid_s, phase.deadline) == (
        None,
        (),
        None,
        None,
        None,
    )
    assert (step.when, step.output_params, step.on_failure, step.poll, step.retry) == (None, (), None, None, None)
    assert (step.timeout_s, step.one_way, step.params.constant) == (3_600.0, False, True)
    assert book.data_source == DataSource(type="manual", primary_key="Email")


def test_an_immediate_queue_ignores_leavers_unless_it_says_otherwise() -> None:
    queue = "type: csv, connection: X, batch_time: immediate"
    assert load(SMALL.replace("type: manual", queue)).data_source.leavers.policy == "ignore"
    told = load(SMALL.replace("type: manual", f"{queue}, leavers: {{grace: 1}}")).data_source.leavers
    assert (told.policy, told.grace) == ("ignore", 1)
    forced = load(SMALL.replace("type: manual", f"{queue}, leavers: {{policy: remove}}")).data_source.leavers
    assert forced.policy == "remove"
    timed = "type: csv, connection: X, batch_time_column: Date"
    assert load(SMALL.replace("type: manual", timed)).data_source.leavers.policy == "remove"


def test_a_runbook_of_the_toolkit_means_the_same() -> None:
    source = load((CORPUS / "valid" / "toolkit-immediate.yaml").read_bytes()).data_source
    assert (source.type, source.immediate, source.multi_valued_columns[0].format) == (
        "databricks",
        True,
        "semicolon_delimited",
    )
    book = load((CORPUS / "valid" / "toolkit-scheduled.yaml").read_bytes())
    assert [phase.offset.minutes for phase in book.phases] == [7_200, 240, 0]
    assert book.phases[2].steps[0].retry == Retry(max_retries=0, interval_s=0.0)


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("true", True),
        ("False", False),
        ("null", None),
        ("~", None),
        ("", None),
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("0", 0),
        ("0x1F", 31),
        ("0o17", 15),
        ("0.5", 0.5),
        (".5", 0.5),
        ("1e3", 1_000.0),
        ("9223372036854775807", 9_223_372_036_854_775_807),
        ("yes", "yes"),
        ("No", "No"),
        ("off", "off"),
        ("012", "012"),
        ("00.5", "00.5"),
        ("1:30", "1:30"),
        ("1_000", "1_000"),
        ("2026-12-04", "2026-12-04"),
        ("0b1", "0b1"),
        ("tRue", "tRue"),
        ("=", "="),
        ("'5'", "5"),
        ('"true"', "true"),
    ],
)
def test_scalars_follow_the_core_schema(written: str, value: object) -> None:
    verdict = parse(small(step=f"params:\n  A: {written}\n"))
    assert verdict.runbook is not None
    found = verdict.runbook.phases[0].steps[0].params.source["A"]
    assert found == value
    assert type(found) is type(value)


def test_numbers_are_taken_as_they_are_written_where_text_belongs() -> None:
    book = load(small(step="retry: {max_retries: 1, interval: 5s, unless: [404]}").replace("cloud", "007"))
    step = book.phases[0].steps[0]
    assert step.worker_id == "007"
    assert step.retry is not None
    assert step.retry.unless == ("404",)


def test_phases_may_share_an_offset() -> None:
    other = "  - {name: tell, offset: T-0, steps: [{name: a, worker_id: w, function: f}]}\n"
    assert parse(SMALL + other).problems == ()


def test_specials_are_found_in_any_case_and_where_they_have_a_value() -> None:
    everywhere = "{{_batch_id}} {{_Batch_Start_Time}} {{_runbook}} {{_runbook_version}} {{_step}} {{_attempt}}"
    member = everywhere + " {{_member_key}} {{_phase}}"
    finish = everywhere + " {{_outcome}} {{_succeeded}} {{_failed}} {{_round}} {{_members}}"
    line = "  - {{name: a, worker_id: w, function: f, params: {{A: '{0}'}}}}\n"
    top = f"init:\n{line.format(everywhere)}on_member_removed:\n{line.format(member)}"
    top += f"on_member_failed:\n{line.format(member)}on_batch_finished:\n{line.format(finish)}"
    assert parse(small(step=f"params: {{A: '{member}'}}", top=top)).problems == ()


@pytest.mark.parametrize(
    "step",
    [
        "params: {A: {B: ['{{_x}}']}}",
        "when: '{{_x}} == 1'",
        "poll: {interval: 1s, timeout: 1m, function: 'F-{{_x}}'}",
        "when: '{{a}} in [{{_x}}]'",
    ],
)
def test_names_are_checked_wherever_a_template_may_stand(step: str) -> None:
    assert [problem.code for problem in parse(small(step=step)).problems] == ["E225"]


def test_outputs_of_init_and_inputs_have_a_value_in_init_and_at_the_end() -> None:
    first = "{name: a, worker_id: w, function: f, output_params: {GroupId: id}}"
    second = "{name: b, worker_id: w, function: f, params: {A: '{{groupid}} {{ticket}}'}}"
    top = f"inputs: [Ticket]\ninit: [{first}, {second}]\non_batch_finished: [{second}]\n"
    assert parse(SMALL + top).problems == ()

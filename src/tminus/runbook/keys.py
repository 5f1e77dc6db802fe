"""The keys of a runbook: one table, three uses.

Validation reads a file by these tables, `tminus runbook schema` prints them for editors, and the reference page is
checked against them. A key that is not here does not exist; one that is here is read, described and documented. What
keys mean together (a poll that times out before it asks) is settled in `checks`, not here. Why these are tables of our
own and not models of a library stands in `docs/decisions/002-runbook-keys-as-one-table.md`.
"""

from __future__ import annotations

from typing import Final

from tminus.runbook.amounts import Flag, Number, Portion, Span
from tminus.runbook.kinds import AnyText, Choice, Name, OffsetText, SecretName, Template, When, Zone
from tminus.runbook.shapes import Key, ListOf, MapOf, Record, Shorthand, Table, Tree

SOURCE_TYPES: Final = ("dataverse", "databricks", "sql", "csv", "http", "event", "manual")
FORMATS: Final = ("semicolon_delimited", "comma_delimited", "json_array")
POLICIES: Final = ("remove", "propose", "ignore")
STARTS: Final = ("dispatch", "due")
OWN_NAME: Final = Name(special=False)


class RetryKeys:
    """How a failed attempt is tried again."""

    max_retries = Key("max_retries", Number(0, 1_000), "tries after the first", default="0")
    interval = Key("interval", Span(0), "wait before a retry; needed when there are any", example="interval: 1m")
    backoff = Key("backoff", Number(1, 100, whole=False), "factor by which each wait grows", default="1")
    max_interval = Key("max_interval", Span(), "longest wait", default="none")
    jitter = Key("jitter", Flag(), "vary each wait by up to 20 %", default="false")
    total = Key("total", Span(), "longest time over all tries", default="none")
    unless = Key("unless", ListOf(Name(), unique=True), "error types that are final at once", default="none")
    table: Final = Table("retry", (max_retries, interval, backoff, max_interval, jitter, total, unless))


class PollKeys:
    """How an unfinished step is asked again."""

    interval = Key("interval", Span(), "time between two questions", required=True, example="interval: 5m")
    timeout = Key("timeout", Span(), "give up after this, from the first answer", required=True, example="timeout: 8h")
    function = Key("function", Template("poll.function"), "another function to ask with", default="the step's own")
    table: Final = Table("poll", (interval, timeout, function))


class StepKeys:
    """One line of a step list."""

    name = Key("name", Name(), "unique in its list", required=True, example="name: create-user")
    worker_id = Key("worker_id", Name(longest=100), "who runs it", required=True, example="worker_id: cloud-worker")
    function = Key("function", Template("function"), "what is called", required=True, example="function: New-User")
    params = Key("params", Tree(), "what it is called with; every string in it is a template", default="none")
    when = Key("when", When(), "else the step is skipped", default="always")
    output_params = Key("output_params", MapOf(OWN_NAME, Name()), "output name: result field, dotted", default="none")
    on_failure = Key("on_failure", Name(), "the rollback that a final failure starts", default="none")
    timeout = Key("timeout", Span(), "longest run of one attempt, from the worker's claim", default="1h")
    one_way = Key("one_way", Flag(), "point of no return, from its dispatch on", default="false")
    poll = Key("poll", Record(PollKeys.table), "ask again until the work is complete", default="none")
    retry = Key("retry", Record(RetryKeys.table), "replaces the runbook's retry as a whole", default="the runbook's")
    table: Final = Table(
        "step",
        (name, worker_id, function, params, when, output_params, on_failure, timeout, one_way, poll, retry),
    )


STEPS: Final = ListOf(Record(StepKeys.table))


class GateKeys:
    """A human's go/no-go before a phase."""

    expires = Key("expires", Span(), "not approved by then counts as rejected", default="never")
    table: Final = Table("gate", (expires,))


class PreflightKeys:
    """A phase that runs before the rest and grows old."""

    valid = Key("valid", Span(), "run again at T-0 when older than this", required=True, example="valid: 7d")
    table: Final = Table("preflight", (valid,))


class DeadlineKeys:
    """How long one member may take in a phase."""

    after = Key("after", Span(), "how long", required=True, example="after: 8m")
    start = Key("from", Choice(STARTS), "from the lane's first dispatch, or from the due time", default="dispatch")
    table: Final = Table("deadline", (after, start))


class PhaseKeys:
    """Steps that fire at one offset of T-0."""

    name = Key("name", Name(), "unique in the runbook", required=True, example="name: prepare")
    offset = Key("offset", OffsetText(), "when it fires", required=True, example="offset: T-5d")
    gate = Key("gate", Record(GateKeys.table), "a human's go/no-go before it", default="none")
    rings = Key("rings", ListOf(Portion(zero=False), least=1), "start members in rings of these sizes", default="none")
    brake = Key("brake", Portion(zero=True), "more failures than this hold what has not started", default="none")
    preflight = Key("preflight", Record(PreflightKeys.table), "runs before the rest and grows old", default="none")
    deadline = Key("deadline", Shorthand(DeadlineKeys.table), "longest time of one member in it", default="none")
    overlap = Key("overlap", Flag(), "a member may enter before it finished the phase before", default="false")
    steps = Key("steps", ListOf(Record(StepKeys.table), least=1), "in this order", required=True, example="steps:")
    table: Final = Table("phase", (name, offset, gate, rings, brake, preflight, deadline, overlap, steps))


class ColumnKeys:
    """A column whose text is a list."""

    name = Key("name", Name(), "the column", required=True, example="name: ProxyAddresses")
    form = Key("format", Choice(FORMATS), "how the text is cut", default="semicolon_delimited")
    table: Final = Table("multi-valued column", (name, form))


class LeaverKeys:
    """What happens to members that the source no longer names."""

    policy = Key("policy", Choice(POLICIES), "what happens", default="remove; ignore with batch_time: immediate")
    grace = Key("grace", Number(1, 1_000), "complete answers without the member before it counts", default="2")
    brake = Key("brake", Portion(zero=True), "more than this within a day are held for a human", default='"20%"')
    table: Final = Table("leavers", (policy, grace, brake))


class SourceKeys:
    """Where members come from."""

    kind = Key("type", Choice(SOURCE_TYPES), "kind of source", required=True, example="type: csv")
    connection = Key(
        "connection", SecretName(), "name of the variable that holds the address; not for event and manual"
    )
    warehouse_id = Key("warehouse_id", SecretName(), "name of the variable that holds it; databricks only")
    query = Key("query", AnyText(), "required for dataverse, databricks and sql")
    primary_key = Key(
        "primary_key", Name(), "column that identifies a member", required=True, example="primary_key: Email"
    )
    batch_time_column = Key("batch_time_column", Name(), "column that holds T-0; exactly one of this and `batch_time`")
    batch_time = Key("batch_time", Choice(("immediate",)), "T-0 is now; exactly one of this and `batch_time_column`")
    multi_valued_columns = Key(
        "multi_valued_columns", ListOf(Record(ColumnKeys.table)), "lists in text", default="none"
    )
    interval = Key("interval", Span(1), "how often the source is asked", default="5m")
    leavers = Key("leavers", Record(LeaverKeys.table), "members that the source no longer names", default="see leavers")
    table: Final = Table(
        "data source",
        (
            *(kind, connection, warehouse_id, query, primary_key, batch_time_column, batch_time),
            *(multi_valued_columns, interval, leavers),
        ),
    )


class LimitKeys:
    """A ceiling over all machines for one worker id or one function."""

    in_flight = Key("in_flight", Number(1, 1_000_000), "most jobs out at once", default="none")
    per_minute = Key("per_minute", Number(1, 1_000_000), "most jobs started in a minute", default="none")
    table: Final = Table("limit", (in_flight, per_minute))


class RunbookKeys:
    """The whole file."""

    name = Key("name", Name(), "identity of the runbook over its versions", required=True, example="name: wave")
    description = Key("description", AnyText(blank=True), "for people", default="none")
    timezone = Key("timezone", Zone(), "zone of naive batch times and of calendar days", default="UTC")
    inputs = Key("inputs", ListOf(OWN_NAME, unique=True), "names that a batch must bring as batch data", default="none")
    data_source = Key(
        "data_source", Record(SourceKeys.table), "where members come from", required=True, example="data_source:"
    )
    retry = Key("retry", Record(RetryKeys.table), "for every step without its own", default="none")
    limits = Key("limits", MapOf(Name(), Record(LimitKeys.table)), "by worker id or function", default="none")
    init = Key("init", STEPS, "once per batch and version, before any phase", default="none")
    phases = Key(
        "phases",
        ListOf(Record(PhaseKeys.table), least=1),
        "in this order at equal offsets",
        required=True,
        example="phases:",
    )
    on_member_removed = Key("on_member_removed", STEPS, "for a member that leaves", default="none")
    on_member_failed = Key("on_member_failed", STEPS, "for a member that failed, after its rollback", default="none")
    on_batch_finished = Key("on_batch_finished", STEPS, "at every ending of the batch", default="none")
    rollbacks = Key("rollbacks", MapOf(Name(), ListOf(Record(StepKeys.table), least=1)), "named for on_failure")
    table: Final = Table(
        "runbook",
        (
            *(name, description, timezone, inputs, data_source, retry, limits, init, phases),
            *(on_member_removed, on_member_failed, on_batch_finished, rollbacks),
        ),
    )

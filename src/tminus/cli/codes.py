"""The errors of this room, for the catalogue: a defect of the program itself, and what the doctor finds."""

from tminus.domain.errors import Code, Side

DEFECT = Code(
    code="E590",
    title="A defect of the program",
    side=Side.INFRASTRUCTURE,
    cause="Something happened that nobody thought of. What was being written is undone as a whole.",
    cure="Report it with the message. TMINUS_TRACEBACK=1 in the environment shows where it happened.",
    example="E590 unexpected KeyError: 'phase' - report it; TMINUS_TRACEBACK=1 shows where",
    exit_code=1,
    http_status=500,
)
PROMISE_BROKEN = Code(
    code="E591",
    title="The database breaks a promise",
    side=Side.INFRASTRUCTURE,
    cause="Rows say something that never may be: two jobs out for one step, a counter that does not add up.",
    cure="Keep a copy of the database and report what the doctor says. Nothing was changed by looking.",
    example="E591 P03: execution 7 is dispatched and no job of it is out",
    exit_code=1,
    http_status=500,
)

NO_REST = Code(
    code="E592",
    title="A rehearsal does not come to rest",
    side=Side.INFRASTRUCTURE,
    cause="At one instant of its virtual clock one thing follows from another without an end.",
    cure="Report it with the runbook, the members and the seed. Nothing outside the rehearsal was touched.",
    example="2026-12-04T21:00:00.000Z: E592 the rehearsal does not come to rest - report it with the runbook",
    exit_code=1,
    http_status=500,
)

CODES: tuple[Code, ...] = (DEFECT, PROMISE_BROKEN, NO_REST)

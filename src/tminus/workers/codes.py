"""The errors of this room, for the catalogue: what a person meets who starts a worker.

Failures of single jobs have kinds, not codes: `ArgumentError` and its like belong to an attempt, and a runbook names
them.
"""

from tminus.domain.errors import Code, Side

FILE_BROKEN = Code(
    code="E601",
    title="A file of functions cannot be loaded",
    side=Side.WORKER,
    cause="Python met an error while it loaded the file: a syntax error, a missing package, or code that raises.",
    cure="Mend the line that the message names, or install what it imports into the environment of tminus.",
    example="functions.py:3: E601 ModuleNotFoundError: No module named 'msgraph'",
)
NO_FUNCTIONS = Code(
    code="E602",
    title="No function is offered",
    side=Side.WORKER,
    cause="No file was given, or none of the functions in it is marked.",
    cure="Write `from tminus import function` and put `@function` above each function that runbooks may call.",
    example="functions.py: E602 no function is offered",
)
NAME_TAKEN = Code(
    code="E603",
    title="Two functions have one name",
    side=Side.WORKER,
    cause="Two functions in the given files are offered under the same name, so that a job could mean either.",
    cure='Give one of them another name: `@function("Other-Name")`.',
    example='functions.py:12: E603 two functions are offered as "New-User", the other one at functions.py:4',
)
FILE_UNREADABLE = Code(
    code="E604",
    title="A file of functions cannot be read",
    side=Side.WORKER,
    cause="There is no such file, it is a folder, or this account may not read it.",
    cure="Check the path; it is relative to the folder in which the command runs.",
    example="function.py: E604 there is no such file",
    exit_code=7,
    http_status=404,
)
POOL_BROKEN = Code(
    code="E605",
    title="The worker's child processes do not start",
    side=Side.INFRASTRUCTURE,
    cause="A child process ended, or said nothing for 30 seconds, before it had loaded the files.",
    cure="Read the end of its output in the message: a crashing package, too little memory, or an import that waits.",
    example="E605 a child process did not start: the process was ended by signal 11 (SIGSEGV)",
    exit_code=1,
    http_status=500,
)

CODES: tuple[Code, ...] = (FILE_BROKEN, NO_FUNCTIONS, NAME_TAKEN, FILE_UNREADABLE, POOL_BROKEN)

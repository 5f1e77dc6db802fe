"""The codes of the database and of what is kept in it: E501 to E509 the database itself, E510 and up its content.

This module holds words only; who raises them is written in the database, progression and store rooms.
"""

from __future__ import annotations

from typing import Final

from tminus.domain.errors import Code, Side

_DATABASE: Final = (
    Code(
        code="E501",
        title="The database is newer than this program",
        side=Side.OPERATOR,
        cause="A newer version of tminus has changed it. An older one cannot know what its rows mean.",
        cure="Run the newer version, here and on every other machine that uses this database.",
        example="E501 the database tminus.db is at version 4, this program knows 3",
        exit_code=1,
        http_status=503,
    ),
    Code(
        code="E502",
        title="A migration is not the one that made the database",
        side=Side.INFRASTRUCTURE,
        cause="The program was built from changed migrations, so that it may expect other tables than there are.",
        cure="Run a released version, or the very build that made the database.",
        example="E502 migration 0001_tables.sql is not the one that made tminus.db",
        exit_code=1,
        http_status=503,
    ),
    Code(
        code="E503",
        title="The database is read-only",
        side=Side.INFRASTRUCTURE,
        cause="This account may not write to the file or its folder, or the disk is mounted read-only.",
        cure="Give the account write access to the file and its folder: the log beside the file is written too.",
        example="E503 the database tminus.db is read-only",
        exit_code=1,
        http_status=503,
    ),
    Code(
        code="E504",
        title="There is no room to write",
        side=Side.INFRASTRUCTURE,
        cause="The disk is full, or it answers with errors. What was being written is undone as a whole.",
        cure="Free some space. Nothing was lost: jobs and results that were under way are taken up again.",
        example="E504 no room to write tminus.db: database or disk is full",
        exit_code=1,
        http_status=507,
    ),
    Code(
        code="E505",
        title="The database is busy",
        side=Side.INFRASTRUCTURE,
        cause="Another program has held it for longer than ten seconds: a backup, a browser of databases, a share.",
        cure="Close that program. A database on a network share locks badly: put it on a local disk.",
        example="E505 the database tminus.db is busy: database is locked",
        exit_code=1,
        http_status=503,
    ),
    Code(
        code="E506",
        title="The database cannot be opened",
        side=Side.OPERATOR,
        cause="Its folder is not there, the file holds something else, or the file is damaged.",
        cure="Correct the path, or bring back a backup of the file.",
        example="E506 members.csv cannot be opened as a database: file is not a database",
        exit_code=1,
        http_status=503,
    ),
    Code(
        code="E507",
        title="The database failed",
        side=Side.INFRASTRUCTURE,
        cause="It answered with an error that has no code of its own here; the message holds its words.",
        cure="Look at the words of the database. What was being written is undone as a whole.",
        example="E507 the database tminus.db said: out of memory",
        exit_code=1,
        http_status=503,
    ),
    Code(
        code="E508",
        title="The database refused a row",
        side=Side.INFRASTRUCTURE,
        cause="A row broke a rule of its table: a word that is no status, or a second row where one may be.",
        cure="Report it with the message: it is a defect. Only the event that caused it was stopped.",
        example="E508 the database refused a row: UNIQUE constraint failed: lanes.phase_id, lanes.member_id",
        exit_code=1,
        http_status=500,
    ),
    Code(
        code="E509",
        title="There is no database",
        side=Side.OPERATOR,
        cause="No file stands at the path, or its kind of database is not one that this installation speaks.",
        cure="Correct --db or TMINUS_DB; publishing a runbook and `tminus up` make a database.",
        example="E509 there is no database tminus.db - `tminus up` or `tminus runbook publish` makes one",
        exit_code=7,
        http_status=503,
    ),
)

_CONTENT: Final = (
    Code(
        code="E510",
        title="A status may not change like this",
        side=Side.INFRASTRUCTURE,
        cause="A decision asked for a change that the table of states does not have. Nothing of it was written.",
        cure="Report it with the message: it is a defect. Only the event that caused it was stopped.",
        example="E510 execution 7 may not go from succeeded to failed by engine",
        exit_code=1,
        http_status=500,
    ),
    Code(
        code="E520",
        title="A version of a runbook is missing",
        side=Side.INFRASTRUCTURE,
        cause="Rows name a version that is not in the database, as after a backup that was brought back in part.",
        cure="Bring back the whole backup. Batches of other versions go on meanwhile.",
        example="E520 runbook mailboxes has no version 3",
        exit_code=1,
        http_status=500,
    ),
    Code(
        code="E521",
        title="There is no such runbook",
        side=Side.OPERATOR,
        cause="No runbook of this name has been published, or none of its versions is active.",
        cure="Publish it first, or correct the name; letter case counts.",
        example="E521 there is no active runbook mailbox",
        exit_code=7,
        http_status=404,
    ),
)

CODES: Final[tuple[Code, ...]] = (*_DATABASE, *_CONTENT)

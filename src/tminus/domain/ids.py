"""Row ids and job ids.

Row ids are integers that the database gives; each kind has its own type, so that one cannot stand in for another. A job
id is made from the execution, its attempt and its poll, and is therefore never reused.
"""

from __future__ import annotations

from typing import NewType

BatchId = NewType("BatchId", int)
PhaseId = NewType("PhaseId", int)
MemberId = NewType("MemberId", int)
LaneId = NewType("LaneId", int)
ExecutionId = NewType("ExecutionId", int)
HoldId = NewType("HoldId", int)
JobId = NewType("JobId", str)


def job_id(execution_id: int, attempt: int, poll: int = 0, *, init: bool = False) -> JobId:
    """Name one sending: `step-7`, `step-7-retry-2`, `step-7-retry-2-poll-4`, and `init-…` for init steps."""
    name = f"{'init' if init else 'step'}-{execution_id}"
    if attempt:
        name += f"-retry-{attempt}"
    if poll:
        name += f"-poll-{poll}"
    return JobId(name)


def execution_of(job: str) -> ExecutionId | None:
    """Read the execution's id out of a job id, None when the text is no job id of ours."""
    head, _, rest = job.partition("-")
    number = rest.partition("-")[0]
    if head not in {"step", "init"} or not (number.isascii() and number.isdecimal()) or len(number) > len(str(2**62)):
        return None
    return ExecutionId(int(number))

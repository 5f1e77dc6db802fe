"""The tree of commands: for each its module, the function in it, and the sentence that help shows.

It is a table of texts, so that `tminus --help` loads no command at all. A test holds it against the modules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Command:
    """One command: the words that call it, where its function is, and one sentence."""

    path: str
    module: str
    function: str
    summary: str


GROUPS: Final[dict[str, str]] = {
    "runbook": "Publish runbooks and look at their versions.",
    "automation": "Have a runbook's source asked, or not.",
    "batch": "Make, look at and steer batches.",
    "member": "Look at, add, remove and edit members.",
    "gate": "Go/no-go decisions before phases.",
    "hold": "Everything that waits for a human.",
    "plan": "Saved plans: show, compare, list.",
    "query": "Ask a runbook's source without following it.",
}

_ALL: Final = (
    Command("demo", "showing", "demo", "See a wave from its first phase to its last; nothing real is touched."),
    Command("init", "starting", "init", "Write a runbook, members and functions to begin with."),
    Command("up", "serving", "up", "Run everything in one process; functions run in child processes."),
    Command("validate", "offline", "validate", "Check runbooks, offline: every error at once, with line and column."),
    Command("plan", "planning", "plan", "Say who would run what, and when; also plan show, list, diff."),
    Command("rehearse", "rehearsing", "rehearse", "Run the whole countdown on a virtual clock, with faults."),
    Command("apply", "applying", "apply", "Make what a saved plan says; a stale plan is refused."),
    Command("status", "looking", "status", "Open batches, what waits for a human, what falls due within 24 hours."),
    Command("watch", "watching", "watch", "Follow what happens: a live screen, JSON lines when piped."),
    Command("why", "explaining", "why", "Say why something waits or failed, and what can be done."),
    Command("find", "looking", "find", "Find a member across all batches."),
    Command("report", "report.command", "report", "Tell how a batch went: a page, a table or a text, for everybody."),
    Command("retry", "operating", "retry", "Try members again from their failed step."),
    Command("skip", "operating", "skip", "Pass over a step of a member."),
    Command("mark-done", "operating", "mark_done", "Count a step of a member as done, with outputs."),
    Command("rollback", "operating", "rollback", "Undo the work of members, newest step first."),
    Command("pause", "holding", "pause", "Stop sending work: everywhere, for a runbook, a batch or members."),
    Command("resume", "holding", "resume", "Lift a pause."),
    Command("approve", "holding", "approve", "Say go at a gate."),
    Command("reject", "holding", "reject", "Say no-go at a gate; the batch stays held."),
    Command("template", "publishing", "template", "Print the header of the CSV file that a runbook wants."),
    Command("doctor", "doctor", "doctor", "Check the database against every promise, and the surroundings."),
    Command("explain", "meaning", "explain", "Say what a code means and how it is mended."),
    Command("completion", "completion.command", "completion", "Print the completion of bash, zsh, fish or PowerShell."),
    Command("version", "offline", "version", "Print the version."),
    Command("runbook publish", "publishing", "publish", "Publish the next version of a runbook."),
    Command("runbook list", "publishing", "list_runbooks", "List the active runbooks."),
    Command("runbook get", "publishing", "get_runbook", "Print a version of a runbook."),
    Command("runbook versions", "publishing", "versions", "List the versions of a runbook."),
    Command("runbook diff", "comparing", "diff", "Say in words what differs between versions or files."),
    Command("runbook impact", "impact", "show", "Say what publishing a file or version would do to live batches."),
    Command("runbook fmt", "layout", "fmt", "Lay runbooks out in their one layout; comments are kept."),
    Command(
        "runbook test", "cases", "run_cases", "Rehearse the cases beside runbooks; exit 1 when one comes out otherwise."
    ),
    Command("runbook schema", "offline", "schema", "Print the JSON Schema of runbooks, or write it for editors."),
    Command("runbook activate", "publishing", "activate", "Let the newest version count again."),
    Command("runbook deactivate", "publishing", "deactivate", "Let no version count; live batches go on."),
    Command("automation enable", "automating", "enable", "Have the runbook's source asked."),
    Command("automation disable", "automating", "disable", "Do not ask the source; live batches go on."),
    Command("automation status", "automating", "status", "Show when the source is asked, and what it last said."),
    Command("batch list", "batches", "list_batches", "List batches."),
    Command("batch get", "batches", "get_batch", "Show one batch with its data."),
    Command("batch create", "creating", "create", "Make a batch from a CSV file of members."),
    Command("batch members", "batches", "list_members", "List the members of a batch."),
    Command("batch phases", "batches", "list_phases", "List the phases of a batch."),
    Command("batch steps", "batches", "list_steps", "List the steps of a batch, member by member."),
    Command("batch events", "batches", "list_events", "Print the history of a batch; -f follows it."),
    Command("batch advance", "steering", "advance", "Let a batch without T-0 take its next step."),
    Command("batch cancel", "steering", "cancel", "Stop a batch; members past a one-way step go on."),
    Command("batch reschedule", "steering", "reschedule", "Give a batch another T-0."),
    Command("batch add-members", "creating", "add", "The same as `member add`."),
    Command("batch remove-member", "membership", "remove", "The same as `member remove`."),
    Command("member get", "membership", "get_member", "Show a member with its data."),
    Command("member add", "creating", "add", "Add members from a CSV file to a live batch."),
    Command("member remove", "membership", "remove", "Take members out of a batch; their removal steps run."),
    Command("member move", "membership", "move", "Let members go on in another open batch."),
    Command("member history", "membership", "history", "Print every move of a member, over all of its batches."),
    Command("member accept-leavers", "membership", "accept_leavers", "Let go whom the source does not name any more."),
    Command("member refuse-leavers", "membership", "refuse_leavers", "Keep whom the source does not name any more."),
    Command("member set-time", "timing", "set_time", "Give members a T-0 of their own, later than their batch's."),
    Command("member data", "membership", "edit", "Pin values over the source's, or release pins."),
    Command("gate list", "waiting", "list_gates", "List the gates that wait or were answered."),
    Command("gate get", "waiting", "get_gate", "Show one gate with its evidence."),
    Command("gate reopen", "holding", "reopen", "Ask a rejected or expired gate again."),
    Command("hold list", "waiting", "list_holds", "List what waits for a human."),
    Command("hold get", "waiting", "get_hold", "Show one hold with its evidence."),
    Command("hold lift", "holding", "lift", "Lift a hold once you have seen to it."),
    Command("hold accept", "holding", "accept", "Let the leavers or the move of a hold happen."),
    Command("hold refuse", "holding", "refuse", "Keep the members that a hold would let leave or move."),
    Command("plan show", "kept_plans", "show", "Show a saved plan, or every call of one of its members."),
    Command("plan list", "kept_plans", "list_plans", "List saved plans."),
    Command("plan diff", "kept_plans", "diff", "Say what differs between a plan and another, or a batch."),
    Command("query preview", "asking", "preview", "Ask the source once and show its rows; nothing is followed."),
)


def commands() -> dict[str, Command]:
    """Return the commands by their words."""
    return {one.path: one for one in _ALL}

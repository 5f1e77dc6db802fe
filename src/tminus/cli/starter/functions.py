"""The functions that the runbook's steps call. Each gets its parameters by name and returns what later steps need.

Raising an error lets the step fail: it is tried again as `retry` says, then rolled back as `on_failure` says.
"""

from tminus import Pending, function

MOVES: dict[str, int] = {}


@function
def create_user(upn: str, display_name: str, target: str) -> dict[str, str]:
    """Make the account; what is returned can be named by `output_params`."""
    return {"id": f"id-of-{target}", "source": upn, "name": display_name}


@function
def move_mailbox(target_id: str) -> dict[str, str]:
    """Begin the move, and say "not yet" once; the step polls until this returns."""
    MOVES[target_id] = MOVES.get(target_id, 0) + 1
    if MOVES[target_id] == 1:
        raise Pending({"percent": 50})
    return {"moved": target_id}


@function
def tell_user(address: str, department: str) -> None:
    """Send the welcome message."""
    del address, department


@function
def clean_up(upn: str) -> None:
    """Take back what was prepared for somebody who is not moved after all."""
    del upn


@function
def delete_user(target: str) -> None:
    """Undo `create_user`."""
    del target

"""The functions that the runbook's steps call. Each gets its parameters by name and returns what later steps need.

Raising an error lets the step fail: it is tried again as `retry` says, then rolled back as `on_failure` says. These do
nothing to anybody; replace their bodies.
"""

from tminus import Pending, function

MOVES: dict[str, int] = {}


@function
def create_user(upn: str, display_name: str, target: str) -> dict[str, str]:
    """Make the account; what is returned can be named by `output_params`."""
    print(f"would create {target} for {upn}")
    return {"id": f"id-of-{target}", "name": display_name}


@function
def set_addresses(target_id: str, primary: str, others: list[str]) -> dict[str, object]:
    """Set the addresses; a list in the runbook arrives as a list."""
    print(f"would give {target_id} the address {primary}")
    return {"primary": primary, "count": 1 + len(others)}


@function
def check_user(target_id: str) -> dict[str, bool]:
    """Look whether everything is there; raise an error if it is not."""
    return {"found": bool(target_id)}


@function
def move_mailbox(target_id: str) -> dict[str, str]:
    """Begin the move, and say "not yet" once; the step polls until this returns."""
    MOVES[target_id] = MOVES.get(target_id, 0) + 1
    if MOVES[target_id] == 1:
        raise Pending({"percent": 50})
    return {"moved": target_id}


@function
def send_mail(address: str, subject: str, department: str) -> None:
    """Send a message to somebody who is moved."""
    print(f"would write to {address} in {department}: {subject}")


@function
def delete_user(target: str) -> None:
    """Undo `create_user`: for a rollback, and for somebody who is not moved after all."""
    print(f"would delete {target}")

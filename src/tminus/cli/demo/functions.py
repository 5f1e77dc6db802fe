"""Functions for the demo's runbook, so that what failed in the story can be tried again for real. They do nothing."""

from tminus import function


@function
def create_account(DisplayName: str, UserPrincipalName: str) -> dict[str, str]:  # noqa: N803 - the runbook's names.
    """Make an account in the new tenant."""
    return {"id": f"id-of-{UserPrincipalName}", "name": DisplayName}


@function
def set_proxies(Id: str) -> dict[str, str]:  # noqa: N803 - the runbook's name.
    """Give an account its addresses."""
    return {"id": Id}


@function
def verify_mailbox(Id: str) -> dict[str, object]:  # noqa: N803 - the runbook's name.
    """Tell whether a mailbox is there; the runbook asks again until it is."""
    return {"complete": True, "data": {"id": Id}}


@function
def set_guids(Id: str) -> dict[str, str]:  # noqa: N803 - the runbook's name.
    """Write the mailbox's ids onto the account."""
    return {"id": Id}


@function
def set_primary(Id: str, Address: str) -> dict[str, str]:  # noqa: N803 - the runbook's names.
    """Make the new address the first one."""
    return {"id": Id, "address": Address}


@function
def send_survey(Address: str) -> None:  # noqa: N803 - the runbook's name.
    """Ask how it went."""
    del Address


@function
def remove_account(UserPrincipalName: str) -> None:  # noqa: N803 - the runbook's name.
    """Take an account back."""
    del UserPrincipalName


@function
def clear_guids(Id: str) -> None:  # noqa: N803 - the runbook's name.
    """Undo `set_guids`."""
    del Id


@function
def notify(Address: str) -> None:  # noqa: N803 - the runbook's name.
    """Tell somebody that it did not work yet."""
    del Address

"""The demo's own files, as they are: a runbook and functions that a person may go on with. Tests run them."""

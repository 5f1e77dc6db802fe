"""Plain SQL, one module of free functions per aggregate; it decides nothing."""

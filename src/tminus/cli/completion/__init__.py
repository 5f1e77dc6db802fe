"""Completion in shells: small scripts that ask tminus itself, so that they never know less than it does."""

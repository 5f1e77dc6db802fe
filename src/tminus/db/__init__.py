"""Connections, migrations and the few named gaps between SQLite and PostgreSQL; no query of the product."""

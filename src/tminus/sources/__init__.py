"""Sources: adapters that read members from files, databases and services.

Each adapter gets from its source a table of cells; `rows` makes of it what the port promises, for all adapters alike.
This room must not know what happens to the rows.
"""

"""The state machine: tables of states, events, decide, and the Decision that one transaction writes.

Pure by construction: no clock, no ids, no I/O, no logging. What it may look at is the view it is handed.
"""

"""The state machine: pure decisions from rows and events; no I/O, no clock, no ids of its own."""

"""Rehearsal: the same core and the same store on a virtual clock, with workers and people that are simulated.

Nothing here is a second engine. A rehearsal calls the tick and the rounds that production calls, and only what lies
outside of them is played: time, the workers' answers, a source's changes, the people at the gates. It holds no
credential and opens no connection.
"""

"""The engine: small loops over the same functions - tick, handlers, relay, work, commands, insights."""

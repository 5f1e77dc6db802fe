"""Protocols between the engine and the world; their prose states what an adapter guarantees."""

"""Wires clients: the one room that knows all of their parts."""

"""Failures of a command: one line, and an exit code for each kind.

Thread: the main one.
"""


class Misused(Exception):
    """The call makes no sense: exit code 2. The text names the argument and the rule."""


class Failed(Exception):
    """The command could not do its work: exit code 1. The text gives the reason."""

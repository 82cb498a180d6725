"""What the application side of every client stands on: calls, guards, the end of a process.

Thread: the application's. `consumer` and `producer` import from here, and never each other.
"""

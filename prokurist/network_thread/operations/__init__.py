"""Runs work on the network thread: timers, operations, calls and retries.

Thread: the network thread alone.
"""

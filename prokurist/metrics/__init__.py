"""Readers of the core's counters and of its trace point.

Thread: either; a reader never makes a caller wait.
Holds: one catalogue of every metric, and what feeds Prometheus, logs and the
timeline from it.
May import: every room of the clients.
"""

"""Our place in the group: the parts that all protocols share, and a folder for each.

Thread: the network thread alone. Nothing here reads a clock or does I/O.
Holds: the interfaces (`Membership`, `Transitions`), and parts for any protocol: the context,
heartbeats, the poll guard, names of topics, patterns, steps of the application.
"""

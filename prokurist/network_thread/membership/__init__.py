"""Our place in the group, by either protocol.

Thread: the network thread alone. Nothing here reads a clock or does I/O.
"""

"""Assignors of the classic protocol: they divide a group's partitions among its members.

Thread: either; nothing here waits, and every result depends on what is passed in
alone. A group's leader runs one of them and sends each member its part.
"""

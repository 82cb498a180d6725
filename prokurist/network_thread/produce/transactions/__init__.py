"""Transactions of a producer: ids and epochs, added partitions, offsets, and ends.

Thread: the network thread alone.
"""

"""Batches to the leaders of their partitions, and what becomes of them.

Thread: the network thread alone.
"""

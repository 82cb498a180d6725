"""Metadata of the cluster: brokers, topics, leaders, and the group's coordinator.

Thread: the network thread alone.
"""

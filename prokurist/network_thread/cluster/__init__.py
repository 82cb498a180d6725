"""Keeps what is known of the cluster: metadata, topics and the group's coordinator.

Thread: the network thread alone.
"""

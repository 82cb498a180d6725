"""Sends requests to brokers: the network client, connections and their pipelines.

Thread: the network thread alone.
"""

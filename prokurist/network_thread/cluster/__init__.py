"""The cluster: its metadata, its coordinators, routes to its brokers, and attempts to ask them.

Thread: the network thread alone.
"""

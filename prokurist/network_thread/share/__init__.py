"""Records of a share group: fetched, and acknowledged, in one session with each broker.

Thread: the network thread alone.
"""

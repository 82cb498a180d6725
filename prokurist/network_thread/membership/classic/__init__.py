"""A membership by the classic protocol: rounds, led by one of the members.

Thread: the network thread alone.
"""

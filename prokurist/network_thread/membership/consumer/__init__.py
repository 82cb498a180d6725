"""A membership by the consumer protocol (KIP-848): the coordinator assigns.

Thread: the network thread alone.
"""

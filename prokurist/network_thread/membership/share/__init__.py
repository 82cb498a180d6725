"""The membership in a share group (KIP-932).

Thread: the network thread alone.
"""

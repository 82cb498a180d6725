"""Commits offsets, and looks up offsets and positions.

Thread: the network thread alone.
"""

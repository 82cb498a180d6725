"""Administration, as both threads see it: calls with items, and the work that they ask for.

Thread: made by the application's, read by the network thread. Work is frozen; a call guards
itself.
"""

"""Records lent by a share group, and the application's decisions on them, for both threads.

Thread: see each module.
"""

"""Records lent by a share group: what the application has decided on them, for both threads.

Thread: see each module.
"""

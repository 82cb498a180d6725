"""`OffsetManager`: plans what a batch job reads and commits what it has read.

Thread: any of the driver's.
"""

"""`OffsetManager`: plans the reads of batch jobs, and commits their ends.

Thread: any of the driver's.
"""

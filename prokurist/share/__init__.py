"""The share consumer: records of a share group, each lent for a time and decided on by itself.

Thread: the application's, one call at a time; records may be marked from any.
"""

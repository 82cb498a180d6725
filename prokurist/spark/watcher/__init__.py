"""`watch`: commits the offsets of streaming queries and measures their lag.

Thread: those of Spark's callbacks, and the commit thread; see each module.
"""

"""Who reads which partitions of a group: the assignors of the classic protocol.

Thread: either; nothing here waits, and every result depends on what is passed in
alone. A group's leader runs one of them and sends each member its part.
"""

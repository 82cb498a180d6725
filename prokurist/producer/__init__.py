"""The public producer: the application threads' side of sending.

Thread: the application's; many threads may use one producer.
"""

"""Fetching: requests to each broker, and the handling of answers.

Thread: the network thread alone.
Holds: the manager, fetch sessions, brokers and replicas to read from, and the
judging of answers. Records are not decoded here: that is the application thread's.
"""

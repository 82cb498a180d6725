"""Messages of administration.

Thread: any; frozen values.
"""

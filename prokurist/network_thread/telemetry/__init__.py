"""Pushes the client's metrics to brokers that ask for them (KIP-714).

Thread: the network thread alone.
Holds: the manager that asks for the subscription and pushes, and what a push is made of.
"""

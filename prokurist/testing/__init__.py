"""Brokers and fixtures for tests: ours and our users'.

Holds: the harness around a real Apache Kafka, the fault proxy, the embedded broker,
virtual time, and the pytest plugin.
May import: the vocabulary, `records`, and the clock of `events`; kio by itself.
Never the client's own wire mapping: a bug in it must not cancel itself out. Virtual
time alone runs the client, and nothing here but the plugin knows it.
"""

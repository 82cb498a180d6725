"""Metrics: the catalogue of the clients' counters, and its readers.

Thread: any; a reader never makes a caller wait.
Holds: one catalogue of every metric, its readers for Prometheus and `consumer.metrics()`, and
the dashboard and the alerts that go with it.
May import: every room of the clients.
"""

from prokurist.metrics.prometheus import register as register

__all__ = ["register"]

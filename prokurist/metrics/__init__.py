"""Readers of what the core counts.

Thread: any; a reader never makes a caller wait.
Holds: one catalogue of every metric, what feeds Prometheus and `consumer.metrics()`
from it, and the dashboard and the alerts that go with it.
May import: every room of the clients.
"""

from prokurist.metrics.prometheus import register as register

__all__ = ["register"]

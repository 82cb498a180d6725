"""Every metric there is: the one table that feeds everything else.

Thread: any.
"""

from collections.abc import Iterator
from typing import Any, Final

from prokurist.metrics import of_calls, of_consumer, of_network, of_spark
from prokurist.metrics.metric import Metric
from prokurist.metrics.queries import QueryReading
from prokurist.metrics.reading import Reading

CATALOGUE: Final[tuple[Metric[Reading], ...]] = (
    *of_calls.ROWS,
    *of_consumer.ROWS,
    *of_network.ROWS,
)
"""Those of clients."""

OF_QUERIES: Final[tuple[Metric[QueryReading], ...]] = of_spark.ROWS
"""Those of Spark's streaming queries."""


def every_metric() -> Iterator[Metric[Any]]:
    """All metrics, of clients and of queries."""
    yield from CATALOGUE
    yield from OF_QUERIES

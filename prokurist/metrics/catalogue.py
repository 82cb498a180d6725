"""Every metric there is: the one table that feeds everything else.

Thread: any.
"""

from collections.abc import Iterator
from typing import Any, Final

from prokurist.metrics import (
    of_calls,
    of_client,
    of_consumer,
    of_network,
    of_producer,
    of_share,
    of_spark,
    of_workers,
)
from prokurist.metrics.metric import Metric
from prokurist.metrics.queries import QueryReading
from prokurist.metrics.reading import (
    ClientReading,
    ConsumerReading,
    ProducerReading,
    ShareReading,
)

OF_CLIENTS: Final[tuple[Metric[ClientReading], ...]] = (
    *of_calls.ROWS,
    *of_network.ROWS,
    *of_client.ROWS,
)
"""Those of every client."""

OF_CONSUMERS: Final[tuple[Metric[ConsumerReading], ...]] = (
    *of_consumer.ROWS,
    *of_workers.ROWS,
)
"""Those that only consumers have."""

OF_PRODUCERS: Final[tuple[Metric[ProducerReading], ...]] = of_producer.ROWS
"""Those that only producers have."""

OF_SHARE_CONSUMERS: Final[tuple[Metric[ShareReading], ...]] = of_share.ROWS
"""Those that only share consumers have."""

CATALOGUE: Final[tuple[tuple[type[ClientReading], tuple[Metric[Any], ...]], ...]] = (
    (ClientReading, OF_CLIENTS),
    (ConsumerReading, OF_CONSUMERS),
    (ProducerReading, OF_PRODUCERS),
    (ShareReading, OF_SHARE_CONSUMERS),
)
"""Those of clients, with the kind of reading that has them."""

OF_QUERIES: Final[tuple[Metric[QueryReading], ...]] = of_spark.ROWS
"""Those of Spark's streaming queries."""


def every_metric() -> Iterator[Metric[Any]]:
    """All metrics, of clients and of queries."""
    for _, metrics in CATALOGUE:
        yield from metrics
    yield from OF_QUERIES

"""Every metric there is: the one table that feeds everything else.

Thread: any.
"""

from typing import Final

from prokurist.metrics import of_calls, of_consumer, of_network
from prokurist.metrics.metric import Metric

CATALOGUE: Final[tuple[Metric, ...]] = (*of_calls.ROWS, *of_consumer.ROWS, *of_network.ROWS)

"""Where Spark looks for `format("prokurist")`: it imports every top-level `pyspark_*`.

So nothing has to be registered. All there is to it is in `prokurist.spark`.
"""

from prokurist.spark.data_source import KafkaDataSource as DefaultSource

__all__ = ["DefaultSource"]

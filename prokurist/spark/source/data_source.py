"""`format("prokurist")`: Kafka as a data source of Spark, without jars.

Spark pickles these objects and makes them again elsewhere, so they hold what was asked
for, and no client:

| what | process |
| --- | --- |
| `KafkaDataSource`, and `partitions` of its `reader` | a short worker beside the driver |
| its `streamReader`, and all that it does but `read` | one of its own beside the driver |
| `read` | the executors' workers, which live on |
"""

from collections.abc import MutableMapping

try:
    from pyspark.sql.datasource import DataSource, DataSourceStreamReader
    from pyspark.sql.types import StructType
except ImportError as _missing:
    raise ImportError(
        'format("prokurist") needs pyspark 4.0 or later: pip install "prokurist[spark]"'
    ) from _missing

from prokurist.spark.source.batch_reader import BatchReader
from prokurist.spark.source.options import Settings
from prokurist.spark.source.schema import ddl, projected


class KafkaDataSource(DataSource):
    """A source of Kafka's records; its options are those of `options.OPTIONS`.

    Args:
        options: As they were given to Spark.

    Raises:
        ConfigException: One is not known, cannot be given, or has no value of its kind.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._settings = Settings.of(options)

    @classmethod
    def name(cls) -> str:
        """The name that `format` takes."""
        return "prokurist"

    def schema(self) -> str:
        """The default columns."""
        return ddl(with_headers=self._settings.include_headers)

    def reader(self, schema: StructType) -> BatchReader:
        """Make the reader of a batch."""
        columns = self._columns(schema)
        if not self._settings.filter_pushdown:
            return BatchReader(self._settings, columns)
        # Here, because Spark calls the method if there is one, and pyspark 4.0 has no filters.
        from prokurist.spark.source.filter_pushdown import FilteringReader  # noqa: PLC0415

        return FilteringReader(self._settings, columns)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's name
        """Make the reader of a stream."""
        # Here, because a batch needs none of it, and older pysparks have not all of it.
        from prokurist.spark.source.stream_reader import StreamReader  # noqa: PLC0415

        return StreamReader(self._settings, self._columns(schema))

    def _columns(self, schema: StructType) -> tuple[str, ...]:
        fields = [(each.name, each.dataType.simpleString()) for each in schema]
        return projected(fields, with_headers=self._settings.include_headers)

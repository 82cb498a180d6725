"""`format("prokurist")`: Kafka as a data source and a sink of Spark, without jars.

Spark pickles these objects and makes them again elsewhere, so they hold what was asked
for, and no client:

| what | process |
| --- | --- |
| `KafkaDataSource`, and `partitions` of its `reader` | a short worker beside the driver |
| its `streamReader`, and all that it does but `read` | one of its own beside the driver |
| `read` and `write` | the executors' workers, which live on |
| `commit` of a writer | a short worker beside the driver |
"""

from collections.abc import MutableMapping
from functools import cached_property

try:
    from pyspark.sql.datasource import (
        DataSource,
        DataSourceStreamReader,
        DataSourceStreamWriter,
        DataSourceWriter,
    )
    from pyspark.sql.types import StructType
except ImportError as _missing:
    raise ImportError(
        'format("prokurist") needs pyspark 4.0 or later: pip install "prokurist[spark]"'
    ) from _missing

from prokurist.errors import ConfigException
from prokurist.spark.option_table import check_direction
from prokurist.spark.row_schema import ddl, projected
from prokurist.spark.sink import options as writing
from prokurist.spark.source import options as reading
from prokurist.spark.source.batch_reader import BatchReader
from prokurist.spark.source.options import Settings


class KafkaDataSource(DataSource):
    """Kafka's records as rows, to be read and to be written.

    Args:
        options: As they were given to Spark: those of `source.options.OPTIONS` for reading, of
            `sink.options.OPTIONS` for writing.
    """

    def __init__(self, options: MutableMapping[str, str]) -> None:
        super().__init__(options)
        self._given = dict(options)

    @classmethod
    def name(cls) -> str:
        """The name that `format` takes."""
        return "prokurist"

    def schema(self) -> str:
        """The default columns.

        Raises:
            ConfigException: An option is not known, cannot be given, or has no value of its
                kind.
        """
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
        from prokurist.spark.source.stream_reader import RefusedReader, StreamReader  # noqa: PLC0415

        try:
            return StreamReader(self._settings, self._columns(schema))
        except ConfigException as error:
            # Raised here, it would stand above an UnboundLocalError of Spark's own.
            return RefusedReader(error)

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:  # noqa: FBT001 - Spark's signature
        """Make the writer of a batch.

        Raises:
            ConfigException: An option or a column is wrong, or the mode is `overwrite`.
        """
        if overwrite:
            raise ConfigException(
                'a topic is appended to, and never overwritten: write .mode("append")'
            )
        # Here, because a reader needs none of it.
        from prokurist.spark.sink.columns import SinkColumns  # noqa: PLC0415
        from prokurist.spark.sink.writers import BatchWriter  # noqa: PLC0415

        settings = self._writing
        return BatchWriter(settings, SinkColumns.of(fields_of(schema), settings.topic))

    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:  # noqa: ARG002, FBT001, N802 - Spark's signature
        """Make the writer of a stream.

        The rows of each batch are written in the complete mode, too: nothing is truncated.

        Raises:
            ConfigException: An option or a column is wrong.
        """
        try:
            from prokurist.spark.sink.stream_writer import StreamWriter  # noqa: PLC0415
        except ImportError as missing:
            raise ConfigException(
                "streams are written by pyspark 4.1 or later: with 4.0 use "
                "foreachBatch(prokurist.spark.kafka_sink(...))"
            ) from missing
        from prokurist.spark.sink.columns import SinkColumns  # noqa: PLC0415

        settings = self._writing
        return StreamWriter(settings, SinkColumns.of(fields_of(schema), settings.topic))

    @cached_property
    def _settings(self) -> Settings:
        check_direction(self._given, reading.NAMES, writing.NAMES, "writing")
        return Settings.of(self._given)

    @cached_property
    def _writing(self) -> writing.SinkSettings:
        check_direction(self._given, writing.NAMES, reading.NAMES, "reading")
        return writing.SinkSettings.of(self._given)

    def _columns(self, schema: StructType) -> tuple[str, ...]:
        return projected(fields_of(schema), with_headers=self._settings.include_headers)


def fields_of(schema: StructType) -> list[tuple[str, str]]:
    """Return the names and types of a schema's columns, as Spark writes them."""
    return [(each.name, each.dataType.simpleString()) for each in schema]

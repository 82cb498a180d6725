"""A user of Spark Connect: a batch, a stream, a listener that tells its group, and the sinks.

    python -m tests.spark.connect_user BOOTSTRAP TOPIC CHECKPOINT WRITTEN

It starts a server of its own, which PySpark ends with it, and prints how many rows a batch
has had. What its group has heard is left to others to see.
"""

import os
import sys

from pyspark.sql import SparkSession

from prokurist.spark import kafka_sink, register, watch
from tests.spark.interpreter import environment

WITHIN = 240


def main() -> None:
    """Read all that there is, twice, and write it by a batch and in two ways by a stream."""
    bootstrap, topic, checkpoint, copy = sys.argv[1:]
    os.environ.update(environment())
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    register(spark)
    options = {
        "kafka.bootstrap.servers": bootstrap,
        "subscribe": topic,
        "startingOffsets": "earliest",
    }
    sys.stdout.write(f"{spark.read.format('prokurist').options(**options).load().count()}\n")
    listener = watch(spark, bootstrap)
    query = (
        spark.readStream.format("prokurist")
        .options(**options)
        .load()
        .writeStream.format("noop")
        .queryName("connected")
        .option("checkpointLocation", checkpoint)
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(WITHIN)
    listener.flush(query, WITHIN)
    listener.close()
    given = {"kafka.bootstrap.servers": bootstrap, "topic": copy}
    batch = spark.read.format("prokurist").options(**options).load().select("value")
    batch.write.format("prokurist").mode("append").options(**given).save()
    stream = spark.readStream.format("prokurist").options(**options).load().select("value")
    once = {"delivery": "exactly_once", "exactlyOnceId": f"{copy}-direct"}
    direct = stream.writeStream.format("prokurist").options(**given, **once)
    write_batch = kafka_sink(bootstrap, topic=copy, exactly_once=f"{copy}-function")
    for nth, writer in enumerate((direct, stream.writeStream.foreachBatch(write_batch))):
        query = (
            writer.option("checkpointLocation", f"{checkpoint}/{nth}")
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination(WITHIN)
    spark.stop()


if __name__ == "__main__":
    main()

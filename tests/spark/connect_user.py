"""A user of Spark Connect: a batch, a stream, and a listener that tells its group.

    python -m tests.spark.connect_user BOOTSTRAP TOPIC CHECKPOINT

It starts a server of its own, which PySpark ends with it, and prints how many rows a batch
has had. What its group has heard is left to others to see.
"""

import os
import sys

from pyspark.sql import SparkSession

from prokurist.spark import register, watch
from tests.spark.interpreter import environment

WITHIN = 240


def main() -> None:
    """Read all that there is, twice."""
    bootstrap, topic, checkpoint = sys.argv[1:]
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
    spark.stop()


if __name__ == "__main__":
    main()

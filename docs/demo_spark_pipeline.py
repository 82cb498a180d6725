"""The pipeline of `make demo-spark`: orders out of Kafka, counted by windows of ten seconds.

A program as one would write it, but for its last argument: where it leaves the counts.
"""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, get_json_object, window
from pyspark.sql.functions import sum as sum_of

from prokurist.spark import watch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def main(bootstrap: str, port: str, checkpoint: str, counts: str) -> None:
    """Run until the process is ended."""
    spark = (
        SparkSession.builder.master("local[2,3]")
        .appName("orders")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "OFF")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    watch(spark, bootstrap, metrics_port=int(port), sample_interval=1.0)

    orders = (
        spark.readStream.format("prokurist")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("subscribe", "orders")
        .option("startingOffsets", "earliest")
        .option("onBrokerDown", "skip")
        .option("driverDeadlineMs", "2000")
        .load()
    )
    euros = get_json_object(col("value").cast("string"), "$.euros").cast("long")
    windows = (
        orders.withColumn("euros", euros)
        .groupBy(window(col("timestamp"), "10 seconds"))
        .agg(count("*").alias("orders"), sum_of("euros").alias("euros"))
    )

    def keep(frame: "DataFrame", _batch: int) -> None:
        rows = {
            str(row["window"]["start"]): [row["orders"], row["euros"]]
            for row in frame.collect()
        }
        half = Path(counts).with_suffix(".half")
        half.write_text(json.dumps(rows), encoding="utf-8")
        half.replace(counts)  # A reader finds one batch's, and all of it.

    query = (
        windows.writeStream.outputMode("complete")
        .queryName("orders-by-window")
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="1 second")
        .foreachBatch(keep)
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])

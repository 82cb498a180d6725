"""The pipeline of `make demo-spark`: orders by windows of ten seconds, from topic to topic.

A program as one would write it. Each batch writes the windows that it has changed.
"""

import logging
import sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import col, count, get_json_object, struct, to_json, window
from pyspark.sql.functions import sum as sum_of

from prokurist.spark import kafka_sink, watch


def main(bootstrap: str, port: str, checkpoint: str) -> None:
    """Run until the process is ended."""
    logging.basicConfig()
    logging.getLogger("prokurist.spark").setLevel(logging.INFO)
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

    rows = windows.select(
        col("window.start").cast("string").alias("key"),
        to_json(struct("orders", "euros")).alias("value"),
    )
    query = (
        rows.writeStream.outputMode("update")
        .queryName("orders-by-window")
        .option("checkpointLocation", checkpoint)
        .trigger(processingTime="1 second")
        .foreachBatch(kafka_sink(bootstrap, topic="windows", exactly_once="orders-by-window"))
        .start()
    )
    query.awaitTermination()


if __name__ == "__main__":
    main(*sys.argv[1:])

"""The Spark and the topics that the sources are measured on, and what is made of rounds.

Thread: the main one.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import confluent_kafka
from pyspark.sql import SparkSession
from spark_made_up import MadeUp
from turns import Spread

from prokurist.testing.kafka import RealKafka

OURS, THEIRS, MADE_UP = "prokurist", "kafka", "made_up"
"""The sources, as Spark knows them."""

Rounds = dict[str, list[float]]
"""What each source's rounds came to."""


def session(jars: Sequence[Path]) -> SparkSession:
    """One Spark for all sources; its workers find the one that makes rows up beside this."""
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH", "")]
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, paths))
    os.environ["PYSPARK_PYTHON"] = sys.executable
    spark = (
        SparkSession.builder.master("local[2,3]")
        .config("spark.jars", ",".join(map(str, jars)))
        .config("spark.driver.memory", "2g")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(MadeUp)
    return spark


def sparse_topic(kafka: RealKafka, partitions: int, count: int) -> str:
    """A topic with a few records of 100 bytes in each partition."""
    topic = kafka.unique_topic(partitions=partitions)
    producer = confluent_kafka.Producer({"bootstrap.servers": kafka.direct_bootstrap})
    for nth in range(count):
        producer.produce(topic, b"x" * 100, partition=nth % partitions)
    producer.flush(30)
    return topic


def timed(work: Callable[[], Any]) -> float:
    """Seconds that it takes."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def medians(rounds: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """The median of each one's rounds."""
    return {name: statistics.median(each) for name, each in rounds.items()}


def ratio(rounds: Mapping[str, Sequence[float]], one: str, other: str, digits: int) -> str:
    """How many times the other's one's are, as a cell: each round's beside its own.

    Both sides of a round come one after the other, so what the machine does besides hits
    both.
    """
    if not (rounds.get(one) and rounds.get(other)):
        return "–"
    pairs = zip(rounds[one], rounds[other], strict=True)
    return Spread.of([mine / its for mine, its in pairs]).told(digits)

"""`format("prokurist")` with a secured Kafka: executors read secrets by their location."""

import pickle
import warnings
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any

import confluent_kafka
import pytest

from prokurist.spark.data_source import KafkaDataSource
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority
from tests.spark.jobs import OURS, batch, start_query

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PASSWORD = "canary-4711"  # noqa: S105 - of the test's Kafka


class Secured:
    """A Kafka with TLS and SCRAM, and a file that has the password."""

    def __init__(self, folder: Path) -> None:
        self.authority = Authority(folder)
        self.password = folder / "password"
        self.password.write_text(f"{PASSWORD}\n", encoding="ascii")
        self.kafka = RealKafka(
            security=SecuredListener(
                certificate=self.authority.issue("broker"),
                mechanisms=("SCRAM-SHA-256",),
                users={"anna": PASSWORD},
            )
        )

    def options(self, topic: str, **more: str) -> dict[str, str]:
        """What a query is told."""
        return {
            "kafka.bootstrap.servers": self.kafka.bootstrap,
            "kafka.security.protocol": "SASL_SSL",
            "kafka.ssl.ca.location": str(self.authority.location),
            "kafka.sasl.mechanism": "SCRAM-SHA-256",
            "kafka.sasl.username": "anna",
            "kafka.sasl.password.location": str(self.password),
            "subscribe": topic,
            **more,
        }

    def written(self, count: int) -> str:
        """A topic with records."""
        topic = self.kafka.unique_topic(partitions=2)
        producer = confluent_kafka.Producer({"bootstrap.servers": self.kafka.direct_bootstrap})
        for number in range(count):
            producer.produce(topic, str(number).encode())
        assert producer.flush(30) == 0
        return topic


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """One for all."""
    made = Secured(tmp_path_factory.mktemp("secured"))
    with made.kafka:
        yield made


def test_executors_read_locations(spark: "SparkSession", secured: Secured) -> None:
    """S51: a batch is read over SASL_SSL; neither plan nor tasks bring the secret along."""
    topic = secured.written(100)
    options = secured.options(topic)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = batch(spark, OURS, options)
    plan: Any = frame._jdf.queryExecution().toString()
    assert PASSWORD not in str(plan)
    assert {row.value.decode() for row in frame.collect()} == set(map(str, range(100)))
    source = KafkaDataSource(options)
    reader = source.reader(frame.schema)
    carried = pickle.dumps([reader, *reader.partitions()])
    assert str(secured.password).encode() in carried
    assert PASSWORD.encode() not in carried


def test_a_password_that_changes_on_the_executors(
    spark: "SparkSession", secured: Secured, tmp_path: Path
) -> None:
    """What the location holds when a task connects is what counts."""
    topic = secured.written(10)
    wrong = tmp_path / "password"
    wrong.write_text("wrong", encoding="ascii")
    options = secured.options(topic, **{"kafka.sasl.password.location": str(wrong)})
    with pytest.raises(Exception, match="SaslAuthenticationException") as refused:
        batch(spark, OURS, options).collect()
    assert PASSWORD not in str(refused.value)
    wrong.write_text(PASSWORD, encoding="ascii")
    assert len(batch(spark, OURS, options).collect()) == 10


def test_a_stream(spark: "SparkSession", secured: Secured, tmp_path: Path) -> None:
    """A streaming query reads over SASL_SSL, and its checkpoint has no secret."""
    topic = secured.written(50)
    options = secured.options(topic, startingOffsets="earliest")
    stream = spark.readStream.format(OURS).options(**options).load()
    written = start_query(
        stream.writeStream.format("parquet")
        .option("path", str(tmp_path / "out"))
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
    )
    assert written.awaitTermination(120)
    assert spark.read.parquet(str(tmp_path / "out")).count() == 50
    kept = [each for each in (tmp_path / "checkpoint").rglob("*") if each.is_file()]
    assert kept
    assert not [each for each in kept if PASSWORD.encode() in each.read_bytes()]


def test_a_stream_whose_password_is_refused(
    spark: "SparkSession", secured: Secured, tmp_path: Path
) -> None:
    """The query ends with the refusal, and not with a time that was over; no secret is told."""
    options = secured.options(secured.written(1))
    del options["kafka.sasl.username"], options["kafka.sasl.password.location"]
    options["kafka.sasl.jaas.config"] = (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="anna" password="not {PASSWORD}";'
    )
    began = monotonic()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a secret that is given as text
        stream = spark.readStream.format(OURS).options(**options).load()
        query = stream.writeStream.format("noop").option(
            "checkpointLocation", str(tmp_path / "checkpoint")
        )
        with pytest.raises(Exception, match="SaslAuthenticationException") as refused:
            start_query(query).awaitTermination(120)
    assert monotonic() - began < 100.0
    assert PASSWORD not in str(refused.value)

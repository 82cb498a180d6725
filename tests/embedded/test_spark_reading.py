"""What the tasks and the driver of Spark do, without Spark: over real sockets."""

import os
import pickle
import time
from collections.abc import Generator, Iterator
from typing import Any, cast

import pyarrow as pa
import pytest

from prokurist import KafkaProducer
from prokurist.errors import (
    ConfigException,
    TimeoutException,
    UnknownTopicOrPartitionException,
)
from prokurist.spark.errors import DataLossException
from prokurist.spark.offset_ranges import OffsetRange
from prokurist.spark.row_schema import COLUMNS
from prokurist.spark.source.batch_planning import planned
from prokurist.spark.source.driver_queries import DriverQueries
from prokurist.spark.source.filter_ranges import FilterRanges
from prokurist.spark.source.java_patterns import java_pattern
from prokurist.spark.source.options import Settings
from prokurist.spark.source.partition_selection import Matching, Partitions, Topics
from prokurist.spark.source.task import Piece, read
from prokurist.spark.source.worker_consumers import CLIENTS
from prokurist.spark.worker_clients import MOST_CLIENTS
from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import OffsetAndMetadata, TopicPartition
from tests.stopwatch import Stopwatch

TP = TopicPartition("orders", 0)
LATE = 2.0
"""Far above anything measured: these machines are shared."""


@pytest.fixture(autouse=True)
def _workers_end() -> Iterator[None]:
    """Close what a worker would keep."""
    yield
    CLIENTS.close()


def piece(broker: EmbeddedBroker, end: int, start: int = 0, **how: Any) -> Piece:
    """A task's piece."""
    client = {"bootstrap.servers": broker.bootstrap, **how.pop("client", {})}
    given = {
        "columns": tuple(COLUMNS),
        "batch_bytes": 1 << 20,
        "stall": 20.0,
        "budget": 20.0,
        "fail_on_data_loss": True,
        **how,
    }
    return Piece(OffsetRange(TP, start, end), client, **given)


def offsets(batches: Iterator[Any]) -> list[int]:
    """The offsets of some batches."""
    found: list[int] = pa.Table.from_batches(list(batches)).column("offset").to_pylist()
    return found


def connections(broker: EmbeddedBroker) -> int:
    """How many clients have ever greeted it, on all their connections."""
    return len(broker.requests("ApiVersions"))


@pytest.fixture
def filled(broker: EmbeddedBroker) -> EmbeddedBroker:
    """Ten records in the first partition."""
    for nth in range(10):
        broker.append(TP, b"%d" % nth)
    return broker


def test_a_task_reads_its_range(filled: EmbeddedBroker) -> None:
    """And nothing else."""
    assert offsets(read(piece(filled, 7, 2))) == [2, 3, 4, 5, 6]


def test_a_task_fetches_mebibytes_at_a_time(filled: EmbeddedBroker) -> None:
    """A fetch has a price of its own; an option asks for less."""
    for client, most in (({}, 8 << 20), ({"max.partition.fetch.bytes": "5000"}, 5000)):
        filled.forget_requests()
        offsets(read(piece(filled, 10, client=client)))
        asked = {
            each.partition_max_bytes
            for entry in filled.requests("Fetch")
            for topic in entry.body.topics
            for each in topic.partitions
        }
        assert asked == {most}


def test_a_worker_s_next_task_finds_the_connections_of_the_last(
    filled: EmbeddedBroker,
) -> None:
    """A client of the same configuration is used again; of another one, there is another."""
    offsets(read(piece(filled, 10)))
    before = connections(filled)
    for _ in range(5):
        assert len(offsets(read(piece(filled, 10)))) == 10
    assert connections(filled) == before
    offsets(read(piece(filled, 10, client={"client.id": "another"})))
    assert connections(filled) > before


def test_a_worker_keeps_few_clients(filled: EmbeddedBroker) -> None:
    """None is kept for a configuration that was not used lately."""
    for nth in range(MOST_CLIENTS + 2):
        offsets(read(piece(filled, 10, client={"client.id": f"c{nth}"})))
    assert len(CLIENTS) == MOST_CLIENTS


def test_two_tasks_at_a_time_have_a_client_each(filled: EmbeddedBroker) -> None:
    """Neither takes the other's records, nor its place."""
    one, other = read(piece(filled, 10)), read(piece(filled, 10))
    first, second = next(one), next(other)
    assert offsets(iter([first, *one])) == offsets(iter([second, *other])) == list(range(10))


def test_a_task_that_is_given_up_leaves_its_client_in_order(filled: EmbeddedBroker) -> None:
    """As a LIMIT does."""
    batches = cast("Generator[Any, None, None]", read(piece(filled, 10, batch_bytes=1)))
    next(batches)
    batches.close()
    before = connections(filled)
    assert len(offsets(read(piece(filled, 10)))) == 10
    assert connections(filled) == before


@pytest.mark.parametrize(
    ("how", "attempt", "seconds"),
    [({"stall": 1.5}, 0, 1.5), ({"budget": 4.0}, 0, 2.0), ({"budget": 4.0}, 1, 1.0)],
    ids=["by the stall", "by the budget", "by what is left of it"],
)
def test_a_task_that_stalls_ends_when_it_was_asked_to(
    filled: EmbeddedBroker, how: dict[str, Any], attempt: int, seconds: float
) -> None:
    """By whichever comes first: its own patience, or its share of what all attempts have."""
    filled.freeze()
    with Stopwatch() as took, pytest.raises(TimeoutException) as caught:
        offsets(read(piece(filled, 10, **how), attempt))
    assert seconds * 0.9 < took.seconds
    assert took.own < seconds + LATE
    assert "range orders-0 from 0 to 10" in caught.value.__notes__[0]
    assert "batchDeadlineMs" in caught.value.__notes__[1]
    filled.thaw()
    assert len(offsets(read(piece(filled, 10)))) == 10


def test_a_task_is_not_bounded_by_what_is_done_with_its_records(
    filled: EmbeddedBroker,
) -> None:
    """A stage behind the read that takes longer than both deadlines is slow, not silent."""
    client = {"max.partition.fetch.bytes": "1", "fetch.buffer.max.bytes": "1"}
    # What has to come in time is to be possible on a busy machine.
    slow = read(piece(filled, 10, stall=2.0, budget=4.0, client=client))
    found = offsets(iter([next(slow)]))
    time.sleep(4.5)
    assert found + offsets(slow) == list(range(10))


def test_what_went_between_plan_and_read(filled: EmbeddedBroker) -> None:
    """It is an error that names the range, or is passed over."""
    filled.delete_records(TP, 4)
    with pytest.raises(DataLossException, match=r"records of orders-0@2\.\.9 are gone"):
        offsets(read(piece(filled, 9, 2)))
    borne = {"fail_on_data_loss": False}
    assert offsets(read(piece(filled, 9, 2, **borne))) == [4, 5, 6, 7, 8]
    assert list(read(piece(filled, 3, 1, **borne))) == []
    assert list(read(piece(filled, 15, 12, **borne))) == []


def test_a_recreated_topic_is_read_by_a_worker_that_knew_the_old_one(
    filled: EmbeddedBroker,
) -> None:
    """The driver has planned it by what there is; so far as it is there, it is read."""
    borne = {"fail_on_data_loss": False}
    assert offsets(read(piece(filled, 10, **borne))) == list(range(10))
    filled.recreate_topic("orders")
    for nth in range(6):
        filled.append(TP, b"%d" % nth)
    assert offsets(read(piece(filled, 6, 4, **borne))) == [4, 5]
    assert list(read(piece(filled, 12, 8, **borne))) == []


@pytest.mark.parametrize("left", [0, 6])
def test_a_log_that_is_shorter_than_the_plan(filled: EmbeddedBroker, left: int) -> None:
    """B510: what is left of the range is read, or the error says that records are gone.

    A stream's plan stands in its checkpoint: without this no restart would come past it.
    """
    filled.recreate_topic("orders")
    for nth in range(left):
        filled.append(TP, b"%d" % nth)
    hasty: dict[str, Any] = {"stall": 2.0}
    borne = list(read(piece(filled, 10, fail_on_data_loss=False, **hasty)))
    assert sum(each.num_rows for each in borne) == left
    with pytest.raises(DataLossException, match=f"its log ends at {left}"):
        list(read(piece(filled, 10, **hasty)))


def test_a_topic_that_stays_deleted(
    filled: EmbeddedBroker, caplog: pytest.LogCaptureFixture
) -> None:
    """B486: the batch goes on without its records, or the error names topic and way out."""
    offsets(read(piece(filled, 5)))
    filled.delete_topic("orders")
    assert list(read(piece(filled, 10, fail_on_data_loss=False, stall=2.0))) == []
    assert "The topic 'orders' was deleted" in caplog.text
    with pytest.raises(DataLossException, match=r"'orders' was deleted\. Set failOnDataLoss"):
        list(read(piece(filled, 10, stall=2.0)))


def test_a_leader_that_is_away_has_no_shorter_log(filled: EmbeddedBroker) -> None:
    """B510: without an answer no record is taken for gone."""
    filled.freeze()
    with pytest.raises(TimeoutException):
        list(read(piece(filled, 10, fail_on_data_loss=False, stall=2.0)))
    filled.thaw()


def test_a_client_of_another_process_is_not_used(filled: EmbeddedBroker) -> None:
    """A worker that was forked after a task builds its own, and closes no copy."""
    offsets(read(piece(filled, 10)))
    child = os.fork()
    if not child:
        try:
            count = len(offsets(read(piece(filled, 10))))
            CLIENTS.close()
        except BaseException:  # noqa: BLE001 - nothing of the test may go on in here
            os._exit(2)
        os._exit(0 if count == 10 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(offsets(read(piece(filled, 10)))) == 10


# --- the driver ------------------------------------------------------------------------


def settings(broker: EmbeddedBroker, **options: str) -> Settings:
    """What the options of a reader come to."""
    given = {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": "orders", **options}
    return Settings.of(given)


def test_a_batch_is_planned(filled: EmbeddedBroker) -> None:
    """Of partitions with nothing in them there is no task."""
    (task,) = planned(settings(filled, driverDeadlineMs="20000"), ("offset",))
    assert task.range == OffsetRange(TP, 0, 10)
    assert offsets(read(pickle.loads(pickle.dumps(task)))) == list(range(10))


@pytest.mark.parametrize(
    ("late", "left"), [(0, (0, 10)), (6, (6, 10)), (9, (9, 10)), (10, None)]
)
def test_only_that_is_planned_where_wanted_records_can_be(
    broker: EmbeddedBroker, late: int, left: tuple[int, int] | None
) -> None:
    """Brokers are asked where a time begins; there is no task where no record is as young."""
    for nth in range(10):
        broker.append(TP, b"v", timestamp=1_700_000_000_000 + nth)
    since = FilterRanges(since=1_700_000_000_000 + late)
    tasks = planned(settings(broker, driverDeadlineMs="20000"), ("offset",), since)
    assert [each.range for each in tasks] == ([] if left is None else [OffsetRange(TP, *left)])


@pytest.mark.parametrize(("start", "end", "left"), [(2, 8, (4, 8)), (5, 12, (5, 10))])
def test_a_plan_of_what_is_not_there_is_a_loss(
    filled: EmbeddedBroker, start: int, end: int, left: tuple[int, int]
) -> None:
    """At its beginning or at its end; where it may be one, what is there is planned."""
    filled.delete_records(TP, 4)
    place = '{"orders": {"0": %d, "1": 0, "2": 0}}'
    asked = {"startingOffsets": place % start, "endingOffsets": place % end}
    with pytest.raises(DataLossException, match="what is to be read is not there"):
        planned(settings(filled, **asked), ("offset",))
    (task,) = planned(settings(filled, failOnDataLoss="false", **asked), ("offset",))
    assert task.range == OffsetRange(TP, *left)


def test_a_plan_ends_by_its_deadline(filled: EmbeddedBroker) -> None:
    """However many questions it takes."""
    filled.freeze()
    with Stopwatch() as took, pytest.raises(TimeoutException) as caught:
        planned(settings(filled, driverDeadlineMs="1500"), ("offset",))
    assert took.own < 1.5 + LATE
    assert caught.value.operation == "list_topics"
    assert caught.value.__notes__ == ["All of this step had the 1.5 s of driverDeadlineMs."]


def test_what_is_selected(filled: EmbeddedBroker) -> None:
    """By name, by pattern, or one by one; nothing is made by asking for it."""
    brokers = DriverQueries(settings(filled).client)
    orders = [TopicPartition("orders", number) for number in range(3)]
    try:
        with brokers.within(20.0):
            assert brokers.partitions(Topics(("orders",))) == orders
            assert brokers.partitions(Matching(java_pattern("^ord", "p"))) == orders
            assert brokers.partitions(Matching(java_pattern("^nothing", "p"))) == []
            assert brokers.partitions(Partitions((TP,))) == [TP]
            with pytest.raises(UnknownTopicOrPartitionException, match="'elsewhere'"):
                brokers.partitions(Topics(("orders", "elsewhere")))
            assert brokers.partitions(Matching(java_pattern("elsewhere", "p"))) == []
    finally:
        brokers.close()


def test_a_group_is_asked_and_not_joined(filled: EmbeddedBroker) -> None:
    """Whether it was named by `kafka.group.id` or in `committed:GROUP`."""
    from prokurist import KafkaConsumer

    with KafkaConsumer(bootstrap_servers=filled.bootstrap, group_id="g") as consumer:
        consumer.commit_sync({TP: OffsetAndMetadata(4)})
    other = TopicPartition("orders", 1)
    brokers = DriverQueries(settings(filled).client, "g")
    try:
        with brokers.within(20.0):
            assert brokers.committed(None, [TP, other]) == {TP: 4, other: None}
            assert brokers.committed("no-such-group", [TP]) == {TP: None}
    finally:
        brokers.close()
    assert not filled.requests("JoinGroup")
    starts = settings(filled, startingOffsets="committed:g", startingOffsetsMissing="earliest")
    (task,) = planned(starts, ("offset",))
    assert task.range == OffsetRange(TP, 4, 10)


def test_it_travels_with_a_client_that_is_open(filled: EmbeddedBroker) -> None:
    """And makes its own where it comes to; closed, it can be asked again."""
    brokers = DriverQueries(settings(filled).client)
    copy = None
    try:
        assert brokers.ends([TP]) == {TP: 10}
        copy = pickle.loads(pickle.dumps(brokers))
        assert copy.ends([TP]) == {TP: 10}
        brokers.close()
        assert brokers.ends([TP]) == {TP: 10}
    finally:
        brokers.close()
        if copy is not None:
            copy.close()


def test_a_plan_without_a_group_has_nowhere_to_begin(filled: EmbeddedBroker) -> None:
    """`committed` needs a group."""
    with pytest.raises(ConfigException, match="write committed:GROUP"):
        planned(settings(filled, startingOffsets="committed"), ("offset",))


@pytest.mark.parametrize("fail_on_data_loss", [True, False])
def test_a_range_that_ends_behind_an_open_transaction_waits_for_its_end(
    filled: EmbeddedBroker,
    *,
    fail_on_data_loss: bool,
) -> None:
    """B760: nothing of it is lost, and without `failOnDataLoss` nothing is passed over."""
    client = {"isolation.level": "read_committed"}
    how: dict[str, Any] = {"client": client, "fail_on_data_loss": fail_on_data_loss}
    with KafkaProducer(
        bootstrap_servers=filled.bootstrap, transactional_id="bills"
    ) as producer:
        producer.init_transactions(10.0)
        producer.begin_transaction()
        for number in range(3):
            producer.send("orders", b"%d" % number, partition=0)
        producer.flush(10.0)
        with pytest.raises(TimeoutException) as caught:
            list(read(piece(filled, 13, 8, stall=2.0, **how)))
        told = " ".join(caught.value.__notes__)
        assert "A transaction is open at offset 10 of orders-0" in told
        assert "raise readStallMs" in told
        producer.commit_transaction(10.0)
    assert offsets(read(piece(filled, 13, 8, **how))) == [*range(8, 13)]

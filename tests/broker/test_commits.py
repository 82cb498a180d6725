"""Commits against a real Kafka: what it refuses, what it mends, and in which order."""

import logging
import threading
import time
from collections.abc import Callable
from itertools import pairwise

import pytest

from prokurist import KafkaConsumer, OffsetAndMetadata, TimeoutException, TopicPartition, errors
from prokurist.testing.kafka import RealKafka
from prokurist.timeline import record
from tests.broker.conftest import Asking, Consuming, Ours
from tests.broker.watching import Watch, after, soon
from tests.every_call import TP, UNKNOWN

pytestmark = pytest.mark.kafka

MISSING = TopicPartition("no-such-topic", 0)
TOO_LONG = OffsetAndMetadata(1, "x" * 5000)
"""A note beyond `offset.metadata.max.bytes`."""


class Told:
    """What callbacks were told, and on which thread."""

    def __init__(self) -> None:
        self.offsets: list[int] = []
        self.errors: list[errors.KafkaException | None] = []
        self.threads: set[int] = set()

    def __call__(
        self,
        offsets: dict[TopicPartition, OffsetAndMetadata],
        error: errors.KafkaException | None,
    ) -> None:
        """One more."""
        self.offsets += [each.offset for each in offsets.values()]
        self.errors.append(error)
        self.threads.add(threading.get_ident())


def at(offset: int) -> dict[TopicPartition, OffsetAndMetadata]:
    """An offset to commit."""
    return {TP: OffsetAndMetadata(offset)}


def test_exactly_what_was_given_is_there(ours: Ours) -> None:
    """B33, B66: offset, note and leader epoch, of several partitions; read back at once."""
    consumer = ours()
    given = {TP: OffsetAndMetadata(7, "note ✓", 0), UNKNOWN: OffsetAndMetadata(0, "", None)}
    consumer.commit_sync(given)
    assert consumer.committed([TP, UNKNOWN]) == given


def test_the_newest_of_thousands_is_there(ours: Ours) -> None:
    """One for each record, far faster than a broker answers; each callback has run."""
    consumer, told = ours(), Told()
    consumer.committed(TP)
    for offset in range(5000):
        consumer.commit_async(at(offset), told)
    consumer.commit_sync({})
    assert told.offsets == list(range(5000))
    assert told.errors[-1] is None
    assert consumer.committed(TP)[TP] == OffsetAndMetadata(4999)


def test_a_commit_of_nothing(ours: Ours) -> None:
    """B15: no request; what was under way before has ended when it returns."""
    consumer, told = ours(), Told()
    consumer.commit_async(at(1), told)
    consumer.commit_sync({})
    assert told.offsets == [1]


@pytest.mark.parametrize("run", ["poll", "commit_sync", "commit_async", "close"])
def test_callbacks_run_on_the_callers_thread(ours: Ours, run: str) -> None:
    """B35: with the offsets and no error, inside a later poll, commit or close."""
    consumer, told = ours(), Told()
    consumer.commit_async(at(1), told)
    # Behind it on the same connection: when this is answered, that is.
    assert consumer.committed(TP, timeout=20) == at(1)
    assert not told.errors
    calls: dict[str, Callable[[], object]] = {
        "poll": lambda: consumer.poll(0),
        "commit_sync": lambda: consumer.commit_sync({}),
        "commit_async": lambda: consumer.commit_async({}),
        "close": consumer.close,
    }
    calls[run]()
    assert (told.offsets, told.errors) == ([1], [None])
    assert told.threads == {threading.get_ident()}


def test_a_passing_failure_is_told_and_not_tried_again(
    ours: Ours, orders: RealKafka, eventually: Asking
) -> None:
    """B36: a topic that is not there is one that may come; RetriableCommitFailed says so."""
    consumer, told = ours(), Told()
    consumer.commit_async({MISSING: OffsetAndMetadata(3)}, told)
    consumer.commit_sync({}, timeout=20)
    (error,) = told.errors
    assert type(error) is errors.RetriableCommitFailedException
    assert type(error.__cause__) is errors.UnknownTopicOrPartitionException
    orders.freeze()
    written = requests(consumer, "OffsetCommit")
    consumer.commit_async(at(4), told)
    eventually(lambda: requests(consumer, "OffsetCommit") > written)
    orders.proxy().reset()
    consumer.commit_sync({}, timeout=20)
    assert type(told.errors[1]) is errors.RetriableCommitFailedException
    orders.heal()


def test_a_lasting_failure_is_told_as_itself(
    ours: Ours, caplog: pytest.LogCaptureFixture
) -> None:
    """B37, B38: OffsetMetadataTooLarge to the callback; without one it is only logged."""
    consumer, told = ours(), Told()
    consumer.commit_async({TP: TOO_LONG}, told)
    consumer.commit_sync({}, timeout=20)
    assert type(told.errors[0]) is errors.OffsetMetadataTooLarge
    with caplog.at_level(logging.WARNING, "prokurist"):
        consumer.commit_async({TP: TOO_LONG})
        consumer.commit_sync(at(5), timeout=20)
    assert "asynchronous commit failed" in caplog.text
    assert consumer.committed(TP) == at(5)


def test_ten_and_then_a_synchronous_one(ours: Ours) -> None:
    """B39: ten callbacks, in order, before `commit_sync` returns."""
    consumer, told = ours(), Told()
    for offset in range(10):
        consumer.commit_async(at(offset), told)
    consumer.commit_sync(at(99), timeout=20)
    assert told.offsets == list(range(10))
    assert consumer.committed(TP) == at(99)


def test_what_a_callback_raises_surfaces_and_the_others_still_run(
    ours: Ours, orders: RealKafka
) -> None:
    """B40: from the call that ran it, after its own commit; the others run later."""
    consumer, told = ours(), Told()
    # An answer to the first commit would have its callback run by the second one.
    orders.freeze()

    def bad(*_: object) -> None:
        raise ZeroDivisionError

    consumer.commit_async(at(1), bad)
    consumer.commit_async(at(2), told)
    orders.thaw()
    with pytest.raises(ZeroDivisionError):
        consumer.commit_sync(at(3), timeout=20)
    assert consumer.committed(TP) == at(3)
    consumer.commit_sync({}, timeout=20)
    assert told.offsets == [2]


def test_a_commit_inside_a_callback(ours: Ours) -> None:
    """B41: both kinds, and a look-up; no deadlock."""
    consumer, told = ours(), Told()

    def again(*_: object) -> None:
        consumer.commit_sync(at(5), timeout=20)
        assert consumer.committed(TP, timeout=20) == at(5)
        consumer.commit_async(at(6), told)

    consumer.commit_async(at(1), again)
    consumer.commit_sync({}, timeout=20)
    assert told.offsets == [6]


@pytest.mark.parametrize("comes", [True, False], ids=["found", "closed first"])
def test_held_while_the_coordinator_is_unknown(orders: RealKafka, *, comes: bool) -> None:
    """B42, B184: sent on its discovery; with an error to the callback if close is first."""
    told = Told()
    refusal = orders.proxy().refuse()
    consumer = KafkaConsumer(bootstrap_servers=orders.bootstrap, group_id=f"held-{comes}")
    consumer.commit_async(at(1), told)
    time.sleep(0.2)
    assert not told.errors
    if comes:
        refusal.heal()
        consumer.commit_sync({}, timeout=20)
        assert told.errors == [None]
        assert consumer.committed(TP) == at(1)
    with soon() if comes else Watch(0.0):
        consumer.close(0.4 if not comes else None)
    if not comes:
        assert type(told.errors[0]) is errors.RetriableCommitFailedException


def test_errors_until_the_end_are_counted(ours: Ours) -> None:
    """B5: a topic that never comes: attempts, the last error as cause, the pauses (B29)."""
    consumer = ours()
    with Watch(5.0), pytest.raises(TimeoutException, match="backoff") as caught:
        consumer.commit_sync({MISSING: OffsetAndMetadata(3)}, timeout=5.0)
    assert type(caught.value.__cause__) is errors.UnknownTopicOrPartitionException
    attempts = caught.value.attempts
    assert [each.request for each in attempts] == ["OffsetCommit"] * len(attempts)
    assert len(attempts) >= 3
    # Pauses of 0.1, 0.2 and 0.4 s and so on, each by a fifth more or less.
    for nth, (earlier, later) in enumerate(pairwise(attempts)):
        assert later.started - earlier.started >= min(0.08 * 2**nth, 0.8)
    # Only if the last of them is in the hands of a broker that is slow just then.
    assert caught.value.may_have_happened == (attempts[-1].ended is None)


class Answering:
    """Puts an error code into the first answers to commits that pass."""

    def __init__(self, code: int, times: int) -> None:
        self.left = times
        self._well, self._ill = (
            b"\x07orders\x02" + bytes(4) + each.to_bytes(2, "big") + bytes(3)
            for each in (0, code)
        )

    def __call__(self, data: bytes) -> bytes:
        """What becomes of some bytes that a broker sent."""
        if self.left and data.endswith(self._well):
            self.left -= 1
            return data.removesuffix(self._well) + self._ill
        return data


@pytest.mark.parametrize(
    ("code", "searches"), [(14, 0), (7, 2)], ids=["loading (B43)", "timed out (B45)"]
)
def test_an_answer_that_asks_for_patience(
    ours: Ours, orders: RealKafka, code: int, searches: int
) -> None:
    """B4, B43, B45: tried again; the coordinator is kept while it loads, or looked up again.

    No real one says either on command, so the code is put into its answers on their way.
    """
    consumer = ours()
    consumer.commit_sync(at(1), timeout=20)
    changed = Answering(code, times=2)
    commits, found = requests(consumer, "OffsetCommit"), requests(consumer, "FindCoordinator")
    with orders.proxy().change(changed):
        consumer.commit_sync(at(2), timeout=20)
    assert not changed.left
    assert requests(consumer, "OffsetCommit") == commits + 3
    assert requests(consumer, "FindCoordinator") == found + searches
    assert consumer.committed(TP, timeout=20) == at(2)


def test_a_success_resets_the_backoff(ours: Ours, orders: RealKafka) -> None:
    """B30: the first pause after it is the shortest again, and not the longest so far."""
    consumer = ours()
    consumer.commit_sync(at(1), timeout=20)
    pauses: list[list[float]] = []

    def shortest(nth: int) -> float:
        return min(each[nth] for each in pauses)

    # 0.1 and 0.4 s, each by a fifth more or less; the machine may add to either, and does not
    # always do so.
    while len(pauses) < 4 or (shortest(0) >= 0.2 and len(pauses) < 60):
        with orders.proxy().change(Answering(14, times=3)), record(consumer) as recording:
            consumer.commit_sync(at(len(pauses)), timeout=20)
        tries = [each.at for each in recording.entries if each.event == "attempt_began"]
        pauses.append([later - earlier for earlier, later in pairwise(tries)])
    assert 0.08 <= shortest(0) < 0.2
    assert shortest(2) >= 0.32


def requests(consumer: KafkaConsumer, api: str) -> float:
    """How many of a kind it has written."""
    return consumer.metrics().get(f'prokurist_requests_total{{api="{api}"}}', 0)


def test_a_topic_that_comes_within_the_time(ours: Ours, orders: RealKafka) -> None:
    """B4: refused at first, taken when it is there, in the same call."""
    consumer = ours()
    name = f"later-{time.monotonic_ns()}"
    tp = TopicPartition(name, 0)
    with after(0.25, lambda: orders.create_topic(name)):
        consumer.commit_sync({tp: OffsetAndMetadata(3)}, timeout=20)
    assert consumer.committed(tp, timeout=20) == {tp: OffsetAndMetadata(3)}


def test_what_no_patience_mends_is_raised_at_once(ours: Ours) -> None:
    """B6, B50: the error itself, and not the deadline."""
    consumer = ours()
    with soon(), pytest.raises(errors.OffsetMetadataTooLarge):
        consumer.commit_sync({TP: TOO_LONG}, timeout=60)


def test_the_group_belongs_to_other_members(
    orders: RealKafka, consumer_of: Consuming, eventually: Asking
) -> None:
    """B46: a group with live members takes no commit of a stranger: CommitFailed, at once."""
    group = f"members-{time.monotonic_ns()}"
    member = consumer_of(orders.bootstrap, group)
    member.subscribe(["orders"])
    eventually(lambda: member.poll(0.1) or member.assignment())
    with KafkaConsumer(bootstrap_servers=orders.bootstrap, group_id=group) as consumer:
        with soon(), pytest.raises(errors.CommitFailedException, match="committed") as caught:
            consumer.commit_sync(at(1), timeout=60)
        assert type(caught.value.__cause__) is errors.UnknownMemberIdException


def test_without_a_group_there_is_nothing_to_commit_to(orders: RealKafka) -> None:
    """B51: InvalidGroupId, at once, frozen or not: nothing is asked."""
    orders.freeze()
    with KafkaConsumer(bootstrap_servers=orders.bootstrap) as consumer:
        for call in (
            lambda: consumer.commit_sync(at(1), timeout=20),
            lambda: consumer.committed(TP, timeout=20),
        ):
            with Watch(0.0), pytest.raises(errors.InvalidGroupIdException, match=r"group\.id"):
                call()


def test_invalid_calls_raise_before_a_request_is_sent(orders: RealKafka) -> None:
    """B57, B63: automatic commits without a group, and an offset below zero."""
    orders.freeze()
    with pytest.raises(errors.ConfigException, match=r"group\.id"):
        KafkaConsumer(bootstrap_servers=orders.bootstrap, enable_auto_commit=True)
    with KafkaConsumer(bootstrap_servers=orders.bootstrap) as consumer:
        with pytest.raises(ValueError, match="offset"):
            consumer.commit_sync(at(-1))
        assert consumer.health().waiting_calls == 0

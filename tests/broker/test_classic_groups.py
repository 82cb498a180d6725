"""Classic groups on a real Kafka 4.3 and 3.9: who reads what, and how soon."""

import re
import secrets
import signal
import time
from collections.abc import Iterator
from contextlib import closing

import pytest

from prokurist import OffsetAndMetadata, TopicPartition, errors
from prokurist.testing.kafka import KafkaUnavailable, RealKafka, is_required
from prokurist.types import GroupMembershipOperation
from tests.broker.conftest import Producing
from tests.broker.grouping import Member, another, live, shared, until_it_has, write
from tests.broker.requests_by_hand import Talker
from tests.broker.watching import AT_ONCE, LATE, Watch, soon
from tests.processes_watch import ProcessesWatch
from tests.stopwatch import Stopwatch

pytestmark = pytest.mark.kafka

COOPERATIVE = "cooperative-sticky"


@pytest.fixture(scope="module", params=["4.3", "3.9"])
def kafka(request: pytest.FixtureRequest, prokurist_kafka: RealKafka) -> Iterator[RealKafka]:
    """Each of the two; the older one is shared by the tests of this file."""
    if request.param == "4.3":
        yield prokurist_kafka
        return
    older = RealKafka(version="3.9.2", controls=True)
    try:
        older.start()
    except KafkaUnavailable as error:
        if is_required():
            raise
        pytest.skip(error.reason)
    yield older
    older.close()


@pytest.fixture
def group() -> str:
    """A group of this test's own."""
    return f"g-{secrets.token_hex(6)}"


@pytest.mark.parametrize("strategy", ["range", COOPERATIVE])
def test_members_come_and_go(
    kafka: RealKafka, group: str, producer_of: Producing, strategy: str
) -> None:
    """B194, B128: everything is read once; who leaves is followed long before its session."""
    topic = kafka.unique_topic(partitions=4)
    write(producer_of(kafka.bootstrap), topic, 200, 4)
    keys = {"partition_assignment_strategy": strategy}
    with Member(kafka, group, topic, **keys) as one, Member(kafka, group, topic, **keys) as two:
        live(one, until=shared(4, one))
        live(one, two, until=shared(4, one, two))
        write(producer_of(kafka.bootstrap), topic, 200, 4)
        live(one, two, until=lambda: len(one.read + two.read) == 400)
        assert set((one.read + two.read).values()) == {1}
        two.consumer.close()
        with soon():
            live(one, until=shared(4, one))
        assert "lost" not in one.said + two.said


def test_an_application_that_computes_keeps_its_place(kafka: RealKafka, group: str) -> None:
    """B271: pure Python in the application's thread for longer than a session: no round."""
    topic = kafka.unique_topic(partitions=4)
    with Member(kafka, group, topic, session_timeout_ms=6000) as one:
        live(one, until=shared(4, one))
        before = one.consumer.group_metadata()
        until = time.monotonic() + 8.0
        while time.monotonic() < until:
            sum(range(1000))
        one.poll()
        assert one.consumer.group_metadata() == before
        assert one.said == ["assigned"]


@pytest.mark.parametrize("strategy", ["range", COOPERATIVE])
def test_what_a_leaver_had_is_read_long_before_its_session_ends(
    kafka: RealKafka, group: str, producer_of: Producing, strategy: str
) -> None:
    """B194: from `close` to the first record that another reads of each partition.

    That it is within a heartbeat is held where brokers never stand still: in virtual time.
    """
    topic = kafka.unique_topic(partitions=4)
    producer = producer_of(kafka.bootstrap)
    keys = {"partition_assignment_strategy": strategy}
    with Member(kafka, group, topic, **keys) as one, Member(kafka, group, topic, **keys) as two:
        live(one, two, until=shared(4, one, two))
        theirs = two.has
        write(producer, topic, 4, 4)
        live(one, two, until=lambda: len(one.read + two.read) == 4)
        one.read.clear()
        with soon():
            two.consumer.close()
            write(producer, topic, 4, 4)
            live(one, until=lambda: theirs <= {partition for partition, _ in one.read})


def test_a_member_that_is_killed_is_missed_after_its_session(
    kafka: RealKafka, group: str
) -> None:
    """B134's sister: SIGKILL of a process; the others have its partitions by then."""
    topic = kafka.unique_topic(partitions=4)
    with (
        Member(kafka, group, topic) as mine,
        another(
            kafka, group, topic, session_timeout_ms=10_000, heartbeat_interval_ms=500
        ) as process,
    ):
        live(mine, until=lambda: len(mine.has) == 2)
        stopwatch = ProcessesWatch()
        process.kill()
        # Its session began with its last heartbeat, which a busy machine has put off.
        assert live(mine, until=shared(4, mine)) > 4.0
        assert stopwatch.fair() < 10.5 + AT_ONCE


def test_a_frozen_member_delays_no_poll_of_another(kafka: RealKafka, group: str) -> None:
    """Issue 6: SIGSTOP of a process while a third joins; poll(0.2) takes 0.2 s + ε."""
    topic = kafka.unique_topic(partitions=4)
    with Member(kafka, group, topic) as mine, another(kafka, group, topic) as process:
        live(mine, until=lambda: len(mine.has) == 2)
        until_it_has(process, 2)
        process.send_signal(signal.SIGSTOP)
        with Member(kafka, group, topic) as late:
            for _ in range(15):
                for each in (mine, late):
                    each.poll(0.2)
            assert not late.has
            assert max(mine.slowest, late.slowest) < LATE
            with soon():
                late.consumer.committed(TopicPartition(topic, 0), timeout=60)


def test_a_coordinator_that_restarts(
    prokurist_own_kafka: RealKafka, group: str, producer_of: Producing
) -> None:
    """B134: reading goes on where it was; nothing is read twice beyond the last commit."""
    kafka = prokurist_own_kafka
    topic = kafka.unique_topic(partitions=4)
    write(producer_of(kafka.bootstrap), topic, 100, 4)
    with Member(kafka, group, topic) as one, Member(kafka, group, topic) as two:
        live(one, two, until=lambda: len(one.read + two.read) == 100, within=90)
        live(one, two, until=shared(4, one, two))
        one.consumer.commit_sync()
        two.consumer.commit_sync()
        kafka.kill()
        for _ in range(10):
            one.poll()
            two.poll()
        kafka.restart()
        live(one, two, until=shared(4, one, two), within=90)
        write(producer_of(kafka.bootstrap), topic, 100, 4)
        live(one, two, until=lambda: len(one.read + two.read) == 200, within=90)
        assert set((one.read + two.read).values()) == {1}


def generation_of(member: Member) -> int:
    """The generation that its last poll has found."""
    return member.consumer.group_metadata().generation_id


def test_a_static_member_restarts(kafka: RealKafka, group: str) -> None:
    """B127, B193: no leave, no round for the others, the same partitions."""
    topic = kafka.unique_topic(partitions=4)
    with Member(kafka, group, topic) as other:
        with Member(kafka, group, topic, group_instance_id="me") as before:
            live(other, before, until=shared(4, other, before))
            had = before.has
            generation = generation_of(before)
            # Partitions that stay are no reason for a callback, and its next poll knows.
            live(other, before, until=lambda: generation_of(other) == generation)
        with Member(kafka, group, topic, group_instance_id="me") as after:
            live(other, after, until=shared(4, other, after))
            assert after.has == had
            assert generation_of(other) == generation


def test_of_two_of_one_name_the_older_is_fenced(kafka: RealKafka, group: str) -> None:
    """B127: it hears so from its next poll, and can be closed."""
    topic = kafka.unique_topic(partitions=1)
    with Member(kafka, group, topic, group_instance_id="me") as older_one:
        live(older_one, until=shared(1, older_one))
        with Member(kafka, group, topic, group_instance_id="me") as newer:
            live(newer, until=shared(1, newer))
            with pytest.raises(errors.FencedInstanceIdException):
                live(older_one, until=lambda: False)


def test_a_member_whose_commit_is_refused_reads_nothing_more_of_what_it_lost(
    kafka: RealKafka, group: str, producer_of: Producing
) -> None:
    """B400: an administrator removes it; its commit hears so, the next poll the listener."""
    topic = kafka.unique_topic(partitions=1)
    write(producer_of(kafka.bootstrap), topic, 200, 1)
    keys = {
        "heartbeat_interval_ms": 10_000,
        "max_poll_records": 10,
        "enable_auto_commit": False,
    }
    talker = Talker(kafka.direct_bootstrap)
    with Member(kafka, group, topic, **keys) as member, closing(talker):
        live(member, until=lambda: len(member.read) == 10)
        was = member.consumer.group_metadata().member_id
        left = talker.ask(
            "admin",
            "LeaveGroup",
            3,
            group_id=group,
            members=[{"member_id": was, "group_instance_id": None}],
        )
        assert left.error_code == 0
        with pytest.raises(errors.CommitFailedException):
            member.consumer.commit_sync(timeout=10.0)
        assert member.said == ["assigned"]
        member.poll(0.0)
        assert member.said == ["assigned", "lost"]
        assert len(member.read) == 10
        live(member, until=lambda: len(member.read) == 200)
        assert member.said == ["assigned", "lost", "assigned"]
        assert member.consumer.group_metadata().member_id != was


@pytest.mark.parametrize("instance", [None, "me"], ids=["dynamic", "static"])
def test_close_hears_out_a_commit_under_way_before_it_calls_the_listener(
    kafka: RealKafka, group: str, instance: str | None
) -> None:
    """B400, B184: an administrator removes it; its commit and `close` follow at once."""
    topic = kafka.unique_topic(partitions=1)
    keys = {"heartbeat_interval_ms": 10_000, "group_instance_id": instance}
    refused: list[BaseException | None] = []
    with closing(Talker(kafka.direct_bootstrap)) as talker:
        member = Member(kafka, group, topic, enable_auto_commit=False, **keys)
        live(member, until=lambda: member.said == ["assigned"])
        was = member.consumer.group_metadata().member_id
        gone = [{"member_id": was, "group_instance_id": instance}]
        left = talker.ask("admin", "LeaveGroup", 3, group_id=group, members=gone)
        assert left.error_code == 0
        assert left.members[0].error_code == 0
        member.consumer.commit_async(
            {TopicPartition(topic, 0): OffsetAndMetadata(0)},
            lambda _, error: refused.append(error),
        )
        with Stopwatch() as took:
            member.consumer.close(30.0)
    assert [type(each) for each in refused] == [errors.CommitFailedException]
    assert member.said == ["assigned", "lost"]
    assert took.own < AT_ONCE


def test_topics_appear_and_grow(kafka: RealKafka, group: str) -> None:
    """B129, B130, B202: a pattern that matches nothing yet finds what is made."""
    stem = f"t{secrets.token_hex(4)}"
    with Member(kafka, group, re.compile(rf"{stem}-.*")) as one:
        live(one, until=lambda: one.consumer.group_metadata().generation_id > 0)
        kafka.create_topic(f"{stem}-a", partitions=2)
        live(one, until=shared(2, one))
        kafka.create_topic(f"{stem}-b", partitions=1)
        live(one, until=shared(3, one))
        kafka.delete_topic(f"{stem}-a")
        live(one, until=shared(1, one))


def test_who_does_not_poll_is_out_and_comes_back(kafka: RealKafka, group: str) -> None:
    """B121, B46, B64, B65: the other has everything; a commit fails; the next poll joins."""
    topic = kafka.unique_topic(partitions=2)
    with (
        Member(kafka, group, topic) as other,
        Member(kafka, group, topic, max_poll_interval_ms=7000) as slow,
    ):
        # Who comes first has everything, and the next one's coming revokes it.
        live(other, until=shared(2, other))
        live(other, slow, until=shared(2, other, slow))
        (tp,) = slow.has
        live(other, until=lambda: len(other.has) == 2)
        with pytest.raises(errors.CommitFailedException):
            slow.consumer.commit_sync({tp: OffsetAndMetadata(0)})
        live(other, slow, until=shared(2, other, slow))
        assert slow.said == ["assigned", "lost", "assigned"]


def test_a_commit_in_a_round_keeps_the_membership(kafka: RealKafka, group: str) -> None:
    """B65: RebalanceInProgress; when the round is over it goes through."""
    topic = kafka.unique_topic(partitions=2)
    with Member(kafka, group, topic) as one, Member(kafka, group, topic) as other:
        live(one, other, until=shared(2, one, other))
        (tp,) = other.has
        before = other.consumer.group_metadata().member_id

        def refused() -> bool:
            try:
                other.consumer.commit_sync({tp: OffsetAndMetadata(1)}, timeout=10)
            except errors.RebalanceInProgressException:
                return True
            return False

        other.consumer.enforce_rebalance("a test of commits")
        live(other, until=refused)
        live(one, other, until=shared(2, one, other))
        (tp,) = other.has
        other.consumer.commit_sync({tp: OffsetAndMetadata(2)}, timeout=10)
        assert other.consumer.group_metadata().member_id == before


def test_a_parked_join_delays_neither_calls_nor_the_end(kafka: RealKafka, group: str) -> None:
    """B183, B217: while another member does not come to the round."""
    topic = kafka.unique_topic(partitions=2)
    tp = TopicPartition(topic, 0)
    with Member(kafka, group, topic) as idle:
        live(idle, until=shared(2, idle))
        late = Member(kafka, group, topic)
        late.poll(1.0)
        with soon():
            late.consumer.committed(tp, timeout=60)
            late.consumer.end_offsets(tp, timeout=60)
            assert not late.has
            late.consumer.close()


def test_close_commits_and_leaves_also_when_the_listener_raises(
    kafka: RealKafka, group: str, producer_of: Producing
) -> None:
    """B178, B185: what was read is committed, the listener's error raised, the place free."""
    topic = kafka.unique_topic(partitions=1)
    tp = TopicPartition(topic, 0)
    write(producer_of(kafka.bootstrap), topic, 10, 1)
    first = Member(kafka, group, topic)
    live(first, until=lambda: len(first.read) == 10)

    def fail(_partitions: object) -> None:
        raise ValueError("no")

    setattr(first, "on_partitions_revoked", fail)  # noqa: B010 - the listener that it is
    with pytest.raises(errors.KafkaException, match="ValueError"):
        first.consumer.close()
    with Member(kafka, group, topic) as second:
        with soon():
            live(second, until=shared(1, second))
        assert second.consumer.committed(tp)[tp] == OffsetAndMetadata(10, "", 0)
        live(second, until=lambda: second.consumer.position(tp) == 10)
        assert not second.read


def test_a_silent_coordinator_does_not_delay_leaving(
    prokurist_own_kafka: RealKafka, group: str
) -> None:
    """B180: close is in time, and raises nothing; thawed, the broker finds the leave."""
    kafka = prokurist_own_kafka
    topic = kafka.unique_topic(partitions=1)
    one = Member(kafka, group, topic, session_timeout_ms=45_000)
    live(one, until=shared(1, one))
    live(one, until=lambda: one.consumer.position(TopicPartition(topic, 0)) == 0)
    kafka.freeze()
    with Watch(0.0, 2.0 + LATE):
        one.consumer.close(2.0)
    kafka.thaw()
    with Member(kafka, group, topic) as another_one, soon():
        live(another_one, until=shared(1, another_one))


@pytest.mark.parametrize("how", ["remain", "leave"])
def test_a_member_says_whether_it_leaves(kafka: RealKafka, group: str, how: str) -> None:
    """B192, KIP-1092: who remains is missed when its session is over; a static one may go."""
    topic = kafka.unique_topic(partitions=2)
    instance = "me" if how == "leave" else None
    with Member(kafka, group, topic) as other:
        member = Member(
            kafka, group, topic, group_instance_id=instance, session_timeout_ms=10_000
        )
        live(other, member, until=shared(2, other, member))
        member.consumer.close(membership=GroupMembershipOperation(how))
        there = len(kafka.describe_group(group).members)
        assert there == (2 if how == "remain" else 1)
        live(other, until=shared(2, other))

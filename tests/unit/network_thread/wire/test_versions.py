"""Which version is spoken: the broker's say, the cap's, and the request's own."""

from uuid import UUID

import pytest

from prokurist.errors import UnsupportedVersionException
from prokurist.network_thread.wire import apis
from prokurist.network_thread.wire.api_versions import ApiVersions
from prokurist.network_thread.wire.apis import Api
from prokurist.network_thread.wire.classic_group import (
    Heartbeat,
    JoinGroup,
    LeaveGroup,
    SyncGroup,
)
from prokurist.network_thread.wire.codec import encode
from prokurist.network_thread.wire.committed_offsets import OffsetCommit, OffsetFetch
from prokurist.network_thread.wire.consumer_group import ConsumerGroupHeartbeat
from prokurist.network_thread.wire.log_offsets import (
    ListOffsets,
    Moment,
    OffsetForLeaderEpoch,
    OffsetQuestion,
)
from prokurist.network_thread.wire.metadata import (
    CoordinatorOf,
    FindCoordinator,
    FindCoordinators,
    Metadata,
)
from prokurist.network_thread.wire.produce import InitProducerId, Produce
from prokurist.network_thread.wire.request import Limit, Request
from prokurist.network_thread.wire.transactions import (
    AddOffsetsToTxn,
    AddPartitionsToTxn,
    EndTxn,
    TransactionalProducer,
    TxnOffsetCommit,
)
from prokurist.network_thread.wire.versions import Range, Versions, negotiate
from prokurist.types import ConsumerGroupMetadata, OffsetAndMetadata, TopicPartition

ID = UUID(int=7)
A0 = TopicPartition("a", 0)
B0 = TopicPartition("b", 0)
PRODUCER = TransactionalProducer("t", 4000, 2)
GROUP = ConsumerGroupMetadata("g")
EVERYTHING = Versions(
    {api.key: Range(0, 99) for api in vars(apis).values() if isinstance(api, Api)}
)


def offered(oldest: int, newest: int) -> Versions:
    """A broker that knows Metadata only."""
    return Versions({apis.METADATA.key: Range(oldest, newest)})


@pytest.mark.parametrize(
    ("theirs", "cap", "spoken"),
    [
        ((0, 99), None, 13),
        ((0, 9), None, 9),
        ((13, 20), None, 13),
        ((0, 0), None, 0),
        ((0, 99), 9, 9),
        ((0, 7), 9, 7),
        ((0, 99), 99, 13),
    ],
)
def test_the_newest_version_that_all_allow(
    theirs: tuple[int, int], cap: int | None, spoken: int
) -> None:
    """Ours, the broker's, and the cap's."""
    capped = None if cap is None else offered(0, cap)
    assert negotiate(apis.METADATA, offered(*theirs), capped) == spoken
    assert negotiate(Metadata(), offered(*theirs), capped) == spoken


@pytest.mark.parametrize(
    ("asked", "theirs", "cap", "why"),
    [
        (apis.METADATA, (14, 20), None, "0–13, the broker 14–20.*upgrade prokurist"),
        (apis.METADATA, (10, 20), 9, "0–9, the broker 10–20.*lift the cap"),
        (apis.METADATA, (14, 20), 13, "0–13, the broker 14–20.*upgrade prokurist"),
        (apis.METADATA, (3, 2), None, "none is in both"),
        (apis.OFFSET_COMMIT, (0, 9), None, "OffsetCommit is not among.*2–10.*newer broker"),
    ],
)
def test_no_common_version_is_explained(
    asked: Api, theirs: tuple[int, int], cap: int | None, why: str
) -> None:
    """The API, both ranges, and what to do about it."""
    with pytest.raises(UnsupportedVersionException, match=why):
        negotiate(asked, offered(*theirs), None if cap is None else offered(0, cap))


def test_a_broker_that_is_too_old_is_to_be_upgraded() -> None:
    """Where the broker ends before we begin, the broker is the way out."""
    old = Versions({apis.OFFSET_COMMIT.key: Range(0, 1)})
    with pytest.raises(
        UnsupportedVersionException, match=r"2–10, the broker 0–1.*upgrade the br"
    ):
        negotiate(apis.OFFSET_COMMIT, old)


def test_a_cap_can_take_an_api_away() -> None:
    """Under the versions of Kafka 2.4 there is no consumer protocol."""
    cap = Versions.of_kafka("2.4")
    assert negotiate(apis.JOIN_GROUP, EVERYTHING, cap) == 6
    assert negotiate(apis.OFFSET_FETCH, EVERYTHING, cap) == 6
    with pytest.raises(
        UnsupportedVersionException, match=r"not spoken under the cap of Kafka 2\.4"
    ):
        negotiate(apis.CONSUMER_GROUP_HEARTBEAT, EVERYTHING, cap)
    assert negotiate(apis.CONSUMER_GROUP_HEARTBEAT, EVERYTHING, Versions.of_kafka("3.9")) == 0


def test_a_release_that_we_know_nothing_of_is_refused() -> None:
    """No guessing; the releases that there are facts about are named."""
    with pytest.raises(ValueError, match=r"'4\.9'.* 2\.4, .*4\.3"):
        Versions.of_kafka("4.9")


def commit(*topics: str, **more: object) -> OffsetCommit:
    """A commit of a partition of each topic."""
    offsets = tuple((TopicPartition(topic, 0), OffsetAndMetadata(1)) for topic in topics)
    return OffsetCommit("g", offsets, **more)  # type: ignore[arg-type]


def listing(timestamp: int, *, read_committed: bool = False) -> ListOffsets:
    """A question for one offset."""
    return ListOffsets((OffsetQuestion(A0, timestamp),), read_committed, 1.0)


def transactional(topic_ids: dict[str, UUID]) -> Produce:
    """A batch of a transaction that adds its partitions by itself."""
    return Produce(-1, 1.0, {A0: b"r"}, topic_ids, transactional_id="t", adds_partitions=True)


@pytest.mark.parametrize(
    ("request_", "oldest", "newest"),
    [
        (ApiVersions("p", "1"), 0, 4),
        (OffsetForLeaderEpoch(()), 3, 4),
        (Metadata(), 0, 13),
        (Metadata(names=("a",), allow_auto_topic_creation=True), 0, 13),
        (Metadata(names=("a",)), 4, 13),
        (Metadata(names=(), allow_auto_topic_creation=True), 1, 13),
        (Metadata(topic_ids=(ID,)), 12, 13),
        (FindCoordinator("g"), 0, 6),
        (FindCoordinator("t", CoordinatorOf.TRANSACTION), 1, 6),
        (FindCoordinator("s", CoordinatorOf.SHARE), 6, 6),
        (FindCoordinators(("g", "h")), 4, 6),
        (FindCoordinators(("s",), CoordinatorOf.SHARE), 6, 6),
        (commit("a"), 2, 9),
        (commit("a", topic_ids={"a": ID}), 2, 10),
        (commit("a", "b", topic_ids={"a": ID}), 2, 9),
        (commit("a", instance_id="i"), 7, 9),
        (commit("a", is_member_epoch=True), 9, 9),
        (OffsetFetch("g", (A0,)), 1, 9),
        (OffsetFetch("g", (A0,), topic_ids={"a": ID}), 1, 10),
        (OffsetFetch("g", (A0, B0), topic_ids={"b": ID}), 1, 9),
        (OffsetFetch("g"), 2, 9),
        (OffsetFetch("g", (A0,), require_stable=True), 7, 9),
        (OffsetFetch("g", (A0,), require_stable=True, unstable_will_do=True), 1, 9),
        (OffsetFetch("g", (A0,), member_id="m", member_epoch=1), 1, 9),
        (listing(Moment.LATEST), 1, 11),
        (listing(0), 1, 11),
        (listing(0, read_committed=True), 2, 11),
        (listing(Moment.MAX_TIMESTAMP), 7, 11),
        (listing(Moment.EARLIEST_LOCAL), 8, 11),
        (listing(Moment.LATEST_TIERED), 9, 11),
        (listing(Moment.EARLIEST_PENDING_UPLOAD), 11, 11),
        (ConsumerGroupHeartbeat("g", "m", 0), 0, 1),
        (ConsumerGroupHeartbeat("g", "", 0), 0, 0),
        (ConsumerGroupHeartbeat("g", "m", 0, pattern="a.*"), 1, 1),
        (JoinGroup("g", (), 1.0, 1.0, reason="r"), 0, 9),
        (JoinGroup("g", (), 1.0, 1.0, instance_id="i"), 5, 9),
        (SyncGroup("g", 1, "m", "range"), 0, 5),
        (SyncGroup("g", 1, "m", "range", instance_id="i"), 3, 5),
        (Heartbeat("g", 1, "m"), 0, 4),
        (Heartbeat("g", 1, "m", "i"), 3, 4),
        (LeaveGroup("g", "m", reason="r"), 0, 5),
        (LeaveGroup("g", "m", "i"), 3, 5),
        (InitProducerId(), 0, 5),
        (InitProducerId("t", 1.0), 0, 5),
        (InitProducerId("t", 1.0, 4000, 2), 3, 5),
        (Produce(-1, 1.0, {A0: b"r"}), 3, 12),
        (Produce(-1, 1.0, {A0: b"r"}, {"a": ID}), 3, 13),
        (Produce(-1, 1.0, {A0: b"r"}, {"a": ID}, transactional_id="t"), 3, 11),
        (transactional({}), 12, 12),
        (transactional({"a": ID}), 12, 13),
        (AddPartitionsToTxn(PRODUCER, (A0,)), 0, 3),
        (AddOffsetsToTxn(PRODUCER, "g"), 0, 4),
        (TxnOffsetCommit(PRODUCER, GROUP, (), adds_group=False), 3, 4),
        (TxnOffsetCommit(PRODUCER, GROUP, (), adds_group=True), 5, 5),
        (EndTxn(PRODUCER, committed=True, raises_epoch=False), 0, 4),
        (EndTxn(PRODUCER, committed=True, raises_epoch=True), 5, 5),
    ],
)
def test_a_request_says_what_can_carry_it(
    request_: Request[object], oldest: int, newest: int
) -> None:
    """Within its limits it is encoded; outside it is neither negotiated nor encoded."""
    api = request_.api
    for version in range(api.oldest, api.newest + 1):
        alone = Versions({api.key: Range(version, version)})
        if oldest <= version <= newest:
            assert negotiate(request_, alone) == version
            assert encode(request_, version, 1, None)
        else:
            with pytest.raises(UnsupportedVersionException, match=f"{api}.* needs .*version"):
                negotiate(request_, alone)
            with pytest.raises(UnsupportedVersionException, match=f"{api} {version} cannot"):
                encode(request_, version, 1, None)
    assert negotiate(request_, EVERYTHING) == newest


def test_all_topics_have_a_form_in_every_version() -> None:
    """Null for all, an empty list for none; in version 0 an empty list for all."""
    for version in range(14):
        frame = encode(Metadata(), version, 1, "")
        after = frame[14 + (version >= 9) :]
        empty, null = b"\0\0\0\0", b"\xff\xff\xff\xff"
        assert after.startswith(b"\0" if version >= 9 else null if version else empty)
    assert encode(Metadata(names=()), 4, 1, "")[14:18] == b"\0\0\0\0"


def test_names_and_ids_are_not_asked_for_at_once() -> None:
    """The protocol has one list for both, and brokers refuse a mixture."""
    with pytest.raises(ValueError, match="by name or by id"):
        Metadata(names=("a",), topic_ids=(ID,))


def test_limits_read_as_sentences() -> None:
    """A floor, a ceiling, or both."""
    assert str(Limit("this", oldest=4)) == "this needs version 4 or newer"
    assert str(Limit("this", newest=9)) == "this needs version 9 or older"
    assert str(Limit("this", 2, 9)) == "this needs a version from 2 to 9"


def test_requests_are_keys() -> None:
    """Equal questions are one: concurrent lookups can share a request."""
    ids = {"a": ID}
    assert OffsetFetch("g", (A0,), topic_ids=ids) == OffsetFetch("g", (A0,))
    assert len({OffsetFetch("g", (A0,), topic_ids=ids), OffsetFetch("g", (A0,))}) == 1
    assert hash(commit("a", topic_ids=ids)) == hash(commit("a"))

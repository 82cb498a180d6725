"""The keys that only a consumer has."""

from collections.abc import Callable
from typing import Annotated, Any

from prokurist.config.fetching import FetchingKeys
from prokurist.config.key import HIGH, LOW, MEDIUM, Key, refused
from prokurist.config.kinds import INT_MAX, Boolean, Choice, Text, millis, octets
from prokurist.config.objects import Assignors, Function
from prokurist.config.offset_reset import OffsetReset, Reset
from prokurist.lazy_dataclasses import dataclass

_LATEST = OffsetReset("latest")
_SHARE = refused(
    "belongs to share groups, which KafkaShareConsumer joins, and not this consumer"
)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class ConsumerKeys(FetchingKeys):
    """The keys of a consumer's configuration."""

    group_id: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "Name of the consumer group; without one there is no group and no committing.",
            HIGH,
        ),
    ] = None
    group_protocol: Annotated[
        str,
        Key(
            Choice(("classic", "consumer")),
            "Whether members share out partitions among themselves (classic) or the broker "
            "does it (consumer, KIP-848).",
            HIGH,
        ),
    ] = "classic"
    group_instance_id: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "Makes the member static: it keeps its partitions over a restart that is shorter "
            "than the session timeout.",
        ),
    ] = None
    group_remote_assignor: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "The broker's assignor to use; only with group.protocol=consumer.",
        ),
    ] = None
    partition_assignment_strategy: Annotated[
        tuple[str | object, ...],
        Key(
            Assignors(),
            "Assignors that this member can use, the preferred one first; only with "
            "group.protocol=classic.",
        ),
    ] = ("range", "cooperative-sticky")
    session_timeout_ms: Annotated[
        int,
        Key(
            millis(1, INT_MAX),
            "Silence after which the coordinator takes a member for dead; only with "
            "group.protocol=classic.",
            HIGH,
        ),
    ] = 45_000
    heartbeat_interval_ms: Annotated[
        int,
        Key(
            millis(1, INT_MAX),
            "Time between heartbeats; only with group.protocol=classic.",
            HIGH,
        ),
    ] = 3_000
    enable_auto_commit: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether offsets of returned records are committed by themselves; off if it is not "
            "given and there is no group.id.",
            aliases=("auto.commit.enable",),
        ),
    ] = True
    auto_commit_interval_ms: Annotated[
        int, Key(millis(high=INT_MAX), "Time between automatic commits.", LOW)
    ] = 5_000
    enable_auto_offset_store: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether what is returned counts as done. With false, commits without offsets, "
            "automatic ones included, commit only what store_offsets or an OffsetTracker has "
            "marked as done.",
            ours=True,
        ),
    ] = True
    auto_offset_reset: Annotated[
        OffsetReset,
        Key(
            Reset(),
            "Where to begin without a valid position: at the end, at the beginning, at a time "
            "so long ago, or with an error.",
        ),
    ] = _LATEST
    isolation_level: Annotated[
        str,
        Key(
            Choice(("read_uncommitted", "read_committed")),
            "Whether records of open and aborted transactions are returned.",
        ),
    ] = "read_uncommitted"
    max_partition_fetch_bytes: Annotated[
        int,
        Key(
            octets(),
            "Most data of one partition in one answer; a first larger batch passes.",
            HIGH,
            aliases=("fetch.message.max.bytes",),
        ),
    ] = 1_048_576
    fetch_buffer_max_bytes: Annotated[
        int,
        Key(
            octets(1),
            "Most fetched data held at once, raw and decoded together; one batch of each "
            "partition may exceed it. While more than half of it is held, only partitions "
            "of which nothing is held are fetched. A paused partition keeps what was fetched "
            "of it, which counts; the other half is for those that are read.",
            ours=True,
        ),
    ] = 67_108_864
    fetch_decoded_batch_max_bytes: Annotated[
        int,
        Key(
            octets(1 << 20, INT_MAX),
            "Most memory that one batch may take, decompressed and decoded together; poll "
            "refuses a larger one with RecordTooLargeException, and a seek goes past it.",
            ours=True,
        ),
    ] = 268_435_456
    allow_auto_create_topics: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether asking for an unknown topic may create it, if the broker allows that too. "
            "Brokers before Kafka 0.11 can only be asked with true.",
        ),
    ] = False
    exclude_internal_topics: Annotated[
        bool,
        Key(Boolean(), "Whether a pattern subscription leaves out Kafka's internal topics."),
    ] = True
    on_event: Annotated[
        Callable[..., Any] | None,
        Key(
            Function(
                "on_event=f, which is called with a LogEvent",
                accepts="Callable[[LogEvent], object]",
            ),
            "Called inside poll and close, on their thread, with a LogEvent for all that is "
            "logged at INFO and above, and with statistics.",
            ours=True,
        ),
    ] = None
    statistics_interval_ms: Annotated[
        int,
        Key(
            millis(high=INT_MAX),
            "Time between two calls of on_event with what metrics() returns; 0 for none.",
            LOW,
            ours=True,
        ),
    ] = 0
    on_committed: Annotated[
        Callable[..., Any] | None,
        Key(
            Function(
                "on_committed=f, which is called with offsets and error",
                accepts="Callable[[dict[TopicPartition, OffsetAndMetadata], Any], object]",
            ),
            "Called inside poll, commit_sync and close with the offsets of each automatic "
            "commit, and with the error or None; also of each commit_async that has no "
            "callback of its own.",
            ours=True,
        ),
    ] = None
    share_acknowledgement_mode: Annotated[
        None, Key(Text(), "How a share group's records are acknowledged.", MEDIUM, _SHARE)
    ] = None
    share_acquire_mode: Annotated[
        None, Key(Text(), "How a share group's records are acquired.", MEDIUM, _SHARE)
    ] = None
    internal_throw_on_fetch_stable_offset_unsupported: Annotated[
        None,
        Key(
            Text(),
            "A switch inside Kafka Streams.",
            LOW,
            refused("an internal switch of Java's Kafka Streams; leave the key out"),
        ),
    ] = None

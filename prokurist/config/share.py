"""The keys that only a share consumer has, and those of consumers that it refuses."""

from collections.abc import Callable
from typing import Annotated, Any

from prokurist.config.fetching import FetchingKeys
from prokurist.config.key import HIGH, MEDIUM, Key, Status, refused
from prokurist.config.kinds import INT_MAX, Boolean, Choice, Text, octets
from prokurist.config.objects import Function
from prokurist.lazy_dataclasses import dataclass


def _of_group(key: str) -> Status:
    return refused(
        f"a share group has it, and not its members: set {key} of the group, with "
        f"kafka-configs.sh --entity-type groups"
    )


def _by_broker(what: str) -> Status:
    return refused(f"a share group has nothing of the kind: {what}")


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class ShareConsumerKeys(FetchingKeys):
    """The keys of a share consumer's configuration."""

    group_id: Annotated[
        str,
        Key(Text(blank=False), "Name of the share group.", HIGH),
    ]
    share_acknowledgement_mode: Annotated[
        str,
        Key(
            Choice(("implicit", "explicit")),
            "Whether the next poll and a commit accept returned records without a mark "
            "(implicit), or each has to have one before the next poll (explicit).",
        ),
    ] = "implicit"
    share_acquire_mode: Annotated[
        str,
        Key(
            Choice(("batch_optimized", "record_limit")),
            "Whether max.poll.records is rounded up to whole batches, or kept to the record, "
            "which takes Kafka 4.2 and costs more requests.",
        ),
    ] = "batch_optimized"
    share_acknowledge_ahead: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether marks are sent in the background when half of a lock is over; with false "
            "only polls, commits and close send them.",
            ours=True,
        ),
    ] = True
    share_renew_automatically: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether the locks of returned records without a mark are renewed when half of "
            "them is over, as long as max.poll.interval.ms allows; takes Kafka 4.2.",
            ours=True,
        ),
    ] = False
    fetch_decoded_batch_max_bytes: Annotated[
        int,
        Key(
            octets(1 << 20, INT_MAX),
            "Most memory that one batch may take, decompressed and decoded together; a larger "
            "one is rejected, and poll says so with RecordTooLargeException.",
            ours=True,
        ),
    ] = 268_435_456
    on_acknowledged: Annotated[
        Callable[..., Any] | None,
        Key(
            Function(
                "on_acknowledged=f, which is called with offsets and error",
                accepts="Callable[[dict[TopicPartition, tuple[int, ...]], Any], Any]",
            ),
            "Called inside poll, commit_sync and close with the offsets that a broker has "
            "taken, and with None, or with those that were refused or lost, and the error.",
            ours=True,
        ),
    ] = None
    auto_offset_reset: Annotated[
        None,
        Key(
            Text(),
            "Where to begin without a position.",
            MEDIUM,
            _of_group("share.auto.offset.reset (latest, earliest or by_duration)"),
        ),
    ] = None
    isolation_level: Annotated[
        None,
        Key(
            Text(),
            "Whether records of aborted transactions are returned.",
            MEDIUM,
            _of_group("share.isolation.level (read_uncommitted or read_committed)"),
        ),
    ] = None
    session_timeout_ms: Annotated[
        None,
        Key(
            Text(),
            "Silence after which a member is taken for dead.",
            MEDIUM,
            _of_group("share.session.timeout.ms"),
        ),
    ] = None
    heartbeat_interval_ms: Annotated[
        None,
        Key(
            Text(),
            "Time between heartbeats.",
            MEDIUM,
            _of_group("share.heartbeat.interval.ms"),
        ),
    ] = None
    enable_auto_commit: Annotated[
        None,
        Key(
            Text(),
            "Whether offsets are committed by themselves.",
            MEDIUM,
            _by_broker("records are acknowledged; see share.acknowledgement.mode"),
        ),
    ] = None
    group_instance_id: Annotated[
        None,
        Key(
            Text(),
            "Makes a member static.",
            MEDIUM,
            _by_broker("its members are all dynamic; leave the key out"),
        ),
    ] = None
    group_protocol: Annotated[
        None,
        Key(
            Text(),
            "The protocol of a consumer group.",
            MEDIUM,
            _by_broker("it has a protocol of its own; leave the key out"),
        ),
    ] = None
    group_remote_assignor: Annotated[
        None,
        Key(
            Text(),
            "The broker's assignor.",
            MEDIUM,
            _by_broker("the broker has one assignor for it; leave the key out"),
        ),
    ] = None
    partition_assignment_strategy: Annotated[
        None,
        Key(
            Text(),
            "Assignors of the members.",
            MEDIUM,
            _by_broker("the broker assigns; leave the key out"),
        ),
    ] = None

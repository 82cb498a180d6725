"""The keys that only a producer has."""

from collections.abc import Callable
from typing import Annotated

from prokurist.config.connection import ConnectionKeys
from prokurist.config.key import HIGH, LOW, Key
from prokurist.config.kinds import (
    INT_MAX,
    LONG_MAX,
    Acknowledgements,
    Boolean,
    Choice,
    Integer,
    Text,
    millis,
    octets,
)
from prokurist.config.objects import Partitioner, Serializer
from prokurist.lazy_dataclasses import dataclass

_SERIALIZER = Serializer()


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class ProducerKeys(ConnectionKeys):
    """The keys of a producer's configuration."""

    acks: Annotated[
        str,
        Key(
            Acknowledgements(),
            "How many replicas have a record before it counts as sent: all in sync, "
            "the leader, or none.",
            LOW,
            aliases=("request.required.acks",),
        ),
    ] = "all"
    enable_idempotence: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether retries can neither duplicate nor reorder records; off if it is not given "
            "and acks or retries rule it out.",
            LOW,
        ),
    ] = True
    retries: Annotated[
        int,
        Key(
            Integer(0),
            "Most retries of a batch; better left alone: delivery.timeout.ms bounds them.",
            HIGH,
            aliases=("message.send.max.retries",),
        ),
    ] = INT_MAX
    max_in_flight_requests_per_connection: Annotated[
        int,
        Key(
            Integer(1, unit="requests"),
            "Most produce requests under way to one broker; at most 5 with idempotence.",
            LOW,
            aliases=("max.in.flight",),
        ),
    ] = 5
    delivery_timeout_ms: Annotated[
        int,
        Key(
            millis(high=INT_MAX),
            "Longest time from a batch's creation to its end, linger, flight and retries "
            "included; raised to linger.ms + request.timeout.ms if it is not given.",
            aliases=("message.timeout.ms",),
        ),
    ] = 120_000
    linger_ms: Annotated[
        int,
        Key(
            millis(),
            "How long a batch waits for more records.",
            aliases=("queue.buffering.max.ms",),
        ),
    ] = 5
    max_block_ms: Annotated[
        int,
        Key(
            millis(),
            "Longest time that send waits for metadata and buffer memory together; also the "
            "limit of partitions_for, and of calls of transactions, if these are given none.",
        ),
    ] = 60_000
    batch_size: Annotated[
        int,
        Key(
            octets(),
            "Size at which a batch is ready to be sent; until a request takes it, it takes "
            "more, up to max.request.size.",
        ),
    ] = 16_384
    buffer_memory: Annotated[
        int,
        Key(octets(0, LONG_MAX), "Memory for records that are not yet delivered.", HIGH),
    ] = 33_554_432
    buffer_memory_allocation_strategy: Annotated[
        str,
        Key(
            Choice(("full", "incremental")),
            "How a batch takes buffer.memory; with either value it takes batch.size when it "
            "begins, and more as it grows.",
        ),
    ] = "full"
    max_request_size: Annotated[
        int,
        Key(
            octets(),
            "Bytes of batches that a request has at most, and so a record in a batch of its "
            "own, before compression.",
            aliases=("message.max.bytes",),
        ),
    ] = 1_048_576
    compression_type: Annotated[
        str,
        Key(
            Choice(("none", "gzip", "snappy", "lz4", "zstd")),
            "How batches are compressed.",
            HIGH,
            aliases=("compression.codec",),
        ),
    ] = "none"
    compression_gzip_level: Annotated[
        int, Key(Integer(1, 9, besides=-1), "gzip's effort: 1 to 9, or -1 for its own default.")
    ] = -1
    compression_lz4_level: Annotated[int, Key(Integer(1, 17), "lz4's effort.")] = 9
    compression_zstd_level: Annotated[int, Key(Integer(-131_072, 22), "zstd's effort.")] = 3
    partitioner_class: Annotated[
        Callable[..., int] | None,
        Key(
            Partitioner(),
            "Chooses the partition of a record that names none; without one, by the key's "
            "hash, and records without a key fill one partition after another.",
            aliases=("partitioner",),
        ),
    ] = None
    partitioner_ignore_keys: Annotated[
        bool, Key(Boolean(), "Whether records with a key are placed like those without.")
    ] = False
    partitioner_adaptive_partitioning_enable: Annotated[
        bool,
        Key(Boolean(), "Whether faster brokers get more of the records without a key.", LOW),
    ] = True
    partitioner_availability_timeout_ms: Annotated[
        int,
        Key(
            millis(),
            "Time without progress after which a broker's partitions are avoided for records "
            "without a key; 0 for never.",
            LOW,
        ),
    ] = 0
    partitioner_rack_aware: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether records without a key prefer partitions led in client.rack.",
            LOW,
        ),
    ] = False
    metadata_max_idle_ms: Annotated[
        int,
        Key(millis(5_000), "Time without records after which a topic is forgotten.", LOW),
    ] = 300_000
    receive_buffer_bytes: Annotated[
        int,
        Key(
            octets(-1),
            "Size of a socket's receive buffer; -1 or 0 leaves it to the operating system.",
            aliases=("socket.receive.buffer.bytes",),
        ),
    ] = 32_768
    transactional_id: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "Name of a transactional producer, the same after a restart; a new producer of "
            "that name fences the one before.",
            LOW,
        ),
    ] = None
    transaction_timeout_ms: Annotated[
        int,
        Key(
            millis(1, INT_MAX),
            "Age at which the coordinator aborts a transaction; at most the brokers' "
            "transaction.max.timeout.ms.",
            LOW,
        ),
    ] = 60_000
    transaction_two_phase_commit_enable: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether transactions end only when an outside coordinator says so; checked only.",
            LOW,
        ),
    ] = False
    key_serializer: Annotated[
        object | None,
        Key(_SERIALIZER, "Makes bytes from a key; without one, keys are bytes.", HIGH),
    ] = None
    value_serializer: Annotated[
        object | None,
        Key(_SERIALIZER, "Makes bytes from a value; without one, values are bytes.", HIGH),
    ] = None

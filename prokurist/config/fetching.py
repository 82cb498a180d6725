"""The keys that consumers of both kinds of groups have: polls, fetching, decoding."""

from typing import Annotated

from prokurist.config.connection import ConnectionKeys
from prokurist.config.key import HIGH, LOW, Key
from prokurist.config.kinds import INT_MAX, Boolean, Integer, millis, octets
from prokurist.config.objects import Deserializer
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class FetchingKeys(ConnectionKeys):
    """The keys of any client that polls for records."""

    max_poll_interval_ms: Annotated[
        int,
        Key(
            millis(1, INT_MAX),
            "Longest time between two polls; after it the member leaves the group and joins "
            "again at the next poll.",
        ),
    ] = 300_000
    max_poll_records: Annotated[
        int, Key(Integer(1, unit="records"), "Most records that one poll returns.")
    ] = 500
    default_api_timeout_ms: Annotated[
        int,
        Key(millis(high=INT_MAX), "Deadline of a blocking call that is given no timeout."),
    ] = 60_000
    fetch_min_bytes: Annotated[
        int, Key(octets(), "Amount of data that a broker waits for before it answers.", HIGH)
    ] = 1
    fetch_max_wait_ms: Annotated[
        int,
        Key(
            millis(high=INT_MAX),
            "Longest time a broker waits for fetch.min.bytes.",
            LOW,
            aliases=("fetch.wait.max.ms",),
        ),
    ] = 500
    fetch_max_bytes: Annotated[
        int,
        Key(octets(), "Most data in one answer of a broker; a first larger batch passes."),
    ] = 52_428_800
    receive_buffer_bytes: Annotated[
        int,
        Key(
            octets(-1),
            "Size of a socket's receive buffer; -1 or 0 leaves it to the operating system.",
            aliases=("socket.receive.buffer.bytes",),
        ),
    ] = 1_048_576
    check_crcs: Annotated[
        bool, Key(Boolean(), "Whether each batch's checksum is verified.", LOW)
    ] = True
    key_deserializer: Annotated[
        object | None,
        Key(Deserializer(), "Makes a key from its bytes; without one, keys are bytes.", HIGH),
    ] = None
    value_deserializer: Annotated[
        object | None,
        Key(
            Deserializer(), "Makes a value from its bytes; without one, values are bytes.", HIGH
        ),
    ] = None

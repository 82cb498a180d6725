"""The keys that only an admin client has."""

from typing import Annotated

from prokurist.config.connection import ConnectionKeys
from prokurist.config.key import LOW, Key, without_effect
from prokurist.config.kinds import INT_MAX, Integer, millis, octets
from prokurist.config.objects import Interceptors
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class AdminKeys(ConnectionKeys):
    """The keys of an admin client's configuration."""

    default_api_timeout_ms: Annotated[
        int,
        Key(millis(high=INT_MAX), "Deadline of a call that is given no timeout."),
    ] = 60_000
    receive_buffer_bytes: Annotated[
        int,
        Key(
            octets(-1),
            "Size of a socket's receive buffer; -1 or 0 leaves it to the operating system.",
            aliases=("socket.receive.buffer.bytes",),
        ),
    ] = 65_536
    retries: Annotated[
        int,
        Key(
            Integer(0),
            "Most attempts behind the first.",
            LOW,
            without_effect("a call tries for as long as it has time: give it a timeout"),
        ),
    ] = INT_MAX
    interceptor_classes: Annotated[
        tuple[object, ...],
        Key(
            Interceptors(),
            "Objects that see records on their way.",
            LOW,
            without_effect("an admin client has no records"),
            ours=True,
        ),
    ] = ()

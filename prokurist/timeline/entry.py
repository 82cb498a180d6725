"""An entry of a recording.

Thread: any; nothing here changes.
"""

from collections.abc import Mapping

from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """An event of a recording.

    Attributes:
        at: Seconds since the recording began.
        thread: `application` or `network`: who did it.
        event: Its name, as docs/logging.md lists them.
        call: The number of the call that it was done for; None for none in particular.
        text: The event as a sentence.
        keys: Its keys and their values.
    """

    at: float
    thread: str
    event: str
    call: int | None
    text: str
    keys: Mapping[str, object]

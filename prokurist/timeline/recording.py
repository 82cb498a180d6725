"""Recorder: a reader of the trace that keeps its newest events.

Thread: both emit to it; any reads it. A full deque drops its oldest entry in the same step in
which it takes another, and neither takes a lock of ours. A reader copies it first.

To keep an entry takes half a microsecond: it is kept as it is told, and made readable when
it is read.
"""

from collections import deque
from collections.abc import Mapping
from types import TracebackType
from typing import Final, Self

from prokurist.consumer.consumer import KafkaConsumer, trace_of
from prokurist.errors import IllegalStateException
from prokurist.events.trace import EventKind, Trace
from prokurist.logs.log import sentence
from prokurist.share.consumer import KafkaShareConsumer
from prokurist.share.core import ShareCore, share_trace_of
from prokurist.timeline import chrome, picture, spans
from prokurist.timeline.entry import Entry
from prokurist.types import require_int

ENTRIES: Final = 10_000


class Recording:
    """Recording of both threads of a consumer, from `record` to `stop`.

    It is read while it goes on, after it, and after the consumer is closed.
    """

    def __init__(self, trace: Trace, entries: int) -> None:
        self._trace = trace
        self._now = trace.now
        self._began = trace.now()
        self._kept: deque[tuple[float, EventKind, Mapping[str, object]]] = deque(maxlen=entries)
        trace.read_by(self._keep, fine=True)

    def _keep(self, _trace: Trace, kind: EventKind, values: Mapping[str, object], /) -> None:
        if "error" in values:
            # An error would keep the frames alive that it came through.
            values = {**values, "error": str(values["error"])}
        self._kept.append((self._now(), kind, values))

    def stop(self) -> None:
        """Stop recording; the entries stay."""
        self._trace.left_by(self._keep)

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The entries in order; of a long recording, the newest."""
        return tuple(self._entry(*kept) for kept in tuple(self._kept))

    def _entry(self, at: float, kind: EventKind, values: Mapping[str, object]) -> Entry:
        number = values.get("call")
        call = number if isinstance(number, int) and number else None
        if kind.story is None:
            text = sentence(kind, values)
        else:  # Its sentence is for a trouble that has lasted, which only the log knows.
            text = ": ".join([kind.name.replace("_", " "), *map(str, values.values())])
        return Entry(at - self._began, kind.side.value, kind.name, call, text, values)

    def text(self, call: int | None = None) -> str:
        """The entries, a line each.

        Args:
            call: Only those of the call with this number, and of none in particular.
        """
        return "\n".join(
            f"{entry.at:12.6f}  {entry.thread:<11}  "
            f"{'' if entry.call is None else f'#{entry.call}':>5}  {entry.text}"
            for entry in self.entries
            if call is None or entry.call in (None, call)
        )

    def chrome(self) -> str:
        """JSON that chrome://tracing and https://ui.perfetto.dev open."""
        return chrome.document(self.entries)

    def svg(self, call: int | None = None, *, title: str | None = None) -> str:
        """One call as a picture with a lane for each thread.

        Args:
            call: Its number; None for the one that took longest.
            title: The title above it.

        Raises:
            ValueError: No such call was recorded.
        """
        return picture.document(spans.story_of(self.entries, call), title)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def __len__(self) -> int:
        return len(self._kept)

    def __repr__(self) -> str:
        return f"Recording({self._trace.client_id}, {len(self._kept)} entries)"


def record(consumer: KafkaConsumer | KafkaShareConsumer, entries: int = ENTRIES) -> Recording:
    """Begin to record the work of both threads of a consumer, for calls from now on.

    Args:
        consumer: The consumer; recording slows it by about two microseconds an entry.
        entries: How many are kept: the newest.

    Raises:
        IllegalStateException: The consumer is closed.
        TypeError: The number is no int.
        ValueError: It is not above 0.
    """
    require_int("entries", entries)
    if not entries:
        raise ValueError("entries is above 0: 0")
    trace = share_trace_of(consumer) if isinstance(consumer, ShareCore) else trace_of(consumer)
    if trace is None:
        raise IllegalStateException(
            "record of a client that is closed: nothing will happen there any more; begin "
            "before close, and read the recording whenever you like"
        )
    return Recording(trace, entries)

"""Judges whether a client sends no more requests than what there is to do calls for.

An adapter says what was sent on which connection and what happened meanwhile. Windows in
which nothing was to be done have the small bound; all others one that grows with what
happened, and that no loop without a pause stays below.
"""

from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from tests.oracles.bounds import Settings, idle_cpu, idle_requests, troubled_requests

Connection = TypeVar("Connection", bound=Hashable)

TOLD = 20


class Thrift(Generic[Connection]):
    """Holds a client against the bounds; see the module.

    Args:
        settings: The client's.

    Attributes:
        wrongs: Windows with too many requests or too much processor time, in words.
        idle: Seconds that were judged by the small bound.
        highest: The most requests a second on one connection, in such a window.
    """

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.wrongs: list[str] = []
        self.idle = 0.0
        self.highest = 0.0

    def judge(
        self,
        seconds: float,
        sent: Mapping[Connection, Counter[str] | int],
        *,
        events: int | None,
        cpu: float | None = None,
        where: str = "",
    ) -> None:
        """Judge one window.

        Args:
            seconds: How long it was.
            sent: The requests on each connection: how many, or how many of each kind.
            events: How much happened; None where there was nothing to do at all.
            cpu: The seconds of processor time that the client took, where it is known.
            where: What to say of the window.
        """
        if events is None:
            most = idle_requests(self.settings, seconds)
            self.idle += seconds
        else:
            most = troubled_requests(self.settings, seconds, events)
        for connection, requests in sent.items():
            count = requests if isinstance(requests, int) else requests.total()
            if events is None:
                self.highest = max(self.highest, count / seconds)
            if count > most:
                self._wrong(
                    f"thrift: {count} requests on {connection} in {seconds:.2f} s, and "
                    f"{most:.0f} are allowed ({self._kind(events)}) {where}: {requests}"
                )
        if cpu is not None and events is None:
            allowed = idle_cpu(self.settings, seconds, len(sent))
            if cpu > allowed:
                self._wrong(
                    f"thrift: {cpu:.2f} s of processor time in {seconds:.2f} s, and "
                    f"{allowed:.2f} are allowed {where}"
                )

    @staticmethod
    def _kind(events: int | None) -> str:
        return "nothing to do" if events is None else f"{events} events"

    def _wrong(self, words: str) -> None:
        if len(self.wrongs) < TOLD:
            self.wrongs.append(words)

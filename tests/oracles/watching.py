"""Judges each client of this process when it is closed, by what it counted itself.

For tests that have real brokers: a test in which a client asks without a pause fails, though
all that it looks at comes out right.

Thread: the one that opens and closes the clients.
"""

import time
from collections import Counter
from typing import Final, TypeAlias

from prokurist.consumer.consumer_counters import CountedConsumer
from prokurist.producer.producer_counters import METADATA, CountedProducer
from tests.oracles.bounds import Settings
from tests.oracles.thrift import Thrift
from tests.oracles.thrift_of_producers import Work, requests_by_kind, wasted

LEAST: Final = 0.5
"""Seconds that a client is open at least to be judged."""


def requests_of(client: CountedConsumer) -> dict[str, int]:
    """How many requests a client has sent, by broker."""
    traffic = client.side.client.counters
    return {name: node.sent for name, node in traffic.nodes.children.items()}


def events_of(client: CountedConsumer) -> int:
    """How much a client has met that may call for requests: calls, records, connections."""
    traffic = client.side.client.counters
    calls = client.caller.counters.calls.children.items()
    made = sum(each.seconds.count for name, each in calls if name != "poll")
    returned = sum(each.records for each in client.topics.children.values())
    return 1 + made + returned + traffic.opened + traffic.failed


def work_of(client: CountedProducer) -> Work:
    """What a producer had to do."""
    calls = sum(each.seconds.count for each in client.calls.calls.children.values())
    return Work.of(client.side, client.sends.waits.of(METADATA).count + calls)


Judged: TypeAlias = CountedConsumer | CountedProducer
"""A client of either kind."""


class Watch:
    """The clients of one test.

    Attributes:
        wrongs: What was found.
        judged: How many clients were judged.
    """

    def __init__(self) -> None:
        self.wrongs: list[str] = []
        self.judged = 0
        self._since: dict[int, tuple[Judged, float]] = {}
        self._asynchronous: Counter[int] = Counter()

    def committed(self, caller: object) -> None:
        """The caller of a client commits without waiting, which counts as no call."""
        self._asynchronous[id(caller)] += 1

    def opened(self, client: Judged) -> None:
        """A client is open from now on."""
        self._since[id(client)] = client, time.monotonic()

    def closed(self, client: Judged) -> None:
        """A client is closed: judge it."""
        _, since = self._since.pop(id(client), (client, time.monotonic()))
        self._judge(client, time.monotonic() - since)

    def end(self) -> None:
        """The test is over: judge what is open yet."""
        for client, since in list(self._since.values()):
            self._judge(client, time.monotonic() - since)
        self._since.clear()

    def _judge(self, client: Judged, seconds: float) -> None:
        if seconds < LEAST:
            return
        self.judged += 1
        if isinstance(client, CountedProducer):
            settings = Settings.of_producer(client.config)
            sent, where = requests_by_kind(client.side), f"by {client.client_id}"
            self.wrongs += wasted(settings, seconds, sent, work_of(client), where)
            return
        thrift: Thrift[str] = Thrift(Settings.of(client.config))
        where = f"by {client.side.client_id}"
        events = events_of(client) + self._asynchronous[id(client.caller)]
        thrift.judge(seconds, requests_of(client), events=events, where=where)
        self.wrongs += thrift.wrongs

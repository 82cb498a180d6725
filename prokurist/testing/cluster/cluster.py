"""The cluster model: brokers to connect to, in the time that the driver sets.

Pure and deterministic: no threads, no sockets, no clock; the same calls give the same results.
The driver hands in frames and the time, asks `next_due`, and calls `advance` then; deliveries
come in the order of their due times. A call at a later time first applies earlier events.

Faults and changes of the state are made through `control.Controls`.

Thread: one at a time; there is no lock in here.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Final

from prokurist.testing.cluster.answers import Context, Result, Silence
from prokurist.testing.cluster.apis import (
    BEFORE_EPOCHS_GROW,
    TELEMETRY,
    Api,
    ApiName,
    by_key,
    named,
)
from prokurist.testing.cluster.brokers import Broker
from prokurist.testing.cluster.faults import Fate, Refusals, RuleBook, RuleKind
from prokurist.testing.cluster.group_settings import GroupSettings
from prokurist.testing.cluster.handlers import handler_of
from prokurist.testing.cluster.handlers.api_versions import too_new
from prokurist.testing.cluster.journal import Entry, Journal
from prokurist.testing.cluster.sasl import Sasl, SaslExchange
from prokurist.testing.cluster.session import Delivery, End, Session, Stage
from prokurist.testing.cluster.state import State, make_state
from prokurist.testing.cluster.transactions import FEATURE, TransactionSettings
from prokurist.testing.cluster.wire import (
    MalformedRequest,
    Request,
    Values,
    decode,
    encode,
)
from prokurist.types import Node

WRONG_BY = 1_000_000
"""Distance between a wrong correlation id and the right one."""

AS_KNOWN: Final = frozenset(
    {
        "Metadata",
        "DescribeCluster",
        "FindCoordinator",
        "Fetch",
        "ListOffsets",
        "OffsetForLeaderEpoch",
    }
)
"""APIs answered from the broker's own, possibly stale image of the cluster."""


class Cluster:
    """The cluster.

    Attributes:
        state: Brokers, topics, groups.
        rules: The fault rules.
        journal: Every request that came.
        offered: The versions it offers, by API key; a test may narrow them.
        sasl: How clients authenticate from their next connection on; None for not at all.
        failures: Exceptions of our own handlers. Each closed the connection that
            it happened on, as a broker would; a test that ends with one has failed.
    """

    __slots__ = (
        "_connected",
        "_now",
        "_outbox",
        "_sessions",
        "failures",
        "journal",
        "offered",
        "rules",
        "sasl",
        "state",
    )

    def __init__(
        self,
        nodes: int | Sequence[Node] = 1,
        topics: Mapping[str, int] | None = None,
        *,
        auto_create: bool = False,
        versions: Mapping[ApiName, tuple[int, int]] | None = None,
        groups: GroupSettings | None = None,
        transactions: TransactionSettings | None = None,
        sasl: Sasl | None = None,
        wall_ahead: float = 0.0,
    ) -> None:
        """Start the brokers.

        Args:
            nodes: Their number, counted from 1, or each with its advertised address.
            topics: The topics there are from the beginning, and how many
                partitions each has.
            auto_create: True if Metadata requests create missing topics.
            versions: What to offer of an API, where not everything that kio can
                speak: older brokers.
            groups: Their configuration of groups.
            transactions: Their configuration of transactions.
            sasl: How clients authenticate; None for not at all.
            wall_ahead: By how many seconds the brokers' wall clock is ahead of the time
                that the driver says it is.

        Raises:
            ValueError: There is no broker, two have one id, or an API or its
                versions are none of the model's.
        """
        self.state: State = make_state(nodes, topics or {})
        self.state.auto_create = auto_create
        self.state.wall_ahead = wall_ahead
        self.state.group_settings = groups or GroupSettings()
        settings = self.state.transactions.settings = transactions or TransactionSettings()
        self.rules: RuleBook = RuleBook()
        self.journal: Journal = Journal()
        self.sasl: Sasl | None = sasl
        self.failures: list[Exception] = []
        self.offered: dict[int, tuple[int, int]] = {
            api.key: (api.oldest, api.newest)
            for api in by_key().values()
            if api.key not in TELEMETRY
        }
        if settings.version:
            self.state.features[FEATURE] = settings.version
        else:
            for name, newest in BEFORE_EPOCHS_GROW.items():
                self.offer(name, named(name).oldest, newest)
        for name, (oldest, newest) in (versions or {}).items():
            self.offer(name, oldest, newest)
        self._sessions: list[Session] = []
        self._outbox: list[tuple[float, Delivery]] = []
        self._connected = 0
        self._now = -math.inf

    def __repr__(self) -> str:
        return (
            f"Cluster({len(self.state.brokers)} brokers, {len(self._sessions)} sessions, "
            f"{self.journal.received} requests, {len(self._outbox)} deliveries waiting)"
        )

    # --- what a client does -----------------------------------------------------

    def connect(self, node_id: int, now: float) -> Session:
        """Open a connection to a broker.

        Raises:
            ConnectionRefusedError: The broker is down.
            ValueError: There is no such broker.
        """
        self.catch_up(now)
        broker = self.state.broker(node_id)
        if not broker.running:
            raise ConnectionRefusedError(f"broker {node_id} is down")
        self._connected += 1
        exchange = None if self.sasl is None else SaslExchange(self.sasl)
        session = Session(self._connected, broker, self, sasl=exchange)
        self._sessions.append(session)
        return session

    # --- what the driver does ---------------------------------------------------

    def next_due(self) -> float | None:
        """When `advance` will have something to do; None if nothing is pending.

        It may lie in the past: then there is something now.
        """
        due = self.state.agenda.next_at()
        for session in self._sessions:
            due = min(due, session.due())
        if self._outbox:
            due = min(due, self._outbox[0][0])
        return None if due == math.inf else max(due, self._now)

    def advance(self, now: float) -> list[Delivery]:
        """Apply everything due by `now`, and return the deliveries that are ready."""
        self.catch_up(now)
        ready, self._outbox = self._outbox, []
        return [delivery for _, delivery in ready]

    def catch_up(self, now: float) -> None:
        """Apply everything due by `now`; leave the deliveries to `advance`."""
        agenda = self.state.agenda
        while True:
            # Of sessions that are due together the one connected first goes first.
            session, due = None, math.inf
            for each in self._sessions:
                if (its_due := each.due()) < due:
                    session, due = each, its_due
            planned = agenda.next_at()
            if min(due, planned) > now:
                break
            self._now = self.state.now = max(self._now, min(due, planned))
            if session is None or planned < due:
                agenda.run_next()
            else:
                self._step(session)
        self._now = self.state.now = max(self._now, now)

    def _step(self, session: Session) -> None:
        try:
            session.step(self._now)
        except Exception as error:  # noqa: BLE001  # kept, and raised by close
            error.add_note(f"in the cluster model, at {session}")
            self.failures.append(error)
            self.end(session, End.CLOSED)
        if session.stage is Stage.OVER:
            self._sessions.remove(session)

    # --- what controls do ---------------------------------------------------------

    def brokers(self, node_id: int | None = None) -> list[Broker]:
        """One broker, or all."""
        everyone = list(self.state.brokers.values())
        return everyone if node_id is None else [self.state.broker(node_id)]

    def sessions(self, node_id: int | None = None) -> list[Session]:
        """The open connections, of one broker or of all."""
        return [each for each in self._sessions if node_id in (None, each.broker.node.id)]

    def end(self, session: Session, end: End) -> None:
        """End a connection from the broker's side."""
        if session.stage is not Stage.OVER:
            if not session.orphan:
                self.deliver(Delivery(session, end=end), self._now)
            session.finish()

    def end_all(self, node_id: int | None, end: End) -> None:
        """End all connections of one broker or of all."""
        for session in self.sessions(node_id):
            self.end(session, end)
            self._sessions.remove(session)

    def offer(self, name: ApiName, oldest: int, newest: int) -> None:
        """Offer other versions of an API from now on.

        Raises:
            ValueError: They are not among those that kio can speak.
        """
        api = named(name)
        if not api.oldest <= oldest <= newest <= api.newest:
            raise ValueError(f"{name} {oldest} to {newest} is not within {api!r}")
        self.offered[api.key] = (oldest, newest)

    # --- what sessions ask for (session.Host) ---------------------------------------

    def received(self, session: Session, frame: bytes, now: float) -> None:
        """A frame has come: note it, and put it in line."""
        self.catch_up(now)
        try:
            request = decode(bytes(frame))
        except MalformedRequest as error:
            # A broker closes; and a client sent it, which a test should learn of.
            error.add_note(f"from the client of {session}")
            self.failures.append(error)
            self.end(session, End.CLOSED)
            self._sessions.remove(session)
            return
        entry = Entry(now, session.broker.node.id, session.number, request)
        self.journal.add(entry)
        session.enqueue(entry)

    def left(self, session: Session, now: float) -> None:
        """A client has closed."""
        self.catch_up(now)
        if session.stage is not Stage.OVER:
            session.abandon()
        if session.stage is Stage.OVER and session in self._sessions:
            self._sessions.remove(session)

    def fate(self, session: Session, request: Request) -> Fate:
        """Return the effects of the fault rules on a request."""
        return self.rules.fate(request.api, session.broker.node.id)

    def work(self, session: Session, request: Request, now: float) -> Result:
        """Run the handler of a request; a version that is not offered has none."""
        api = request.api
        if api is None or api.key not in self.offered:
            return Silence.CLOSE
        oldest, newest = self.offered[api.key]
        if not oldest <= request.version <= newest:
            return too_new(oldest, newest) if api.name == "ApiVersions" else Silence.CLOSE
        if session.sasl is not None and not session.sasl.may_ask(api.name, now):
            return Silence.CLOSE
        context = Context(
            api=api,
            version=request.version,
            broker=session.broker,
            now=now,
            offered=self.offered,
            refusals=Refusals(self.rules, api, session.broker.node.id),
            client_id=request.client_id or "",
            sasl=session.sasl,
            connection=session.number,
        )
        known = self.state.seen_by(session.broker) if api.name in AS_KNOWN else self.state
        return handler_of(api.name)(known, request.body, context)

    def encode(self, request: Request, answer: Values, fate: Fate) -> bytes:
        """The frame of an answer, right or, where a rule says so, wrong."""
        if garbage := fate.get(RuleKind.GARBAGE):
            return garbage.data
        api: Api = named(request.name)
        number = request.correlation_id
        if fate.get(RuleKind.WRONG_ID):
            number = number - WRONG_BY if number >= 0 else number + WRONG_BY
        throttle = fate.get(RuleKind.THROTTLE)
        values = {"throttle_time": throttle.seconds if throttle else 0.0, **answer}
        # Asked in a version it does not offer, a broker answers ApiVersions in the first.
        oldest, newest = self.offered[api.key]
        offered = oldest <= request.version <= newest
        return encode(api, request.version if offered else 0, number, values)

    def over(self, session: Session) -> None:
        """A connection is over, and with it the share sessions that it opened."""
        self.state.end_share_sessions(session.broker, session.number, self._now)

    def deliver(self, delivery: Delivery, now: float) -> None:
        """Deliver to a client when the driver next takes the deliveries."""
        self._outbox.append((now, delivery))

"""Whole brokers that stop, die and come back, and their connections.

Thread: any for a served cluster; the driver's for a model.
"""

from prokurist.testing.cluster.session import End
from prokurist.testing.cluster.steering import Fault, Steering


class BrokerControls(Steering):
    """Brokers."""

    __slots__ = ()

    def accept_tokens(self, user: str) -> None:
        """Let clients create delegation tokens from now on, as if all were one user."""
        with self._change() as (cluster, _):
            cluster.state.tokens.user = user

    def freeze(self, node: int | None = None) -> Fault:
        """Stop a broker, or all: it takes connections and bytes, and does nothing.

        It looks like a stopped process from outside. The others do not miss it.
        """
        with self._change() as (cluster, _):
            for each in cluster.brokers(node):
                each.frozen = True
        return Fault("freeze", lambda: self.thaw(node))

    def thaw(self, node: int | None = None) -> None:
        """Thaw a broker, or all; requests that came meanwhile are answered in order."""
        with self._change() as (cluster, _):
            for each in cluster.brokers(node):
                each.frozen = False

    def finalize(self, feature: str, level: int) -> None:
        """Finalise a feature, as an administrator does; new connections hear of it."""
        with self._change() as (cluster, _):
            cluster.state.features[feature] = level
            cluster.state.features_epoch += 1

    def kill(self, node: int, *, missed: bool = True) -> Fault:
        """Kill a broker: reset its connections and refuse new ones.

        Requests in progress there have no effect.

        Args:
            node: The broker.
            missed: True if the others have noticed: then its partitions and groups have moved
                to them, and metadata leave it out.
        """
        with self._change() as (cluster, now):
            broker = cluster.state.broker(node)
            broker.running = broker.frozen = False
            broker.fetch_sessions.kept.clear()
            cluster.end_all(node, End.RESET)
            cluster.state.lose_coordination(node)
            if missed:
                cluster.state.miss(node)
            cluster.state.changed(now)
        return Fault("kill", lambda: self.restart(node))

    def miss(self, node: int) -> None:
        """Have the others notice a broker that was killed with `missed=False`."""
        with self._change() as (cluster, now):
            cluster.state.miss(node)
            cluster.state.changed(now)

    def restart(self, node: int) -> None:
        """Start a broker that was killed; nothing that was committed is lost.

        It leads nothing again but partitions without a leader.
        """
        with self._change() as (cluster, now):
            cluster.state.welcome_back(node)
            cluster.state.changed(now)

    def delay_metadata(self, seconds: float, node: int | None = None) -> Fault:
        """Have a broker, or all, learn late of topics, leaders and other brokers.

        It answers Metadata, FindCoordinator and clients' requests from its stale image: it
        names old leaders and dead brokers, does not know new topics, and leads on in the old
        epoch.

        Args:
            seconds: How late; `math.inf` for nothing new until this is undone.
            node: The broker; None for all.
        """
        self._delay_metadata(seconds, node)
        return Fault("delay_metadata", lambda: self._delay_metadata(0.0, node))

    def _delay_metadata(self, seconds: float, node: int | None) -> None:
        with self._change() as (cluster, _):
            for each in cluster.brokers(node):
                cluster.state.delay_metadata(each, seconds)

    def delay_coordinators(self, seconds: float) -> Fault:
        """Have group coordinators learn of topics later than who answers Metadata."""
        self._delay_coordinators(seconds)
        return Fault("delay_coordinators", lambda: self._delay_coordinators(0.0))

    def _delay_coordinators(self, seconds: float) -> None:
        with self._change() as (cluster, _):
            cluster.state.delay_coordinators(seconds)

    def forget_fetch_sessions(self, node: int | None = None) -> None:
        """Let a broker, or all, forget every fetch session, as one does that is full."""
        with self._change() as (cluster, _):
            for each in cluster.brokers(node):
                each.fetch_sessions.kept.clear()

    def fetch_sessions(self, node: int) -> int:
        """Count the fetch sessions of a broker."""
        with self._change() as (cluster, _):
            return len(cluster.state.broker(node).fetch_sessions.kept)

    def disconnect(self, node: int | None = None, *, reset: bool = False) -> None:
        """End the connections there are, to a broker or to all; it goes on itself."""
        with self._change() as (cluster, _):
            cluster.end_all(node, End.RESET if reset else End.CLOSED)

    def sessions(self, node: int | None = None) -> int:
        """Count the open connections to a broker, or to all brokers."""
        with self._change() as (cluster, _):
            return len(cluster.sessions(node))

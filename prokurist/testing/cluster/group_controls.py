"""Controls of groups, coordinators, authorization and offered versions; the request journal.

Thread: any for a served cluster; the driver's for a model.
"""

from prokurist.testing.cluster.apis import ApiName, named
from prokurist.testing.cluster.groups import Committed
from prokurist.testing.cluster.journal import Entry
from prokurist.testing.cluster.steering import Fault, Steering
from prokurist.types import TopicPartition


class GroupControls(Steering):
    """Controls of groups, authorization and offered versions, and the journal of requests."""

    __slots__ = ()

    def committed(self, group: str) -> dict[TopicPartition, Committed]:
        """Return the committed offsets of a group."""
        with self._change() as (cluster, _):
            known = cluster.state.groups.get(group)
            return dict(known.offsets) if known else {}

    def coordinator(self, group: str) -> int | None:
        """Return the broker that coordinates a group; None without one."""
        with self._change() as (cluster, _):
            return cluster.state.coordinator(group)

    def move_coordinator(self, group: str, node: int) -> None:
        """Have another broker coordinate a group; its offsets go along.

        Its members too, as after a failover: a classic group with what its last
        complete rebalance wrote down, and every session restarts.
        """
        with self._change() as (cluster, now):
            cluster.state.broker(node)
            moving = cluster.state.group(group)
            moving.moved = moving.moved or cluster.state.coordinator(group) != node
            moving.coordinator = node
            cluster.state.changed(now)

    def coordinator_loading(
        self, group: str, *, seconds: float | None = None, times: int | None = None
    ) -> Fault:
        """Have a group's coordinator still load: for a time, or so many requests.

        Without either it loads until this is undone.
        """
        with self._change() as (cluster, now):
            loading = cluster.state.group(group)
            loading.begin_loading(now, seconds, times)

        def undo() -> None:
            with self._change():
                loading.end_loading()

        return Fault(f"{group} loading", undo)

    def deny(
        self,
        *,
        topic: str | None = None,
        group: str | None = None,
        transaction: str | None = None,
    ) -> Fault:
        """Take away every client's authorization for a topic, a group, a transactional id."""

        def undo() -> None:
            with self._change() as (cluster, now):
                cluster.state.denied_topics.discard(topic or "")
                cluster.state.denied_groups.discard(group or "")
                cluster.state.denied_transactions.discard(transaction or "")
                cluster.state.changed(now)

        with self._change() as (cluster, now):
            if topic is not None:
                cluster.state.denied_topics.add(topic)
            if group is not None:
                cluster.state.denied_groups.add(group)
            if transaction is not None:
                cluster.state.denied_transactions.add(transaction)
            cluster.state.changed(now)
        return Fault(f"deny {topic or ''} {group or ''} {transaction or ''}", undo)

    def lose_coordinators(self) -> None:
        """Forget the logs of coordinators, as of a new cluster: the next look-up begins one."""
        with self._change() as (cluster, _):
            cluster.state.missing_logs |= {"__consumer_offsets", "__transaction_state"}

    def offer(self, api: ApiName, oldest: int, newest: int) -> None:
        """Offer other versions of an API from now on, as older brokers do."""
        with self._change() as (cluster, _):
            cluster.offer(api, oldest, newest)

    def withdraw(self, api: ApiName) -> None:
        """Offer an API no longer; who asks all the same is disconnected."""
        with self._change() as (cluster, _):
            cluster.offered.pop(named(api).key, None)

    def requests(self, api: ApiName | None = None, *, node: int | None = None) -> list[Entry]:
        """Return the journal's requests in order, of an API and to a broker if given."""
        with self._change() as (cluster, _):
            return cluster.journal.entries(api, node)

    def forget_requests(self) -> None:
        """Empty the journal."""
        with self._change() as (cluster, _):
            cluster.journal.clear()

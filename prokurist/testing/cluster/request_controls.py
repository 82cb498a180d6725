"""Faults of requests: late, lost, wrong or failed answers.

Each is for one API or, without one, for all; on one broker or on all; for a number of requests
or until it is undone. It counts when a broker takes a request up, on a busy connection some
time after the arrival of its bytes.

Thread: any for a served cluster; the driver's for a model.
"""

from collections.abc import Mapping

from prokurist.testing.cluster.apis import ApiName, named
from prokurist.testing.cluster.faults import Rule, RuleKind
from prokurist.testing.cluster.steering import Fault, Steering


class RequestControls(Steering):
    """The faults."""

    __slots__ = ()

    def delay(
        self,
        api: ApiName | None,
        seconds: float,
        *,
        node: int | None = None,
        times: int | None = None,
    ) -> Fault:
        """Work on requests later: effect and answer both come late."""
        return self._enforce(api, node, times, Rule(RuleKind.DELAY, seconds=seconds))

    def answer_late(
        self,
        api: ApiName | None,
        seconds: float,
        *,
        node: int | None = None,
        times: int | None = None,
    ) -> Fault:
        """Work on requests at once and answer later: an apparent loss has happened."""
        return self._enforce(api, node, times, Rule(RuleKind.LATE, seconds=seconds))

    def hold(
        self, api: ApiName | None = None, *, node: int | None = None, times: int | None = None
    ) -> Fault:
        """Work on requests when this is undone; those already held go on then."""
        return self._enforce(api, node, times, Rule(RuleKind.HOLD))

    def drop(
        self,
        api: ApiName | None = None,
        *,
        node: int | None = None,
        times: int | None = None,
        applied: bool = False,
    ) -> Fault:
        """Never answer a request.

        A broker skips no answer, so no later answer comes on its connection either: the
        connection stays open and silent. Undoing it heals only later requests, on other
        connections.

        Args:
            api: The API; None for all.
            node: The broker; None for all.
            times: How many requests; None until it is undone.
            applied: True if the request takes effect all the same.
        """
        return self._enforce(api, node, times, Rule(RuleKind.DROP, applied=applied))

    def cut(
        self,
        api: ApiName | None = None,
        *,
        node: int | None = None,
        times: int | None = 1,
        applied: bool = False,
        reset: bool = False,
    ) -> Fault:
        """Close the connection instead of answering.

        Args:
            api: The API; None for all.
            node: The broker; None for all.
            times: How many requests; None until it is undone.
            applied: True if the request takes effect before.
            reset: End it with a reset, and not in good order.
        """
        rule = Rule(RuleKind.CUT, applied=applied, reset=reset)
        return self._enforce(api, node, times, rule)

    def fail(
        self,
        api: ApiName,
        code: int,
        *,
        node: int | None = None,
        times: int | None = 1,
        topic: str | None = None,
        partition: int | None = None,
        whole: bool | None = None,
        message: str | None = None,
        records: Mapping[int, str] | None = None,
        applied: bool = False,
    ) -> Fault:
        """Refuse requests, or parts of them, with an error code and, usually, without effect.

        A request that is parked (a fetch that waits for records) is looked at
        again and refused at once.

        Args:
            api: The API.
            code: Any number of 16 bits, unknown ones included.
            node: The broker; None for all.
            times: The number of requests; None until it is undone. A request without a matching
                part does not count.
            topic: Refuse only parts about this topic.
            partition: Refuse only parts about partitions of this number.
            whole: For an API with codes for the request (or group) as a whole and for each
                part: True for the whole, False for each part, None for Kafka's own way with
                that code.
            message: Produce: the text beside the code (`error_message`).
            records: Produce: the records that are to blame, by their place in the batch,
                each with a text (`record_errors`, KIP-467).
            applied: Produce: append the batches all the same, as before
                NOT_ENOUGH_REPLICAS_AFTER_APPEND.

        Raises:
            ValueError: The code does not fit into 16 bits, or is none.
        """
        if not code or not -(1 << 15) <= code < 1 << 15:
            raise ValueError(f"an error code is a number of 16 bits and not 0: {code}")
        rule = Rule(
            RuleKind.FAIL,
            code=code,
            topic=topic,
            partition=partition,
            whole=whole,
            message=message,
            records=dict(records or {}),
            applied=applied,
        )
        return self._enforce(api, node, times, rule)

    def wrong_correlation_id(
        self, api: ApiName | None = None, *, node: int | None = None, times: int | None = 1
    ) -> Fault:
        """Answer under a correlation id that was not asked under."""
        return self._enforce(api, node, times, Rule(RuleKind.WRONG_ID))

    def garbage(
        self,
        api: ApiName | None,
        data: bytes,
        *,
        node: int | None = None,
        times: int | None = 1,
        framed: bool = True,
    ) -> Fault:
        """Send other bytes in place of the answer, its head included.

        Args:
            api: The API; None for all.
            data: The bytes.
            node: The broker; None for all.
            times: How many requests; None until it is undone.
            framed: Put the right length before them; without it they stand as
                they are, and may lie about their length.
        """
        return self._enforce(api, node, times, Rule(RuleKind.GARBAGE, data=data, framed=framed))

    def throttle(
        self,
        api: ApiName | None,
        seconds: float,
        *,
        node: int | None = None,
        times: int | None = None,
    ) -> Fault:
        """Answer at once, ask for quiet, and do not listen that long."""
        return self._enforce(api, node, times, Rule(RuleKind.THROTTLE, seconds=seconds))

    def heal(self) -> None:
        """Undo every fault of this kind; held requests go on."""
        with self._change() as (cluster, _):
            cluster.rules.clear()

    def _enforce(
        self, api: ApiName | None, node: int | None, times: int | None, rule: Rule
    ) -> Fault:
        rule.api = None if api is None else named(api)
        rule.node = node
        rule.left = times

        def undo() -> None:
            with self._change():
                rule.live = False

        with self._change() as (cluster, now):
            if node is not None:
                cluster.state.broker(node)
            cluster.rules.add(rule)
            if rule.kind is RuleKind.FAIL:
                cluster.state.changed(now)
        return Fault(rule.kind.value, undo, rule)

"""Fills in ConsumerGroupHeartbeat: only changes since the last one.

Thread: the network thread alone.

The coordinator remembers earlier fields. So each heartbeat leaves out unchanged ones, and all
are sent again when a membership begins and after an error, since the last request may not have
arrived.
"""

from typing import Final

from prokurist.events.assigned import Subscribed
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.wire.consumer_group import (
    ConsumerGroupHeartbeat,
    TopicIdPartitions,
)
from prokurist.types import SubscriptionPattern

NO_PATTERN: Final = ""
"""Takes back a pattern that was told before."""


@dataclass(frozen=True, slots=True)
class SentTerms:
    """The fields that the coordinator knows already."""

    topics: tuple[str, ...]
    pattern: str | None
    owned: tuple[TopicIdPartitions, ...]


class HeartbeatTerms:
    """Fills in each heartbeat with fields unknown to the coordinator.

    Args:
        context: Who we are.
        member_id: The same.
        assignor: `group.remote.assignor`.
    """

    def __init__(
        self, context: MembershipContext, member_id: str, assignor: str | None
    ) -> None:
        self.member_id: str = member_id
        self._context = context
        self._assignor = assignor
        self._said: SentTerms | None = None
        self._saying: SentTerms | None = None
        self._owes = False

    def request(
        self,
        epoch: int,
        subscribed: Subscribed,
        owned: tuple[TopicIdPartitions, ...],
        listed: tuple[TopicIdPartitions, ...],
    ) -> ConsumerGroupHeartbeat:
        """Make the next ConsumerGroupHeartbeat request.

        Args:
            epoch: The member's.
            subscribed: The subscription.
            owned: The owned partitions, sent when they change.
            listed: The partitions to send then: with those being taken, which must not go to
                others.
        """
        pattern = subscribed.pattern
        by_broker = isinstance(pattern, SubscriptionPattern)
        says = SentTerms(
            () if by_broker else tuple(sorted(subscribed.topics)),
            pattern.pattern if isinstance(pattern, SubscriptionPattern) else None,
            owned,
        )
        said, self._saying = self._said, says
        owes, self._owes = self._owes, False
        context = self._context
        if said is None:
            return ConsumerGroupHeartbeat(
                context.group_id,
                self.member_id,
                epoch,
                context.instance_id,
                context.rack,
                context.poll_interval,
                says.topics,
                says.pattern,
                self._assignor,
                listed,
            )
        changed = says.pattern != said.pattern
        return ConsumerGroupHeartbeat(
            context.group_id,
            self.member_id,
            epoch,
            # A static member's heartbeat without its name would be a dynamic one's.
            context.instance_id,
            topics=says.topics if says.topics != said.topics else None,
            pattern=(says.pattern or NO_PATTERN) if changed else None,
            owned=listed if owes or owned != said.owned else None,
        )

    def answered(self) -> None:
        """Note that the coordinator has received the last heartbeat."""
        self._said = self._saying

    def forget(self) -> None:
        """Send everything the next time: the last request may not have arrived."""
        self._said = None

    def owe(self) -> None:
        """Send owned partitions in the next heartbeat, even if they were sent before."""
        self._owes = True

    def has_said(self, owned: tuple[TopicIdPartitions, ...]) -> bool:
        """Return True if the last heartbeat reported just this as owned."""
        return not self._owes and self._said is not None and self._said.owned == owned

    def farewell(self, *, for_good: bool) -> ConsumerGroupHeartbeat:
        """The leaving heartbeat; a static member may come back after it."""
        static = self._context.instance_id is not None
        return ConsumerGroupHeartbeat(
            self._context.group_id,
            self.member_id,
            -2 if static and not for_good else -1,
            self._context.instance_id,
        )

    def __repr__(self) -> str:
        return f"HeartbeatTerms({self.member_id}, {'partial' if self._said else 'full'} next)"

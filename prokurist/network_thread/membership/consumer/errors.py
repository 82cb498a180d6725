"""Errors of ConsumerGroupHeartbeat, with the way out in their texts.

Thread: the network thread alone.
"""

from typing import Final

from prokurist.errors import (
    GroupAuthorizationException,
    InvalidRegularExpression,
    KafkaException,
    TopicAuthorizationException,
    UnsupportedVersionException,
)
from prokurist.events.group_log_events import INSTANCE_ID_IN_USE
from prokurist.network_thread.error_actions import CONSUMER_GROUP_HEARTBEAT
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.types import SubscriptionPattern

UNSUPPORTED_VERSION: Final = 35
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
INVALID_REGULAR_EXPRESSION: Final = 128

UNRELEASED_FOR: Final = 60.0
"""Seconds for which a static member waits for the session of its predecessor to expire."""


class ConsumerErrors:
    """Makes the exceptions that a member of the consumer protocol raises."""

    def __init__(self, context: MembershipContext) -> None:
        self._context = context
        self._unreleased_since: float | None = None

    def begin(self) -> None:
        """Forget earlier refusals: a membership begins."""
        self._unreleased_since = None

    def is_worth_waiting(self, error: KafkaException) -> bool:
        """Return True to keep waiting for the instance id: for a minute, with one warning."""
        now = self._context.timer.now
        if self._unreleased_since is None:
            self._unreleased_since = now
            self._context.client.trace.emit(
                INSTANCE_ID_IN_USE,
                instance=self._context.instance_id,
                patience=UNRELEASED_FOR,
                error=error,
            )
        return now - self._unreleased_since < UNRELEASED_FOR

    def unspoken(self, error: KafkaException) -> KafkaException:
        """The exception for an error that came without an answer."""
        if isinstance(error, UnsupportedVersionException):
            return self._too_old(error)
        return error

    def explained(self, code: int, message: str | None) -> KafkaException:
        """The exception for an error code, with the way out."""
        error = CONSUMER_GROUP_HEARTBEAT.error(code, message)
        group = self._context.group_id
        if code == UNSUPPORTED_VERSION:
            return self._too_old(error)
        if code == GROUP_AUTHORIZATION_FAILED:
            return GroupAuthorizationException(
                f"not allowed to join group {group}: the right to read the group is missing",
                group_id=group,
            )
        subscribed = self._context.assigned.subscribed
        if code == TOPIC_AUTHORIZATION_FAILED:
            topics = () if subscribed is None else tuple(sorted(subscribed.topics))
            return TopicAuthorizationException(
                f"group {group} may not see all of {', '.join(topics)}: "
                f"{message or 'the right to describe a topic is missing'}",
                topics=topics,
            )
        if code == INVALID_REGULAR_EXPRESSION and subscribed is not None:
            pattern = subscribed.pattern
            shown = pattern.pattern if isinstance(pattern, SubscriptionPattern) else ""
            return InvalidRegularExpression(
                f"the broker cannot read the pattern {shown!r}, which has to be in RE2's "
                f"syntax: {message or 'it gave no reason'}"
            )
        return error

    def _too_old(self, error: KafkaException) -> KafkaException:
        explained = UnsupportedVersionException(
            f"the brokers do not know group.protocol=consumer, or not what is subscribed to: "
            f"set group.protocol=classic, or upgrade them to 4.0 and finalise group.version=1 "
            f"({error})"
        )
        explained.__cause__ = error
        return explained

    def __repr__(self) -> str:
        waits = self._unreleased_since is not None
        return f"ConsumerErrors({'an instance id is unreleased' if waits else 'none'})"

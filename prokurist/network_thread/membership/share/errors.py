"""Errors of ShareGroupHeartbeat, with the way out in their texts.

Thread: the network thread alone.
"""

from typing import Final

from prokurist.errors import (
    GroupAuthorizationException,
    GroupIdNotFoundException,
    KafkaException,
    TopicAuthorizationException,
    UnsupportedVersionException,
)
from prokurist.network_thread.error_actions import SHARE_GROUP_HEARTBEAT
from prokurist.network_thread.membership.context import MembershipContext

UNSUPPORTED_VERSION: Final = 35
TOPIC_AUTHORIZATION_FAILED: Final = 29
GROUP_AUTHORIZATION_FAILED: Final = 30
GROUP_ID_NOT_FOUND: Final = 69


def explained(context: MembershipContext, code: int, message: str | None) -> KafkaException:
    """The exception for an error code, with the way out."""
    error = SHARE_GROUP_HEARTBEAT.error(code, message)
    group = context.group_id
    if code == UNSUPPORTED_VERSION:
        return too_old(error)
    if code == GROUP_ID_NOT_FOUND:
        return GroupIdNotFoundException(
            f"group {group} cannot be joined as a share group ({message or error}): an id "
            f"belongs to one type of group, so choose another group.id, or delete the other "
            f"group"
        )
    if code == GROUP_AUTHORIZATION_FAILED:
        return GroupAuthorizationException(
            f"not allowed to join share group {group}: the right to read the group is missing",
            group_id=group,
        )
    if code == TOPIC_AUTHORIZATION_FAILED:
        subscribed = context.assigned.subscribed
        topics = () if subscribed is None else tuple(sorted(subscribed.topics))
        return TopicAuthorizationException(
            f"share group {group} may not see all of {', '.join(topics)}: "
            f"{message or 'the right to describe a topic is missing'}",
            topics=topics,
        )
    return error


def unspoken(error: KafkaException) -> KafkaException:
    """The exception for an error that came without an answer."""
    return too_old(error) if isinstance(error, UnsupportedVersionException) else error


def too_old(error: KafkaException) -> KafkaException:
    """The exception for brokers without share groups."""
    made = UnsupportedVersionException(
        f"the brokers have no share groups: upgrade them to Kafka 4.1 or newer, and finalise "
        f"the feature share.version=1 ({error})"
    )
    made.__cause__ = error
    return made

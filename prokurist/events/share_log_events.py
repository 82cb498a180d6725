"""Log events of share groups: sessions that are lost, and records with them.

Rows of the table in `events/log_events.py`. Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.trace import EventKind, Level, Side

_share = partial(EventKind, area="share", side=Side.NETWORK)
_share_app = partial(EventKind, area="share", side=Side.APPLICATION)

SHARE_SESSION_LOST: Final = _share(
    "share_session_lost",
    Level.INFO,
    "the share session with {node} is over: {error}",
    "It is opened again. Records stay locked where the connection still stands; where it has "
    "ended, `records_lost` follows.",
)
RECORDS_LOST: Final = _share(
    "records_lost",
    Level.WARNING,
    "{records} records of {node} are no longer locked for this consumer: {why}",
    "The group delivers them again, so they are processed twice. `lock`: they took longer than "
    "share.record.lock.duration.ms of the group: fetch fewer, or renew the locks. `leader` and "
    "`connection`: a broker has moved or gone.",
    story="records_lost",
)
RENEWAL_REFUSED: Final = _share(
    "renewal_refused",
    Level.WARNING,
    "group {group} does not renew locks: {error}",
    "Their locks end as they did; the group may have share.renew.acknowledge.enable=false.",
    story="renewal_refused",
)
QUOTA_AND_REDELIVERY: Final = _share(
    "quota_and_redelivery",
    Level.WARNING,
    "{node} throttles this consumer, and records come with a delivery count above 1",
    "Kafka acquires records for a throttled fetch, and answers it without them: each costs a "
    "delivery. Raise the consumer_byte_rate quota, or lower fetch.max.bytes.",
    story="quota",
)
ACKNOWLEDGE_CALLBACK_RAISED: Final = _share_app(
    "acknowledge_callback_raised",
    Level.ERROR,
    "the callback of an acknowledgement raised, and its error is ignored: {error}",
    "A callback of commit_async, or on_acknowledged, has a bug.",
    traceback=True,
)
UNKNOWN_AT_CLOSE: Final = _share_app(
    "acknowledgements_unknown_at_close",
    Level.WARNING,
    "closed with {records} acknowledgements that no broker has confirmed",
    "These records may be delivered again.",
)

SHARE: Final = (
    SHARE_SESSION_LOST,
    RECORDS_LOST,
    RENEWAL_REFUSED,
    QUOTA_AND_REDELIVERY,
    ACKNOWLEDGE_CALLBACK_RAISED,
    UNKNOWN_AT_CLOSE,
)

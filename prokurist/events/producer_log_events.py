"""Log events of a producer; see `log_events`.

Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.trace import EventKind, Level, Side

_produce = partial(EventKind, area="produce", side=Side.NETWORK)
_client = partial(EventKind, area="produce", side=Side.APPLICATION)

PRODUCER_ID_ASSIGNED: Final = _produce(
    "producer_id_assigned",
    Level.DEBUG,
    "numbers batches as producer {id}, epoch {epoch}",
    "An idempotent producer has an id, or its numbers begin again under a new epoch.",
)
PRODUCER_EPOCH_BUMPED: Final = _produce(
    "producer_epoch_bumped",
    Level.WARNING,
    "sequence numbers of {partition} begin again: its leader lacks records that it has "
    "acknowledged, or does not know this producer any more",
    "Records that were delivered may be lost, as a rule by an unclean leader election or with "
    "the brokers' disks: look into the brokers' logs. What is sent from now on is numbered "
    "from 0 under a new epoch.",
    story="partition",
)
SEQUENCE_RESTARTED: Final = _produce(
    "sequence_restarted",
    Level.DEBUG,
    "sequence numbers of {partition} begin again: {reason}",
    "The same where nothing that was acknowledged is missing: after a batch that has failed, "
    "of which `delivery_failed` has told, or where the topic's retention has deleted all that "
    "this producer wrote.",
)
PRODUCE_FAILED: Final = _produce(
    "produce_failed",
    Level.DEBUG,
    "a batch for {partition} is sent again: {error}",
    "An attempt came to nothing.",
)
DELIVERY_FAILED: Final = _produce(
    "delivery_failed",
    Level.WARNING,
    "failed to deliver {records} records for {partition}: {error}",
    "Records have failed for good, in a batch or in `send` already. Their handles and "
    "callbacks have the error; this line is for programs that look at neither.",
    story="partition",
)
BATCH_SPLIT: Final = _produce(
    "batch_split",
    Level.INFO,
    "split a batch of {bytes} bytes for {partition}: the broker takes none as large",
    "max.message.bytes of the topic is lower than max.request.size. Later batches stay below, "
    "and larger ones are tried now and then.",
    story="partition",
)
TRANSACTION_FAILED: Final = _produce(
    "transaction_failed",
    Level.WARNING,
    "a transaction of {id} cannot be committed, {way_out}: {error}",
    "A part of the transaction was not written, its coordinator has aborted it by "
    "transaction.timeout.ms, or another producer has begun with the transactional.id.",
    story="id",
)
TRANSACTION_OPEN: Final = _produce(
    "transaction_open",
    Level.WARNING,
    "a transaction of {id} is open for {seconds:.0f} s, and its coordinator aborts it at "
    "transaction.timeout.ms={timeout}: readers of committed records wait behind it",
    "The application has not committed or aborted it. There is a line after two minutes, and "
    "one at four fifths of transaction.timeout.ms.",
    story="id",
)
CALLBACK_RAISED: Final = _produce(
    "callback_raised",
    Level.WARNING,
    "a delivery callback raised {kind}, and its error is ignored: {error}",
    "The user's callback has a bug. Of errors of one kind there is a line a minute.",
    traceback=True,
    story="kind",
)
CALLBACK_SLOW: Final = _produce(
    "callback_slow",
    Level.WARNING,
    "delivery callbacks of {partition} took {took:.3f} s, in which nothing was sent",
    "Callbacks run on the network thread. Work that takes long belongs to a queue.",
    story="partition",
)
ORDER_NOT_KEPT: Final = _client(
    "order_not_kept",
    Level.WARNING,
    "retries may reorder records: enable.idempotence is off, and "
    "max.in.flight.requests.per.connection is {in_flight}",
    "Set max.in.flight.requests.per.connection to 1, or let idempotence be on.",
)
RECORDS_GIVEN_UP: Final = _client(
    "records_given_up",
    Level.ERROR,
    "closed with {records} records undelivered",
    "The time of close was over. Their handles and callbacks say of each whether it may have "
    "been written.",
)

PRODUCER: Final = (
    PRODUCER_ID_ASSIGNED,
    PRODUCER_EPOCH_BUMPED,
    SEQUENCE_RESTARTED,
    PRODUCE_FAILED,
    DELIVERY_FAILED,
    BATCH_SPLIT,
    TRANSACTION_FAILED,
    TRANSACTION_OPEN,
    CALLBACK_RAISED,
    CALLBACK_SLOW,
    ORDER_NOT_KEPT,
    RECORDS_GIVEN_UP,
)
"""All of them."""

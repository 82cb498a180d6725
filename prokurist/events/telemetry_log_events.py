"""Log events of a client's metrics push; see `log_events`.

Thread: any; nothing here changes.
"""

from functools import partial
from typing import Final

from prokurist.events.trace import EventKind, Level, Side

_telemetry = partial(EventKind, area="client", side=Side.NETWORK)

TELEMETRY_SUBSCRIBED: Final = _telemetry(
    "telemetry_subscribed",
    Level.INFO,
    "brokers know this client as {instance}, and want each {interval} s: {metrics}",
    "Which metrics the cluster's operator has this client push (KIP-714), and the id that they "
    "come under.",
)
TELEMETRY_NOT_TOLD: Final = _telemetry(
    "telemetry_not_told",
    Level.DEBUG,
    "{node} did not tell which metrics it wants: {error}",
    "Brokers without a telemetry receiver do not know the question. It is asked again later.",
)
TELEMETRY_PUSHED: Final = _telemetry(
    "telemetry_pushed",
    Level.DEBUG,
    "pushed {metrics} metrics to {node}: {bytes} bytes of {codec}, {left_out} metrics left out",
    "What was pushed. Metrics are left out where the broker's telemetry.max.bytes is too low.",
)
TELEMETRY_NOT_PUSHED: Final = _telemetry(
    "telemetry_not_pushed",
    Level.DEBUG,
    "a push of metrics to {node} came to nothing: {error}",
    "The next push tells what this one was to tell.",
)
TELEMETRY_ENDED: Final = _telemetry(
    "telemetry_ended",
    Level.INFO,
    "no metrics are pushed any more: {error}",
    "A broker has refused a push, or the question, in a way that the next one will not mend.",
)

TELEMETRY: Final = (
    TELEMETRY_SUBSCRIBED,
    TELEMETRY_NOT_TOLD,
    TELEMETRY_PUSHED,
    TELEMETRY_NOT_PUSHED,
    TELEMETRY_ENDED,
)
"""All of them."""

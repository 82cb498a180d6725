"""Who takes part in what is no race of rates, with which settings, and why these.

Where rates are measured several settings are tried (reading.py, produce.py). Here a setting
could buy a client nothing, or would change what is asked.
"""

from data_files import Client, release
from peers import JAVA

PYTHON_CLIENTS = ("prokurist", "confluent-kafka", "kafka-python", "aiokafka")

CALLS = {
    "prokurist": "the time a call may take is its argument",
    "confluent-kafka": (
        "the time is an argument where a call takes one; `socket.timeout.ms` (60 s) bounds "
        "requests, and with 2 s neither a commit nor `close` ended within 45 s"
    ),
    "kafka-python": (
        "the time is an argument where a call takes one; `request_timeout_ms` (30 s) bounds "
        "the others: with 2 s they end after 2, and every slower request of the client fails"
    ),
    "aiokafka": (
        "only `getmany` takes a time; with `request_timeout_ms` (40 s) of 2 s what ends after "
        "40 ends after 2, and what did not within 45 does not either; `asyncio.wait_for` ends "
        "a wait and leaves its request"
    ),
    "Java classic": "the time is each call's argument",
    "Java consumer": "the time is each call's argument; `group.protocol=consumer`",
}
"""Why defaults are the best there is where ends of calls are timed."""

SHARING = {
    "prokurist": "its protocols, of which the broker has the times in the last",
    "confluent-kafka": (
        "the same; records by `poll` and then `consume(499, 0)`, since `consume` alone waits "
        "until it has all that it may return"
    ),
    "kafka-python": "has no `group.protocol=consumer`",
    "aiokafka": "has range alone; it joins in `start()`, and its loop runs while it is polled",
    "Java": "the eighteen who join are threads of one process, which has started before",
}


def of_calls() -> list[Client]:
    """Where calls are timed, and where nothing comes."""
    settings = "`group.id`, one partition assigned by hand, else defaults"
    return [Client(name, _version(name), settings, why) for name, why in CALLS.items()]


def of_groups() -> list[Client]:
    """Where groups are shared out."""
    settings = (
        "`session.timeout.ms=6000`, `heartbeat.interval.ms=1000`, "
        "`partition.assignment.strategy` by the row; `poll(0.2)`; else defaults"
    )
    return [Client(name, _version(name), settings, why) for name, why in SHARING.items()]


def of_newcomers() -> list[Client]:
    """Where a process reads its first record."""
    settings = "as members of groups by range are: `session.timeout.ms=6000`, else defaults"
    why = "importing, connecting and joining have no settings that would make them shorter"
    return [Client(name, _version(name), settings, why) for name in PYTHON_CLIENTS]


def of_spark(spark: str, connector: str) -> list[Client]:
    """Where Spark reads."""
    why = (
        "both as they come, in one Spark of two cores, one topic of six partitions; a trigger "
        "is bounded alike by `maxOffsetsPerTrigger`"
    )
    own = (
        "its consumers are kept between batches, as they come; `minPartitions` would cut six "
        "partitions into more tasks than there are cores"
    )
    return [
        Client("prokurist", _version("prokurist"), f"PySpark {spark}; defaults", why),
        Client("Spark's own", connector, f"PySpark {spark}; defaults", own),
    ]


def of_ours() -> list[Client]:
    """Where there is no other."""
    return [Client("prokurist", _version("prokurist"), "defaults", "no peer stands here")]


def _version(name: str) -> str:
    return JAVA if name.startswith("Java") else release(name)

"""The user's rights on topics and a group, in words: for `prokurist doctor`.

Brokers report the authorized operations, and not the rules behind them; no request of the
protocol returns a user's name, so it is taken from the configuration.

Thread: the main one.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from prokurist.cli.broker_queries import BrokerQueries
from prokurist.config import ConsumerConfig
from prokurist.errors import CoordinatorNotAvailableException, UnsupportedVersionException
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.wire.metadata import FindCoordinator
from prokurist.network_thread.wire.rights import GroupRights, Operation, Operations

TOPIC_REFUSED: Final = 29
GROUP_REFUSED: Final = 30
UNKNOWN_TOPIC: Final = 3
NONE: Final[Operations] = frozenset()
NO_PASSWORD: Final = {
    "OAUTHBEARER": "the subject of its token",
    "AWS_MSK_IAM": "the identity of its AWS credentials",
    "GSSAPI": "the owner of its Kerberos ticket",
}


@dataclass(frozen=True, slots=True)
class Rights:
    """Authorized operations, as brokers report them.

    Attributes:
        topics: Authorized operations on each requested topic that exists.
        groups: The same of the group, where one was asked for.
    """

    topics: Mapping[str, Operations]
    groups: Mapping[str, Operations]

    @property
    def is_known(self) -> bool:
        """True if brokers have reported any rights."""
        return bool(self.topics or self.groups)


def rights_of(ask: BrokerQueries, topics: Sequence[str], group: str | None) -> Rights:
    """Ask brokers for the authorized operations.

    Args:
        ask: How brokers are asked.
        topics: The topics.
        group: The group; None for none.

    Returns:
        The rights; none where brokers are older than 2.3, and cannot report them.

    Raises:
        KafkaException: No broker answers.
    """
    try:
        return _asked(ask, topics, group)
    except UnsupportedVersionException:
        return Rights({}, {})


def _asked(ask: BrokerQueries, topics: Sequence[str], group: str | None) -> Rights:
    cluster = ask.cluster(tuple(topics), with_operations=True)
    allowed = {
        row.name: NONE if row.error == TOPIC_REFUSED else row.operations or NONE
        for row in cluster.topics
        if row.name is not None and row.error != UNKNOWN_TOPIC
    }
    if group is None:
        return Rights(allowed, {})
    error = 0
    for nth, broker in enumerate(cluster.brokers):
        share = len(cluster.brokers) - nth + 1
        found = ask.ask(broker.host, broker.port, FindCoordinator(group), share)
        error = found.error
        if found.node is not None:
            told = ask.ask(found.node.host, found.node.port, GroupRights(group), 1)
            error = told.error
            if not error:
                return Rights(allowed, {group: told.operations or NONE})
        if error == GROUP_REFUSED:
            return Rights(allowed, {group: NONE})
    raise CoordinatorNotAvailableException(f"no broker tells of group {group}: error {error}")


def principal(config: ConsumerConfig) -> str:
    """Return the principal that brokers see, as far as a client can know."""
    if config.security_protocol.startswith("SASL"):
        if config.sasl_delegation_token:
            return "the owner of its delegation token"
        return NO_PASSWORD.get(config.sasl_mechanism) or f"User:{config.sasl_username}"
    named = (
        config.ssl_certificate_location,
        config.ssl_keystore_location,
        config.ssl_keystore_certificate_chain,
    )
    if config.security_protocol == "SSL" and any(named):
        return "the subject of its certificate"
    return "User:ANONYMOUS"


def told(rights: Rights, user: str) -> str:
    """Describe the rights; things with the same rights are listed together."""
    may: dict[str, list[str]] = {}
    for topic, allowed in rights.topics.items():
        may.setdefault(of_topic(allowed), []).append(topic)
    for group, allowed in rights.groups.items():
        may.setdefault(f"{of_group(allowed)} group", []).append(group)
    return f"{user} may " + "; ".join(f"{what} {', '.join(of)}" for what, of in may.items())


def of_topic(allowed: Operations) -> str:
    """Describe the rights on a topic."""
    match Operation.READ in allowed, Operation.WRITE in allowed, Operation.DESCRIBE in allowed:
        case True, True, _:
            return "read and write"
        case True, False, _:
            return "read and not write"
        case False, True, _:
            return "write and not read"
        case _, _, True:
            return "see and neither read nor write"
    return "not see"


def of_group(allowed: Operations) -> str:
    """Describe the rights on a group."""
    if Operation.READ in allowed:
        return "join and commit in"
    return "see and not use" if Operation.DESCRIBE in allowed else "not see"


def missing(rights: Rights, user: str) -> str | None:
    """Return the missing rights and a command that grants them; None if there are enough.

    A group is there to read with; without one, a topic that may be written to is well, too.
    """
    enough = {Operation.READ} if rights.groups else {Operation.READ, Operation.WRITE}
    topics = [topic for topic, allowed in rights.topics.items() if not allowed & enough]
    groups = [each for each, allowed in rights.groups.items() if Operation.READ not in allowed]
    if not topics and not groups:
        return None
    lacking = [
        *(f"READ of topic {each}" for each in topics),
        *(f"READ of group {each}" for each in groups),
    ]
    known = user if user.startswith("User:") else "PRINCIPAL"
    named = [f"--topic {each}" for each in topics] + [f"--group {each}" for each in groups]
    or_write = "" if rights.groups else ", or to write WRITE"
    return (
        f"To read takes {' and '.join(lacking)}{or_write}: `kafka-acls.sh --add "
        f"--allow-principal {known} --operation Read {' '.join(named)}`; the log of the "
        "broker's authorizer has the principal that it sees."
    )

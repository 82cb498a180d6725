"""Advice on failed steps of `prokurist doctor`.

Thread: any; pure functions.
"""

from typing import Final

from prokurist.cli.broker_probe import Silence
from prokurist.cli.open_transactions import OpenTransactions
from prokurist.errors import (
    AuthenticationException,
    AuthorizationException,
    CoordinatorNotAvailableException,
    SslAuthenticationException,
    TimeoutException,
    UnstableOffsetCommitException,
    UnsupportedSaslMechanismException,
    UnsupportedVersionException,
)

NOTHING_COMMITTED: Final = (
    "Nothing is committed yet: the group is new, its offsets have expired, or its name is "
    "another. It begins where auto.offset.reset says."
)

NO_CONSUMER_PROTOCOL: Final = (
    "group.protocol=consumer is asked for, and these brokers have not finalised it: leave it "
    "out, or see to it with `kafka-features.sh upgrade --feature group.version=1`."
)
IDLE_TOO_LONG: Final = (
    "Azure drops connections that are idle for four minutes: set connections.max.idle.ms below "
    "240000; 180000 is its default here."
)


def on_name(error: Exception) -> str:
    """Advice on a host name that has no address."""
    if isinstance(error, Silence):
        return (
            "The name server does not answer: see /etc/resolv.conf, or name the broker by its "
            "address to see whether all else is well."
        )
    return (
        "The name cannot be resolved: check its spelling in -b, and what `getent hosts` says "
        "of it on this machine; in a container, whether it is on the broker's network."
    )


def on_connect(error: Exception) -> str:
    """Advice on an address that cannot be connected to."""
    if isinstance(error.__cause__, ConnectionRefusedError):
        return (
            "The machine is there and nothing listens on this port: is the broker running, is "
            "the port that of one of its listeners, does it listen on this address?"
        )
    if isinstance(error, Silence):
        return (
            "Packets vanish on the way, without a refusal: look for a firewall or a security "
            "group between here and there, or an address that no machine has."
        )
    return "The network says why: check the route and the address."


def on_greeting(error: Exception) -> str:
    """Advice on a connection without a broker's ApiVersions answer."""
    said = str(error)
    if isinstance(error, Silence):
        return (
            "The connection is accepted and not answered: a broker that is frozen or "
            "overloaded, a port forwarding without a broker behind it, or a listener that "
            "waits for TLS or SASL."
        )
    if "TLS" in said:
        return (
            "This listener wants TLS or SASL: give -X security.protocol=SSL, or SASL_SSL with "
            "sasl.mechanism and credentials, or name one of the broker's PLAINTEXT "
            "listeners (see `listeners` in its configuration)."
        )
    if "HTTP" in said or "<!DOCTYPE" in said:
        return "This is a web server's port: name the broker's listener, often 9092."
    if isinstance(error, UnsupportedVersionException):
        return "Broker and client have no common version: upgrade whichever is older."
    return "That server is no Kafka broker, or something in between changes its answers."


def on_tls(error: Exception) -> str:
    """Advice on a TLS handshake that has failed."""
    if isinstance(error, SslAuthenticationException):
        return (
            "The finding says what is wrong and which key to turn; `openssl s_client -connect` "
            "shows what the broker sends."
        )
    return (
        "A listener without TLS hangs up on a TLS handshake, or waits for more of it: name one "
        "of the broker's SSL listeners (see `listeners` in its configuration)."
    )


def on_sasl(error: Exception) -> str:
    """Advice on an authentication that was refused."""
    if isinstance(error, UnsupportedSaslMechanismException):
        return "Give one of these with -X sasl.mechanism, and its credentials."
    if isinstance(error, AuthenticationException):
        return "The finding has the broker's words; its own log says more of a refusal."
    return "The listener does not go on after ApiVersions: its log says why."


def on_metadata(error: Exception) -> str:
    """Advice on a broker that does not answer Metadata."""
    if "wants SASL" in str(error):
        return (
            "This listener wants SASL, and the client has none: give "
            "-X security.protocol=SASL_SSL (SASL_PLAINTEXT without TLS) and sasl.mechanism, "
            "and the secret with -F FILE."
        )
    return (
        "The broker greets and does not tell of its cluster: it is overloaded, or has lost "
        "its controller; its log says which."
    )


def on_broker(error: Exception) -> str:
    """Advice on a broker that cannot be reached at its advertised address."""
    return (
        "The cluster sends clients to this address, so what lies on that broker cannot be "
        f"read: correct its advertised.listeners, or make the address work. {on_connect(error)}"
    )


def on_coordinator(error: Exception) -> str:
    """Advice on a group whose coordinator cannot be found."""
    cause = error.last_error if isinstance(error, TimeoutException) else error
    if isinstance(cause, AuthorizationException):
        return "The user may not see this group: grant DESCRIBE and READ on it."
    if isinstance(cause, CoordinatorNotAvailableException):
        return (
            "The cluster has no place for groups: __consumer_offsets is missing or without a "
            "leader, often because there are fewer brokers than its replication factor."
        )
    return "No broker said in time who coordinates the group: the brokers' logs say more."


def on_committed(error: Exception) -> str:
    """Advice on a coordinator that does not tell committed offsets."""
    if isinstance(error, AuthorizationException):
        return "The user may not see this: grant DESCRIBE on the group and on its topics."
    cause = error.last_error if isinstance(error, TimeoutException) else error
    if isinstance(cause, UnstableOffsetCommitException):
        return (
            "A producer's transaction that is open commits offsets of this group, whose "
            "members read on from there when it ends: by its producer, or by its "
            "transaction.timeout.ms. kafka-transactions.sh lists those that are open."
        )
    return (
        "The coordinator is known and does not answer: it is frozen, overloaded or still "
        "loading the group; other groups have other coordinators."
    )


def on_records(error: Exception) -> str:
    """Advice on partitions whose offsets are listed but whose records do not come."""
    if isinstance(error, AuthorizationException):
        return "The user may see the topic and not read it: grant READ on it."
    return "Leaders tell offsets and send no records: the brokers' logs say more."


def on_rights(_error: Exception) -> str:
    """Advice on brokers that do not tell what is allowed."""
    return "Brokers do not tell what this user may do; the steps before show what it can."


def on_open_transactions(found: OpenTransactions) -> str | None:
    """Advice on open transactions; None where none is open for long."""
    hanging = next((each for each in found.found if each.is_hanging), None)
    if hanging is not None:
        topic, partition = hanging.partition
        return (
            "Unless this user lacks DESCRIBE on its transactional id, nobody will end it, and "
            "readers of committed records wait behind it: `kafka-transactions.sh abort --topic "
            f"{topic} --partition {partition} --start-offset "
            f"{hanging.producer.transaction_start}`."
        )
    if any(each.is_long for each in found.found):
        return (
            "Readers of committed records wait behind it: have its producer end it, or wait "
            "for its coordinator, which aborts it after transaction.timeout.ms."
        )
    return None

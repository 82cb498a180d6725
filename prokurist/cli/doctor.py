"""`prokurist doctor`: checks every step from a name to a committed offset.

DNS, TCP, TLS and ApiVersions are checked for each bootstrap address, then the real client asks
for metadata, the coordinator and committed offsets; between them each broker is reached at its
advertised address.

Thread: the main one.
Invariants: one deadline for all; a step has the time that is left, shared with those that
come after it, so that one that hangs does not hide the others.
"""

from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

from prokurist.admin.admin import KafkaAdmin
from prokurist.assembly.security import authenticator_of, tls_contexts, tls_of
from prokurist.cli import advice, open_transactions, rights, share_findings
from prokurist.cli.broker_kinds import (
    EVENT_HUBS,
    EVENT_HUBS_IDLE_MS,
    BrokerKind,
    has_consumer_protocol,
    kind_of,
    spoken,
)
from prokurist.cli.broker_probe import BrokerProbe
from prokurist.cli.broker_queries import BrokerQueries
from prokurist.cli.cluster_findings import brokers, described, resolved, told
from prokurist.cli.command_options import CommandOptions
from prokurist.cli.record_probe import last_record
from prokurist.cli.steps import Step, StepResult, Taken
from prokurist.cli.tls_findings import RENEWED_BEFORE, lasts, tls_finding
from prokurist.config import ConsumerConfig
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException, NetworkException
from prokurist.events.clock import Deadline
from prokurist.network_thread.io.network import SocketAddress
from prokurist.network_thread.wire.api_versions import ApiVersionsAnswer
from prokurist.network_thread.wire.apis import CONSUMER_GROUP_HEARTBEAT
from prokurist.types import (
    Node,
    OffsetAndMetadata,
    PartitionInfo,
    TopicPartition,
    counted,
    named,
)

Found = TypeVar("Found")


def run(asked: CommandOptions, group: str | None, topics: Sequence[str]) -> Iterator[Step]:
    """Take the steps; each is yielded when it is over.

    Args:
        asked: Options of every command.
        group: The group, for its coordinator and offsets; None for no group.
        topics: Topics that have to exist; none for those that do.

    Raises:
        ConfigException: The configuration cannot be used.
    """
    config = ConsumerConfig(asked.keys(group_id=group))
    tls = tls_of(tls_contexts(config, asked.clock))
    probe = BrokerProbe(asked.clock, tls, config.broker_address_family)
    try:
        yield from Doctor(asked, config, probe, topics).steps()
    finally:
        probe.close()


class Doctor:
    """One run of the command."""

    def __init__(
        self,
        asked: CommandOptions,
        config: ConsumerConfig,
        probe: BrokerProbe,
        topics: Sequence[str],
    ) -> None:
        self._asked = asked
        self._config = config
        self._walk = probe
        self._topics = topics
        self._authenticator = authenticator_of(config, probe.wake)
        self._greeting: ApiVersionsAnswer | None = None

    def steps(self) -> Iterator[Step]:
        """Take the steps one after the other, and yield each result."""
        servers = self._config.bootstrap_servers
        greeted: set[tuple[str, int]] = set()
        for nth, each in enumerate(servers):
            # The client's part wants time as well, hence one more.
            if (yield from self._way(each.host, each.port, len(servers) - nth + 1)):
                greeted.add((each.host, each.port))
        if not greeted:
            reason = "none of the bootstrap addresses can be used"
            for name in ("Metadata", "Coordinator", "Committed"):
                yield Step(name, StepResult.SKIPPED, reason)
            return
        with (
            self._asked.consumer(group_id=self._config.group_id) as consumer,
            self._asked.admin() as admin,
        ):
            yield from self._cluster(consumer, admin, greeted)

    def _take(
        self,
        name: str,
        share: int,
        act: Callable[[Deadline], Found],
        tell: Callable[[Found], str],
        advise: Callable[[Exception], str],
    ) -> Taken[Found]:
        """Take one step.

        Args:
            name: Its name.
            share: Among how many steps the time that is left is shared.
            act: The step itself; its finding is not None.
            tell: Describes the finding.
            advise: Makes advice from an error.
        """
        clock = self._asked.clock
        began = clock.now()
        try:
            found = act(Deadline(began + self._asked.left() / share))
        except KafkaException as error:
            took = clock.now() - began
            return Taken(Step(name, StepResult.FAILED, str(error), took, advise(error)))
        return Taken(Step(name, StepResult.OK, tell(found), clock.now() - began), found)

    # --- the way to a bootstrap address --------------------------------------------------

    def _way(self, host: str, port: int, share: int) -> Generator[Step, None, bool]:
        probe = self._walk
        named_so = self._take(
            "DNS",
            share,
            lambda until: probe.addresses(host, port, until),
            lambda found: resolved(host, found),
            advice.on_name,
        )
        yield named_so.step
        addresses = named_so.found or ()
        greeted = False
        for nth, address in enumerate(addresses, 1):
            *before, last = self._greeted(host, address, share)
            yield from before
            good = last.verdict is StepResult.OK
            # The client goes on to the next address, and only loses time.
            bearable = greeted or nth < len(addresses)
            yield last if good or not bearable else replace(last, verdict=StepResult.WARNING)
            greeted = greeted or good
        return greeted

    def _greeted(self, host: str, address: SocketAddress, share: int) -> Iterator[Step]:
        probe = self._walk
        connected = self._take(
            "TCP",
            share,
            lambda until: probe.connect(address, host, until),
            lambda _: f"{address} accepts",
            advice.on_connect,
        )
        yield connected.step
        number = connected.found
        if number is not None:
            securing = self._securing(number, share)
            yield securing
            if securing.verdict is StepResult.FAILED:
                return
            greeted = self._take(
                "ApiVersions",
                share,
                lambda until: probe.greet(number, until),
                lambda answer: f"{address} is a Kafka broker: {spoken(answer)}",
                advice.on_greeting,
            )
            yield greeted.step
            self._greeting = greeted.found or self._greeting
            if greeted.found is not None and self._authenticator is not None:
                authenticate = partial(
                    self._authenticated, number, host, str(address), greeted.found
                )
                yield self._take("SASL", share, authenticate, str, advice.on_sasl).step
            probe.hang_up(number)

    def _authenticated(
        self, number: int, host: str, broker: str, answer: ApiVersionsAnswer, until: Deadline
    ) -> str:
        if self._authenticator is None:
            raise AssertionError("SASL was not asked for")
        from prokurist.cli.sasl_probe import authenticate  # noqa: PLC0415 - of SASL alone

        where = host, broker
        return authenticate(
            self._walk, number, self._authenticator, where, answer.offered, until
        )

    def _securing(self, number: int, share: int) -> Step:
        protocol = self._config.security_protocol
        if not protocol.endswith("SSL"):
            finding = f"not asked for: security.protocol is {protocol}"
            return Step("TLS", StepResult.SKIPPED, finding)
        secured = self._take(
            "TLS",
            share,
            lambda until: self._walk.secure(number, until),
            lambda tls: tls_finding(tls.agreed, tls.certificate),
            advice.on_tls,
        )
        if secured.found is None:
            return secured.step
        left = lasts(secured.found.certificate)
        if left is not None and left < RENEWED_BEFORE:
            renew = f"The certificate ends in {counted(left, 'day')}: renew it on the broker."
            return replace(secured.step, verdict=StepResult.WARNING, advice=renew)
        return secured.step

    # --- what the client is told ---------------------------------------------------------

    def _cluster(
        self,
        consumer: KafkaConsumer,
        admin: KafkaAdmin,
        greeted: Collection[tuple[str, int]],
    ) -> Iterator[Step]:
        metadata = self._take(
            "Metadata",
            2,
            lambda until: consumer.list_topics(self._until(until)),
            described,
            advice.on_metadata,
        )
        yield metadata.step
        listed = metadata.found
        if listed is None:
            for name in ("Coordinator", "Committed"):
                yield Step(name, StepResult.SKIPPED, "without metadata no broker can be asked")
            return
        yield self._kind(admin, listed)
        yield from self._topics_there(listed)
        others = [node for node in brokers(listed) if (node.host, node.port) not in greeted]
        for nth, node in enumerate(others):
            yield self._broker(node, len(others) - nth + 1)
        yield from self._group(consumer, admin, listed)
        yield from self._records(consumer, listed)
        if self._topics:
            yield self._transactions(admin, listed)
        if self._topics or self._config.group_id is not None:
            yield self._rights()

    def _kind(self, admin: KafkaAdmin, listed: Mapping[str, Sequence[PartitionInfo]]) -> Step:
        """Report the kind of the brokers, with features that they lack."""
        config, greeting = self._config, self._greeting
        if greeting is None:
            raise AssertionError("metadata came, and no broker has greeted")
        hosts = [each.host for each in config.bootstrap_servers]
        hosts += [each.host for each in brokers(listed)]

        def find(until: Deadline) -> BrokerKind:
            try:
                cluster = admin.describe_cluster(timeout=self._until(until)).cluster_id
            except KafkaException:
                cluster = None
            return kind_of(hosts, cluster, greeting)

        kind = self._take("Kind", 1, find, str, str)
        step = kind.step
        if config.group_protocol == "consumer" and not has_consumer_protocol(greeting):
            # Early access, and an embedded broker, have the API alone.
            api = greeting.offered.of(CONSUMER_GROUP_HEARTBEAT)
            verdict = StepResult.WARNING if api else StepResult.FAILED
            return replace(step, verdict=verdict, advice=advice.NO_CONSUMER_PROTOCOL)
        idle = config.connections_max_idle_ms
        if kind.found and kind.found.name == EVENT_HUBS and not 0 <= idle < EVENT_HUBS_IDLE_MS:
            return replace(step, verdict=StepResult.WARNING, advice=advice.IDLE_TOO_LONG)
        return step

    def _topics_there(self, listed: Mapping[str, Sequence[PartitionInfo]]) -> Iterator[Step]:
        for topic in self._topics:
            if topic not in listed:
                yield Step(
                    "Topic",
                    StepResult.FAILED,
                    f"there is no topic {topic!r} that this user may see",
                    advice="`prokurist topics` lists all; to see one takes DESCRIBE.",
                )
        leaderless = [
            TopicPartition(info.topic, info.partition)
            for infos in listed.values()
            for info in infos
            if info.leader is None
        ]
        if leaderless:
            yield Step(
                "Leaders",
                StepResult.WARNING,
                f"no leader for {named(leaderless)}",
                advice="They cannot be read: the brokers that hold them are down.",
            )

    def _broker(self, node: Node, share: int) -> Step:
        def reach(until: Deadline) -> SocketAddress:
            error: KafkaException | None = None
            for address in self._walk.addresses(node.host, node.port, until):
                try:
                    number = self._walk.connect(address, node.host, until)
                    if self._config.security_protocol.endswith("SSL"):
                        self._walk.secure(number, until)
                    self._walk.greet(number, until)
                    self._walk.hang_up(number)
                except KafkaException as failure:
                    error = failure
                else:
                    return address
            raise error or NetworkException(f"{node.host} has no address")

        return self._take(
            f"Broker {node.id}",
            share,
            reach,
            lambda address: f"{address} greets, as advertised ({node.host}:{node.port})",
            advice.on_broker,
        ).step

    def _group(
        self,
        consumer: KafkaConsumer,
        admin: KafkaAdmin,
        listed: Mapping[str, Sequence[PartitionInfo]],
    ) -> Iterator[Step]:
        topics = [topic for topic in self._topics or listed if topic in listed]
        partitions = [
            TopicPartition(info.topic, info.partition)
            for topic in topics
            for info in listed[topic]
        ]
        # The coordinator is asked for a topic that cannot be seen, too: it serves the group.
        unseen = [TopicPartition(topic, 0) for topic in self._topics if topic not in listed]
        partitions = partitions or unseen
        if self._config.group_id is None or not partitions:
            reason = "there are no topics" if self._config.group_id else "no group named: -G"
            for name in ("Coordinator", "Committed"):
                yield Step(name, StepResult.SKIPPED, reason)
            return

        def committed(
            until: Deadline, *, stable: bool = True
        ) -> dict[TopicPartition, OffsetAndMetadata | None]:
            return consumer.committed(partitions, self._until(until), stable=stable)

        def advise(error: Exception, coordinator: str | None) -> str:
            return (advice.on_committed if coordinator else advice.on_coordinator)(error)

        # The first look-up finds the coordinator; the second takes what each one will. Half of
        # the time is kept for what follows, whose causes are others.
        first = self._take(
            "Coordinator",
            2,
            partial(committed, stable=False),
            lambda _: f"{consumer.health().coordinator} coordinates {self._config.group_id}",
            lambda error: advise(error, consumer.health().coordinator),
        )
        known = consumer.health().coordinator
        if first.found is None and known is not None:
            yield Step(
                "Coordinator", StepResult.OK, f"{known} coordinates {self._config.group_id}"
            )
            yield replace(first.step, name="Committed")
            return
        yield first.step
        if first.found is None:
            reason = "without a coordinator no offsets can be asked for"
            yield Step("Committed", StepResult.SKIPPED, reason)
            return
        if not any(first.found.values()):
            shared = self._share_group(admin, self._config.group_id)
            if shared is not None:
                yield shared
                return
        if partitions is unseen:
            yield Step("Committed", StepResult.SKIPPED, "no topic of it can be seen")
            return
        step = self._take("Committed", 2, committed, told, advice.on_committed).step
        if step.verdict is StepResult.OK and not any(first.found.values()):
            step = replace(step, verdict=StepResult.WARNING, advice=advice.NOTHING_COMMITTED)
        yield step

    def _share_group(self, admin: KafkaAdmin, group: str) -> Step | None:
        """Report a share group, which commits nothing; None for others."""
        taken = self._take(
            "Share group",
            2,
            lambda until: share_findings.find(admin, group, self._until(until)),
            str,
            advice.on_coordinator,
        )
        if taken.found is None or taken.found.group is None:
            return None
        told = taken.found.advice
        if told is None:
            return taken.step
        return replace(taken.step, verdict=StepResult.WARNING, advice=told)

    def _records(
        self, consumer: KafkaConsumer, listed: Mapping[str, Sequence[PartitionInfo]]
    ) -> Iterator[Step]:
        """Read the last record of a topic that was named."""
        partitions = [
            TopicPartition(info.topic, info.partition)
            for topic in self._topics
            for info in listed.get(topic, ())
        ]
        if partitions and self._asked.left() <= 0:
            yield Step("Records", StepResult.SKIPPED, "no time is left")
        elif partitions:
            yield self._take(
                "Records",
                1,
                lambda until: last_record(consumer, partitions, self._until(until)),
                str,
                advice.on_records,
            ).step

    def _transactions(
        self, admin: KafkaAdmin, listed: Mapping[str, Sequence[PartitionInfo]]
    ) -> Step:
        """Report open transactions of the named topics: readers of committed records wait."""
        name, topics = "Transactions", [each for each in self._topics if each in listed]
        if not topics or self._asked.left() <= 0:
            reason = "no time is left" if topics else "there are no topics"
            return Step(name, StepResult.SKIPPED, reason)
        taken = self._take(
            name,
            2,
            lambda until: open_transactions.find(admin, topics, self._until(until)),
            open_transactions.told,
            advice.on_metadata,
        )
        found = taken.found
        if found is None:
            return taken.step
        if not found.is_told:
            return Step(
                name, StepResult.SKIPPED, "brokers before Kafka 3.0 do not tell of them"
            )
        told = advice.on_open_transactions(found)
        if told is None:
            return taken.step
        return replace(taken.step, verdict=StepResult.WARNING, advice=told)

    def _rights(self) -> Step:
        """Report the user's rights on the named topics and the group."""
        if self._asked.left() <= 0:
            return Step("Rights", StepResult.SKIPPED, "no time is left")
        ask = BrokerQueries(self._asked, self._config, self._walk)
        user = rights.principal(self._config)
        asked = self._take(
            "Rights",
            1,
            lambda _: rights.rights_of(ask, self._topics, self._config.group_id),
            lambda found: rights.told(found, user),
            advice.on_rights,
        )
        if asked.found is None:
            return asked.step
        if not asked.found.is_known:
            return Step(
                "Rights", StepResult.SKIPPED, "brokers do not tell what is allowed of it"
            )
        lacking = rights.missing(asked.found, user)
        if lacking is None:
            return asked.step
        return replace(asked.step, verdict=StepResult.FAILED, advice=lacking)

    def _until(self, deadline: Deadline) -> float:
        return deadline.remaining(self._asked.clock.now())

"""Options of every command: brokers, configuration keys, time limit.

Thread: the main one.
Invariants: the deadline is made when the command begins, and bounds everything in it, the
closing of the client included. Keys from a file come first, those of `-X` replace them, and
the options of the command stand above both.
"""

import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field
from pathlib import Path
from typing import Final

from prokurist.admin.admin import KafkaAdmin
from prokurist.cli.errors import Misused
from prokurist.cli.property_file import properties
from prokurist.config import (
    AdminConfig,
    ConsumerConfig,
    ProducerConfig,
    Secret,
    ShareConsumerConfig,
)
from prokurist.config.clients import ADMIN, CONSUMER, PRODUCER, SHARE_CONSUMER
from prokurist.config.table import Client, plain, spellings
from prokurist.consumer.consumer import KafkaConsumer
from prokurist.errors import KafkaException
from prokurist.events.clock import Deadline, MonotonicClock
from prokurist.lazy_dataclasses import dataclass
from prokurist.producer.producer import KafkaProducer
from prokurist.share.consumer import KafkaShareConsumer

CLOSE: Final = 5.0
"""Seconds for closing a client, where the deadline leaves as many."""

CLIENTS: Final[Mapping[type[object], Client]] = {
    ConsumerConfig: CONSUMER,
    ProducerConfig: PRODUCER,
    AdminConfig: ADMIN,
    ShareConsumerConfig: SHARE_CONSUMER,
}

ALWAYS: Final[Mapping[str, object]] = {
    # A topic's name that was mistyped must not become a topic.
    "allow.auto.create.topics": False,
    "enable.auto.commit": False,
}


@dataclass(frozen=True, slots=True)
class CommandOptions:
    """The options that every command has.

    Attributes:
        brokers: The value of `-b`, where it is given.
        properties: The values of `-X`, each `key=value`.
        file: The value of `-F`.
        timeout: Seconds for the whole command.
        quiet: Only failures are told on standard error.
        deadline: The end of those seconds.
    """

    brokers: str | None = None
    properties: Sequence[str] = ()
    file: Path | None = None
    timeout: float = 10.0
    quiet: bool = False
    clock: MonotonicClock = field(default_factory=MonotonicClock)
    deadline: Deadline = field(init=False)

    def __post_init__(self) -> None:
        try:
            deadline = Deadline.after(self.clock.now(), self.timeout)
        except ValueError as error:
            raise Misused(f"--timeout: {error}") from None
        object.__setattr__(self, "deadline", deadline)

    def left(self) -> float:
        """The seconds until the deadline."""
        return self.deadline.remaining(self.clock.now())

    def say(self, text: str) -> None:
        """Write a line to standard error, unless quiet."""
        if not self.quiet:
            sys.stderr.write(f"{text}\n")
            sys.stderr.flush()

    def keys(self, **own: object) -> dict[str, object]:
        """Return the checked configuration of a consumer; warn of keys without effect.

        Args:
            own: The command's own settings, with underscores; None leaves a key out.

        Raises:
            ConfigException: A value cannot be used.
            Misused: There are no brokers, or a line is no `key=value`.
        """
        return self._checked(ConsumerConfig, ALWAYS, own)

    def _checked(
        self,
        client: type[ConsumerConfig | ProducerConfig | AdminConfig | ShareConsumerConfig],
        always: Mapping[str, object],
        own: Mapping[str, object],
    ) -> dict[str, object]:
        """The configuration of a client.

        Args:
            client: The configuration class of the client.
            always: Default settings of every command of this kind.
            own: The command's own settings, with underscores; None leaves a key out.

        Raises:
            ConfigException: A value cannot be used.
            Misused: There are no brokers, or a line is no `key=value`.
        """
        typed = dict(map(key_and_value, self.properties))
        given: dict[str, object] = dict(always)
        if self.file is not None:
            # One file is for all commands.
            given.update(without_others(properties_of(self.file), client))
        # The doctor has keys of a consumer, and asks as an administrator, too.
        given.update(without_others(typed, client) if client is AdminConfig else typed)
        given.update(
            (key.replace("_", "."), value) for key, value in own.items() if value is not None
        )
        if self.brokers is not None:
            given["bootstrap.servers"] = self.brokers
        if "bootstrap.servers" not in given:
            raise Misused("no brokers: name them with -b HOST:PORT, or in PROKURIST_BOOTSTRAP")
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            config = client(given)
        for name in typed:
            if isinstance(getattr(config, name.replace(".", "_"), None), Secret):
                raise Misused(f"{name} is a secret, and -X shows it to every user: use -F FILE")
        for each in said:
            self.say(f"note: {each.message}")
        return given

    @contextmanager
    def consumer(self, **own: object) -> Iterator[KafkaConsumer]:
        """A client that is closed by the deadline.

        Args:
            own: See `keys`.
        """
        consumer = KafkaConsumer(self.keys(**own))
        with self.closing(consumer):
            yield consumer

    @contextmanager
    def admin(self) -> Iterator[KafkaAdmin]:
        """An admin client that is closed by the deadline."""
        admin = KafkaAdmin(self._checked(AdminConfig, {}, {}))
        try:
            yield admin
        finally:
            admin.close(min(self.left(), CLOSE))

    @contextmanager
    def share_consumer(self, group: str, most: int | None) -> Iterator[KafkaShareConsumer]:
        """A share consumer that is closed by the deadline.

        Args:
            group: The share group.
            most: The most records of a poll; None for the configured number.
        """
        own: dict[str, object] = {"group_id": group, "max_poll_records": most}
        consumer = KafkaShareConsumer(self._checked(ShareConsumerConfig, {}, own))
        try:
            yield consumer
        finally:
            consumer.close(min(self.left(), CLOSE))

    def producer(self, **own: object) -> KafkaProducer:
        """A producer, closed by the command itself.

        Args:
            own: See `keys`.
        """
        return KafkaProducer(self._checked(ProducerConfig, {}, own))

    @contextmanager
    def closing(self, consumer: KafkaConsumer) -> Iterator[None]:
        """Close a client by the deadline; an error in the block takes precedence."""
        try:
            yield
        except BaseException:
            with suppress(KafkaException):
                consumer.close(min(self.left(), CLOSE))
            raise
        consumer.close(min(self.left(), CLOSE))


def without_others(given: Mapping[str, str], client: type[object]) -> dict[str, str]:
    """The keys of a client, and unknown ones, without those of other clients alone."""
    tables = {each: spellings(of) for each, of in CLIENTS.items()}
    others = {key for table in tables.values() for key in table}
    return {
        key: value
        for key, value in given.items()
        if plain(key) in tables[client] or plain(key) not in others
    }


def properties_of(file: Path, option: str = "-F ") -> dict[str, str]:
    """The keys of a property file.

    Args:
        file: The file.
        option: The option that names it, for an error.

    Raises:
        Misused: The file cannot be read, or a line is something else.
    """
    try:
        return properties(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Misused(f"{option}{file}: {error}") from None


def key_and_value(text: str) -> tuple[str, str]:
    """The two sides of the `key=value` behind `-X`.

    Raises:
        Misused: There is no `=`.
    """
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        # The text is left out: it may be half a password.
        raise Misused("-X takes key=value, such as client.id=me")
    return key.strip(), value.strip()

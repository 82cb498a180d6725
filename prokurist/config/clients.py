"""The public configurations: a table each, and the one way to fill it.

Invariants: an instance exists only if its values were read, converted and checked; the
fields hold effective values, and `given` tells which of them the user asked for. Instances
are immutable, can be compared, and pickle without the text of their secrets.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from prokurist.config.admin import AdminKeys
from prokurist.config.checks import (
    ADMIN_CHECKS,
    CONSUMER_CHECKS,
    PRODUCER_CHECKS,
    SHARE_CHECKS,
)
from prokurist.config.consumer import ConsumerKeys
from prokurist.config.foreign import FOR_CONSUMERS, FOR_PRODUCERS
from prokurist.config.kip19 import DEPRECATED
from prokurist.config.parsing import check, read
from prokurist.config.producer import ProducerKeys
from prokurist.config.report import ConfigReport
from prokurist.config.secret import MASK, Secret
from prokurist.config.share import ShareConsumerKeys
from prokurist.config.table import Client, table
from prokurist.errors.local_variables import without_locals
from prokurist.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from typing import Unpack

    from prokurist.config.typed import (
        AdminKeywords,
        ConsumerKeywords,
        ProducerKeywords,
        ShareConsumerKeywords,
    )

CONSUMER = Client(
    "consumer", ConsumerKeys, CONSUMER_CHECKS, FOR_CONSUMERS, MappingProxyType({})
)
"""The consumer's side of the table."""

PRODUCER = Client("producer", ProducerKeys, PRODUCER_CHECKS, FOR_PRODUCERS, DEPRECATED)
"""The producer's side of the table."""

ADMIN = Client(
    "admin client", AdminKeys, ADMIN_CHECKS, MappingProxyType({}), MappingProxyType({})
)
"""The admin client's side of the table."""

SHARE_CONSUMER = Client(
    "share consumer", ShareConsumerKeys, SHARE_CHECKS, FOR_CONSUMERS, MappingProxyType({})
)
"""The share consumer's side of the table."""


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ConsumerConfig(ConsumerKeys):
    """A consumer's configuration, checked.

    Attributes:
        given: The dotted names of the keys that were given, regardless of their spelling.
    """

    given: frozenset[str]

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ConsumerKeywords]",
    ) -> None:
        """Read a configuration.

        Args:
            config: Keys and values; keys with dots (`"group.id"`), with underscores, or as
                librdkafka and kafka-python spell them.
            **keywords: More keys, with underscores.

        Raises:
            ConfigException: A key is unknown, a value breaks its rule, or two contradict
                each other. It has all the faults.
        """
        _fill(self, *read(CONSUMER, (PRODUCER, ADMIN), config, keywords))

    @staticmethod
    def check(
        config: Mapping[str, object] | None = None, /, **keywords: object
    ) -> ConfigReport:
        """Report what every key of a configuration means here, without raising or warning.

        Args:
            config: Keys and values, in any client's spelling.
            **keywords: More keys, with underscores.

        Returns:
            A finding for each key, and the keys by our names.
        """
        return check(CONSUMER, (PRODUCER, ADMIN), config, keywords)

    def __repr__(self) -> str:
        return _shown(self, CONSUMER, self.given)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ProducerConfig(ProducerKeys):
    """A producer's configuration, checked.

    Attributes:
        given: The dotted names of the keys that were given, regardless of their spelling.
    """

    given: frozenset[str]

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ProducerKeywords]",
    ) -> None:
        """Read a configuration.

        Args:
            config: Keys and values; keys with dots (`"linger.ms"`), with underscores, or as
                librdkafka and kafka-python spell them.
            **keywords: More keys, with underscores.

        Raises:
            ConfigException: A key is unknown, a value breaks its rule, or two contradict
                each other. It has all the faults.
        """
        _fill(self, *read(PRODUCER, (CONSUMER, ADMIN), config, keywords))

    @staticmethod
    def check(
        config: Mapping[str, object] | None = None, /, **keywords: object
    ) -> ConfigReport:
        """Report what every key of a configuration means here, without raising or warning.

        Args:
            config: Keys and values, in any client's spelling.
            **keywords: More keys, with underscores.

        Returns:
            A finding for each key, and the keys by our names.
        """
        return check(PRODUCER, (CONSUMER, ADMIN), config, keywords)

    def __repr__(self) -> str:
        return _shown(self, PRODUCER, self.given)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class AdminConfig(AdminKeys):
    """An admin client's configuration, checked.

    Attributes:
        given: The dotted names of the keys that were given, regardless of their spelling.
    """

    given: frozenset[str]

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[AdminKeywords]",
    ) -> None:
        """Read a configuration.

        Args:
            config: Keys and values; keys with dots (`"client.id"`), with underscores, or as
                librdkafka and kafka-python spell them.
            **keywords: More keys, with underscores.

        Raises:
            ConfigException: A key is unknown, a value breaks its rule, or two contradict
                each other. It has all the faults.
        """
        _fill(self, *read(ADMIN, (CONSUMER, PRODUCER), config, keywords))

    @staticmethod
    def check(
        config: Mapping[str, object] | None = None, /, **keywords: object
    ) -> ConfigReport:
        """Report what every key of a configuration means here, without raising or warning.

        Args:
            config: Keys and values, in any client's spelling.
            **keywords: More keys, with underscores.

        Returns:
            A finding for each key, and the keys by our names.
        """
        return check(ADMIN, (CONSUMER, PRODUCER), config, keywords)

    def __repr__(self) -> str:
        return _shown(self, ADMIN, self.given)


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False)
class ShareConsumerConfig(ShareConsumerKeys):
    """A share consumer's configuration, checked.

    Attributes:
        given: The dotted names of the keys that were given, regardless of their spelling.
    """

    given: frozenset[str]

    @without_locals
    def __init__(
        self,
        config: Mapping[str, object] | None = None,
        /,
        **keywords: "Unpack[ShareConsumerKeywords]",
    ) -> None:
        """Read a configuration.

        Args:
            config: Keys and values; keys with dots (`"group.id"`), with underscores, or as
                librdkafka and kafka-python spell them.
            **keywords: More keys, with underscores.

        Raises:
            ConfigException: A key is unknown, a value breaks its rule, or two contradict
                each other. It has all the faults.
        """
        _fill(self, *read(SHARE_CONSUMER, (CONSUMER, PRODUCER, ADMIN), config, keywords))

    @staticmethod
    def check(
        config: Mapping[str, object] | None = None, /, **keywords: object
    ) -> ConfigReport:
        """Report what every key of a configuration means here, without raising or warning.

        Args:
            config: Keys and values, in any client's spelling.
            **keywords: More keys, with underscores.

        Returns:
            A finding for each key, and the keys by our names.
        """
        return check(SHARE_CONSUMER, (CONSUMER, PRODUCER, ADMIN), config, keywords)

    def __repr__(self) -> str:
        return _shown(self, SHARE_CONSUMER, self.given)


def _fill(config: object, values: Mapping[str, Any], given: frozenset[str]) -> None:
    # A frozen dataclass sets its own fields this way too.
    for field, value in values.items():
        object.__setattr__(config, field, value)
    object.__setattr__(config, "given", given)


def _shown(config: object, client: Client, given: Collection[str]) -> str:
    parts: list[str] = []
    for name, row in table(client).items():
        if name in given:
            value = getattr(config, row.field)
            parts.append(f"{name}={MASK if isinstance(value, Secret) else _text(value)}")
    return f"{type(config).__name__}({', '.join(parts)})"


def _text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(str(item) for item in value)}]"
    return repr(value)

"""Base of confluent-kafka's clients: built from a configuration, or over one of ours."""

from abc import abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

from prokurist.compat.absent import Client
from prokurist.compat.confluent_kafka.settings import Settings
from prokurist.errors.local_variables import without_locals
from prokurist.events.clock import CallersClock, MonotonicClock


class ConfluentClient(Client):
    """A consumer or a producer."""

    _settings_of: ClassVar[Callable[..., Settings]]
    """Reads a configuration, keywords and a logger."""
    _kind: ClassVar[Callable[[Mapping[str, Any]], Any]]
    """The client below."""

    @without_locals
    def __init__(
        self, config: Mapping[str, Any] | None = None, *, logger: object = None, **keywords: Any
    ) -> None:
        if config is None and not keywords:
            raise TypeError("a client takes a configuration: a dict of keys and values")
        if config is not None and not isinstance(config, Mapping):
            raise TypeError(f"a configuration is a dict, not {config!r}")
        self._require_keys({**(config or {}), **keywords})
        settings = type(self)._settings_of(config, keywords, logger)
        self._wire(type(self)._kind(settings.rest), settings, MonotonicClock())

    @classmethod
    def over(cls, client: Any, settings: Settings, clock: CallersClock) -> Self:
        """The face of a client that is there already."""
        self = cls.__new__(cls)
        self._wire(client, settings, clock)
        return self

    def _require_keys(self, given: Mapping[str, Any]) -> None:
        """Refuse a configuration that lacks what there is no client without."""

    @abstractmethod
    def _wire(self, client: Any, settings: Settings, clock: CallersClock) -> None:
        """Take the client below, and what the configuration says."""

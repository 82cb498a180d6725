"""The client of a schema registry.

Thread: any. Each call waits on the calling thread, and no longer than its time; requests are
made by helper threads (`look_ups.py`).
"""

import ssl
from collections.abc import Callable, Hashable, Iterable, Mapping
from datetime import timedelta
from functools import partial
from random import Random
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit
from uuid import UUID

from prokurist.config import AdminConfig
from prokurist.errors import (
    ConfigException,
    SchemaRegistryException,
    SchemaRegistryUnavailableException,
)
from prokurist.errors.local_variables import without_locals
from prokurist.events.backoff import Backoff
from prokurist.events.clock import Clock, Deadline, MonotonicClock, as_seconds
from prokurist.network_thread.io.http_exchange import trusting_context
from prokurist.registry.asking import Asking, Question, Send
from prokurist.registry.bounded_cache import BoundedCache
from prokurist.registry.credentials import (
    Basic,
    Credentials,
    NoCredentials,
    OAuthClient,
    checked_headers,
    credentials_of,
)
from prokurist.registry.look_ups import LookUp, LookUps
from prokurist.registry.schema import RegisteredSchema, Schema, SchemaType, registered_of
from prokurist.registry.sending import Sending
from prokurist.security.context import TlsContexts

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
NEGATIVE: Final = 5.0
"""Seconds for which a refusal, such as "there is no such schema", is believed."""

Seconds = float | timedelta | None


class SchemaRegistry:
    """A client of Confluent's Schema Registry, and of those that speak its API.

    Schemas are kept by their id, by subject and version, and by their text; a refusal, such as
    that there is none, counts for five seconds, and the latest version of a subject for
    `latest_for`.
    While no URL answers, requests are made with growing pauses, up to ten seconds, however many
    records ask.

    Args:
        urls: The servers, as an iterable or with commas between; another is asked where one
            does not answer.
        timeout: Seconds for a call.
        basic: A name and a password.
        bearer: A token; or a callable or an object as `sasl.oauthbearer.token.callback` has it.
        oauth: A client of an OAuth provider, whose tokens are renewed.
        tls: Keys of `ssl.*` as a Kafka client has them, for `https` URLs.
        headers: Headers that go with each request, such as `target-sr-cluster`.
        latest_for: Seconds for which the latest version of a subject is believed.
        most_cached: Entries of each cache.

    Raises:
        ConfigException: An argument cannot be used.
    """

    @without_locals
    def __init__(
        self,
        urls: str | Iterable[str],
        *,
        timeout: float | timedelta = 5.0,
        basic: Basic | None = None,
        bearer: Any = None,
        oauth: OAuthClient | None = None,
        tls: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        latest_for: float | timedelta = 60.0,
        most_cached: int = 1000,
    ) -> None:
        clock = MonotonicClock()
        credentials = credentials_of(basic, bearer, oauth)
        self._set_up(
            checked_urls(urls),
            Sending(credentials, checked_headers(headers or {}), contexts_of(tls, clock)),
            credentials,
            clock=clock,
            draw=Random().random,  # noqa: S311 - of pauses
            timeout=as_seconds(timeout),
            latest_for=as_seconds(latest_for),
            most_cached=most_cached,
        )

    @classmethod
    def wired(
        cls,
        urls: str,
        send: Send,
        clock: Clock,
        *,
        timeout: float = 5.0,
        most_cached: int = 1000,
    ) -> "SchemaRegistry":
        """Make a client that sends by a function, on a clock of a test's."""
        made = cls.__new__(cls)
        made._set_up(  # noqa: SLF001 - its own
            checked_urls(urls),
            send,
            NoCredentials(),
            clock=clock,
            draw=lambda: 0.5,
            timeout=timeout,
            latest_for=60.0,
            most_cached=most_cached,
        )
        return made

    def _set_up(
        self,
        urls: tuple[str, ...],
        send: Send,
        credentials: Credentials,
        *,
        clock: Clock,
        draw: Callable[[], float],
        timeout: float,
        latest_for: float,
        most_cached: int,
    ) -> None:
        self._urls = urls
        self._clock = clock
        self._now = clock.now
        self._timeout = timeout
        self._latest_for = latest_for
        backoff = Backoff(FIRST_PAUSE, LONGEST_PAUSE, draw)
        self._asking = Asking(urls, send, credentials.refused, clock=clock, backoff=backoff)
        self._look_ups = LookUps(clock.now)
        self._schemas: BoundedCache[Hashable, Any] = BoundedCache(most_cached, clock.now)
        self._newest: BoundedCache[str, int | None] = BoundedCache(most_cached, clock.now)
        self._refused: BoundedCache[Hashable, SchemaRegistryException] = BoundedCache(
            most_cached, clock.now
        )

    # --- schemas by their identity --------------------------------------------------------

    def schema(
        self,
        schema_id: int | UUID,
        *,
        serialized: bool = False,
        timeout: Seconds = None,
    ) -> Schema:
        """Return the schema of an id.

        Args:
            schema_id: The number, or the GUID.
            serialized: True for a Protobuf schema as a file descriptor in base64.
            timeout: Seconds; None for the client's.

        Raises:
            SchemaNotFoundException: There is none.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        held = self.held(schema_id, serialized=serialized)
        if held is not None:
            return held
        begin = partial(self.look_up, schema_id, serialized=serialized)
        found: Schema = self._awaited(begin, timeout)
        return found

    def held(self, schema_id: int | UUID, *, serialized: bool = False) -> Schema | None:
        """Return the schema of an id that is in the cache; None if it is not.

        Raises:
            SchemaNotFoundException: The registry has just answered that there is none.
        """
        held: Schema | None = self._cached(("id", schema_id, serialized))
        return held

    def look_up(
        self,
        schema_id: int | UUID,
        *,
        serialized: bool = False,
        timeout: Seconds = None,
    ) -> LookUp:
        """Begin to look up the schema of an id, or join who does; it waits for nothing."""
        what = f"schema {schema_id}"
        kind = "guids" if isinstance(schema_id, UUID) else "ids"
        query = "?format=serialized" if serialized else ""
        question = Question("GET", f"/schemas/{kind}/{schema_id}{query}", what)

        def read(told: Any) -> Schema:
            return registered_of(told, what, number=0).schema

        return self._begin(("id", schema_id, serialized), question, read, timeout)

    def version(
        self,
        subject: str,
        version: int | Literal["latest"] = "latest",
        *,
        serialized: bool = False,
        timeout: Seconds = None,
    ) -> RegisteredSchema:
        """Return a version of a subject.

        Args:
            subject: The subject.
            version: The number of the version, or the latest.
            serialized: True for a Protobuf schema as a file descriptor in base64.
            timeout: Seconds; None for the client's.

        Raises:
            SchemaNotFoundException: There is none.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        held = self.held_version(subject, version, serialized=serialized)
        if held is not None:
            return held
        begin = partial(self.look_up_version, subject, version, serialized=serialized)
        found: RegisteredSchema = self._awaited(begin, timeout)
        return found

    def held_version(
        self, subject: str, version: int | Literal["latest"], *, serialized: bool = False
    ) -> RegisteredSchema | None:
        """Return a version of a subject that is in the cache; None if it is not.

        Raises:
            SchemaNotFoundException: The registry has just answered that there is none.
        """
        held: RegisteredSchema | None = self._cached(("version", subject, version, serialized))
        return held

    def look_up_version(
        self,
        subject: str,
        version: int | Literal["latest"],
        *,
        serialized: bool = False,
        timeout: Seconds = None,
    ) -> LookUp:
        """Begin to look up a version, or join who does; it waits for nothing."""
        what = f"version {version} of {subject}"
        query = "?format=serialized" if serialized else ""
        path = f"/subjects/{quote(subject, safe='')}/versions/{version}{query}"
        return self._begin(
            ("version", subject, version, serialized),
            Question("GET", path, what),
            lambda told: registered_of(told, what),
            timeout,
            self._latest_for if version == "latest" else None,
        )

    def now(self) -> float:
        """Return the reading of the clock of its deadlines."""
        return self._clock.now()

    def deadline(self) -> Deadline:
        """Return the deadline of a call that begins now, of several requests maybe."""
        return Deadline.after(self._now(), self._timeout)

    # --- schemas by their text -------------------------------------------------------------

    def register(
        self, subject: str, schema: Schema, *, normalize: bool = False, timeout: Seconds = None
    ) -> RegisteredSchema:
        """Register a schema under a subject; one that is there already keeps its id.

        Args:
            subject: The subject.
            schema: The schema.
            normalize: True to have the registry compare schemas by their meaning.
            timeout: Seconds; None for the client's.

        Raises:
            SchemaRefusedException: It is not compatible, or not valid.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        found = self._by_text("register", "/versions", subject, schema, normalize, timeout)
        if found.version != self._newest.get(subject):
            # What was looked up before may be otherwise now.
            self._newest.put(subject, found.version)
            self._refused.clear()
            for serialized in (False, True):
                self._schemas.drop(("version", subject, "latest", serialized))
        return found

    def find(
        self, subject: str, schema: Schema, *, normalize: bool = False, timeout: Seconds = None
    ) -> RegisteredSchema:
        """Return the identity of a schema that is registered under a subject.

        Args:
            subject: The subject.
            schema: The schema.
            normalize: True to have the registry compare schemas by their meaning.
            timeout: Seconds; None for the client's.

        Raises:
            SchemaNotFoundException: It is not registered there.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        return self._by_text("find", "", subject, schema, normalize, timeout)

    def _by_text(
        self,
        name: str,
        behind: str,
        subject: str,
        schema: Schema,
        normalize: bool,  # noqa: FBT001 - of the two callers above
        timeout: Seconds,
    ) -> RegisteredSchema:
        what = f"a schema of {subject}"
        flag = "true" if normalize else "false"
        path = f"/subjects/{quote(subject, safe='')}{behind}?normalize={flag}"
        found: RegisteredSchema = self._answered(
            (name, subject, schema, normalize),
            Question("POST", path, what, schema.as_body()),
            lambda told: registered_of(told, what, known=schema),
            timeout,
        )
        return found

    # --- subjects --------------------------------------------------------------------------

    def subjects(self, *, timeout: Seconds = None) -> list[str]:
        """Return the names of all subjects.

        Raises:
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        question = Question("GET", "/subjects", "its subjects")
        found: list[str] = self._answered(("subjects",), question, list_of, timeout, keep=0.0)
        return found

    def versions(self, subject: str, *, timeout: Seconds = None) -> list[int]:
        """Return the numbers of a subject's versions.

        Raises:
            SchemaNotFoundException: There is no such subject.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        path = f"/subjects/{quote(subject, safe='')}/versions"
        question = Question("GET", path, f"the versions of {subject}")
        found: list[int] = self._answered(
            ("versions", subject), question, list_of, timeout, keep=0.0
        )
        return found

    def is_compatible(
        self,
        subject: str,
        schema: Schema,
        version: int | Literal["latest"] = "latest",
        *,
        timeout: Seconds = None,
    ) -> bool:
        """Return True if a schema is compatible with a version, by the subject's own rule.

        Raises:
            SchemaNotFoundException: There is no such version.
            SchemaRegistryException: The registry refuses, or gave no answer in time.
        """
        path = f"/compatibility/subjects/{quote(subject, safe='')}/versions/{version}"
        question = Question("POST", path, f"the compatibility with {subject}", schema.as_body())

        def read(told: Any) -> bool:
            if not isinstance(told, dict) or not isinstance(told.get("is_compatible"), bool):
                raise SchemaRegistryException(
                    f"the schema registry's answer about {question.what} has no is_compatible"
                )
            return bool(told["is_compatible"])

        key = ("compatible", subject, version, schema)
        return bool(self._answered(key, question, read, timeout, keep=0.0))

    # --- caches ------------------------------------------------------------------------------

    def forget(self) -> None:
        """Forget all that was looked up."""
        self._schemas.clear()
        self._refused.clear()

    def _cached(self, key: Hashable) -> Any:
        refused = self._refused.get(key)
        if refused is not None:
            raise type(refused)(
                str(refused), status=refused.status, registry_code=refused.registry_code
            )
        return self._schemas.get(key)

    def _answered(
        self,
        key: Hashable,
        question: Question,
        read: Callable[[Any], Any],
        timeout: Seconds,
        keep: float | None = None,
    ) -> Any:
        held = self._cached(key)
        if held is not None:
            return held
        begin = partial(self._begin, key, question, read, keep=keep)
        return self._awaited(begin, timeout)

    def _awaited(self, begin: Callable[..., LookUp], timeout: Seconds) -> Any:
        """Wait for a look-up, and for another where it was a shorter call's."""
        deadline = Deadline.after(self._now(), self._seconds(timeout))
        while True:
            look_up = begin(timeout=deadline.remaining(self._now()))
            look_up.wait(deadline, self._now())
            try:
                return look_up.outcome()
            except SchemaRegistryUnavailableException:
                if look_up.until >= deadline or deadline.expired(self._now()):
                    raise

    def _begin(
        self,
        key: Hashable,
        question: Question,
        read: Callable[[Any], Any],
        timeout: Seconds,
        keep: float | None = None,
    ) -> LookUp:
        until = Deadline.after(self._now(), self._seconds(timeout))
        work = partial(self._ask, key, question, read, keep)
        return self._look_ups.begin(key, question.what, until, work)

    def _seconds(self, timeout: Seconds) -> float:
        return self._timeout if timeout is None else as_seconds(timeout)

    def _ask(
        self,
        key: Hashable,
        question: Question,
        read: Callable[[Any], Any],
        keep: float | None,
        deadline: Deadline,
    ) -> Any:
        """Ask, and keep the answer: on a helper."""
        try:
            found = read(self._asking.ask(question, deadline))
        except SchemaRegistryUnavailableException:
            raise
        except SchemaRegistryException as error:
            bare = type(error)(
                str(error), status=error.status, registry_code=error.registry_code
            )
            self._refused.put(key, bare, NEGATIVE)
            raise
        if keep is None:
            self._schemas.put(key, found)
        elif keep > 0:
            self._schemas.put(key, found, keep)
        return found

    def __repr__(self) -> str:
        return f"SchemaRegistry({', '.join(self._urls)}; {len(self._schemas)} schemas held)"


def list_of(told: Any) -> list[Any]:
    """Read a list of names or numbers.

    Raises:
        SchemaRegistryException: It is none.
    """
    if not isinstance(told, list):
        raise SchemaRegistryException(
            "the schema registry answered with no list where one was expected; check that the "
            "URL is a schema registry's"
        )
    return told


def checked_urls(urls: str | Iterable[str]) -> tuple[str, ...]:
    """Check the addresses of a registry, and return them without a slash at the end.

    Raises:
        ConfigException: One cannot be used; a password in it is not quoted.
    """
    given = urls.split(",") if isinstance(urls, str) else list(urls)
    found = []
    for each in (each.strip() for each in given):
        try:
            parts = urlsplit(each)
            fits = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
            fits = fits and not parts.query and not parts.fragment
        except ValueError:
            fits = False
        if "@" in each:
            raise ConfigException(
                "a URL of the schema registry has a name and a password in it: give them as "
                "basic=(name, password)"
            )
        if not fits:
            raise ConfigException(
                f"{each!r} is no URL of a schema registry; expected http://HOST:PORT or https"
            )
        found.append(each.rstrip("/"))
    if not found:
        raise ConfigException("no URL of a schema registry is given")
    return tuple(found)


def contexts_of(tls: Mapping[str, Any] | None, clock: Clock) -> Callable[[], ssl.SSLContext]:
    """Make the source of TLS for `https` URLs, which follows files that are renewed.

    Raises:
        ConfigException: A key is not one of `ssl.*`, or what it names cannot be used.
    """
    if not tls:
        return trusting_context
    strange = [name for name in tls if not name.replace("_", ".").startswith("ssl.")]
    if strange:
        raise ConfigException(
            f"tls has the key {strange[0]!r}; expected keys of ssl.* as in docs/config.md"
        )
    keys = {name.replace("_", "."): value for name, value in tls.items()}
    config = AdminConfig(
        {"bootstrap.servers": "localhost:1", "security.protocol": "SSL", **keys}
    )
    contexts = TlsContexts(config, clock.now)

    def current() -> ssl.SSLContext:
        contexts.look()
        return contexts.current()

    return current


__all__ = ["RegisteredSchema", "Schema", "SchemaRegistry", "SchemaType"]

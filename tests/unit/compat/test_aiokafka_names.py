"""aiokafka's face has aiokafka's names, signatures, defaults and exceptions."""

import asyncio
import inspect
import ssl
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import aiokafka as real
import aiokafka.admin as real_admin
import aiokafka.errors as real_errors
import aiokafka.helpers as real_helpers
import aiokafka.structs as real_structs
import pytest

from prokurist import ConfigWarning
from prokurist import errors as our_errors
from prokurist.compat import aiokafka as face
from prokurist.compat.aiokafka import admin, errors, helpers, structs
from prokurist.compat.aiokafka.abc import AbstractTokenProvider
from prokurist.compat.aiokafka.settings import (
    ADMIN,
    CONSUMER,
    MOST,
    PRODUCER,
    consumer_settings,
    producer_settings,
)

CLASSES: list[tuple[Any, Any]] = [
    (real.AIOKafkaConsumer, face.AIOKafkaConsumer),
    (real.AIOKafkaProducer, face.AIOKafkaProducer),
    (real_admin.AIOKafkaAdminClient, admin.AIOKafkaAdminClient),
]
OURS: Mapping[str, object] = {
    "acks": None,
    "client_id": None,
    "partition_assignment_strategy": ("roundrobin",),
    "partitioner": None,
}
"""Defaults that are values of aiokafka's own, or another client's name."""


def public(theirs: Any) -> list[str]:
    """Names that a program uses."""
    return [name for name in dir(theirs) if not name.startswith("_")]


@pytest.mark.parametrize(("theirs", "ours"), CLASSES)
def test_each_method_takes_what_aiokafkas_takes(theirs: Any, ours: Any) -> None:
    """B717: the names and defaults of arguments, and what has to be awaited."""
    for name in public(theirs):
        known = inspect.getattr_static(theirs, name)
        if name in ours._left_out or not callable(known):
            continue
        made = inspect.getattr_static(ours, name)
        assert inspect.iscoroutinefunction(made) == inspect.iscoroutinefunction(known), name
        expected = inspect.signature(known).parameters
        taken = inspect.signature(made).parameters
        assert list(taken) == list(expected), name
        for each, parameter in expected.items():
            assert taken[each].default == parameter.default, (name, each)
            assert taken[each].kind == parameter.kind, (name, each)


@pytest.mark.parametrize(
    ("theirs", "table"),
    [
        (real.AIOKafkaConsumer, CONSUMER),
        (real.AIOKafkaProducer, PRODUCER),
        (real_admin.AIOKafkaAdminClient, ADMIN),
    ],
)
def test_each_keyword_has_aiokafkas_default(theirs: Any, table: Mapping[str, object]) -> None:
    """B717: the keywords of the constructors."""
    parameters = inspect.signature(theirs.__init__).parameters
    expected = {
        name: each.default
        for name, each in parameters.items()
        if each.kind is inspect.Parameter.KEYWORD_ONLY
    }
    assert set(table) == set(expected)
    for name, default in expected.items():
        assert table[name] == OURS.get(name, default), name


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [
        (real, face),
        (real_admin, admin),
        (real_structs, structs),
        (real_helpers, helpers),
        (import_module("aiokafka.abc"), import_module("prokurist.compat.aiokafka.abc")),
    ],
)
def test_each_name_of_a_module_is_here_or_told(theirs: Any, ours: Any) -> None:
    """B717: what a program imports."""
    for name in getattr(theirs, "__all__", ["create_ssl_context"]):
        if name in {"BrokerMetadata", "PartitionMetadata"}:
            continue  # Of the client beneath, which is not here.
        if not hasattr(ours, name):
            with pytest.raises(AttributeError, match=f"has no {name}, which this face leaves"):
                getattr(ours, name)


def test_each_exception_is_aiokafkas() -> None:
    """B723: by name and number, with what it says of another try."""
    kinds: list[tuple[str, Any]] = inspect.getmembers(real_errors, inspect.isclass)
    for name, kind in kinds:
        if not issubclass(kind, Exception) or kind.__module__ != real_errors.__name__:
            continue
        ours = getattr(errors, name)
        assert ours.__name__ == kind.__name__
        assert issubclass(ours, RuntimeError) == issubclass(kind, RuntimeError)
        for each in ("errno", "retriable", "invalid_metadata"):
            assert getattr(ours, each, None) == getattr(kind, each, None), (name, each)
        if isinstance(getattr(kind, "errno", None), int):
            assert errors.for_code(kind.errno) is ours
    assert errors.for_code(4711) is errors.for_code(-1)
    assert str(errors.for_code(3)()) == str(real_errors.UnknownTopicOrPartitionError())
    assert errors.for_code(3).message == real_errors.UnknownTopicOrPartitionError.message
    with pytest.raises(AttributeError, match="has no NoSuchError"):
        _ = errors.NoSuchError


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (our_errors.TimeoutException("t"), errors.KafkaTimeoutError),
        (our_errors.IllegalStateException("t"), errors.IllegalStateError),
        (our_errors.CommitFailedException("t"), errors.CommitFailedError),
        (our_errors.IllegalGenerationException("t"), errors.CommitFailedError),
        (our_errors.ProducerFencedException("t"), errors.ProducerFenced),
        (our_errors.SaslAuthenticationException("t"), errors.AuthenticationFailedError),
        (our_errors.DisconnectException("t"), errors.KafkaConnectionError),
        (our_errors.UnknownTopicOrPartitionException("t"), errors.for_code(3)),
        (our_errors.KafkaException("t"), errors.KafkaError),
    ],
)
def test_our_exceptions_are_converted(ours: Any, theirs: type[Exception]) -> None:
    """B723: to the class that aiokafka has for it."""
    assert type(errors.as_theirs(ours)) is theirs


def test_what_has_no_effect_is_told() -> None:
    """B717: keywords of aiokafka's own inside, and those that it has deprecated."""
    with pytest.warns(ConfigWarning, match="rebalance_timeout_ms has no effect"):
        consumer_settings({"group_id": "g", "rebalance_timeout_ms": 1000})
    with pytest.warns(DeprecationWarning, match="api_version is deprecated"):
        consumer_settings({"api_version": "auto"})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        keys, found = consumer_settings({})
        assert (found.max_poll_records, found.default_api_timeout_ms) == (MOST, 40_000)
        assert "enable_auto_commit" not in keys
        _, made = producer_settings({})
        assert (made.acks, made.enable_idempotence, made.batch_size) == ("1", False, 16_384)
        _, made = producer_settings({"transactional_id": "t"})
        assert made.enable_idempotence
    with pytest.raises(errors.KafkaConfigurationError, match="no_such_key"):
        consumer_settings({"no_such_key": 1})
    with pytest.raises(ValueError, match="max_poll_records is a positive int"):
        consumer_settings({"max_poll_records": 0})
    with pytest.raises(ValueError, match="acks=1 with enable_idempotence"):
        producer_settings({"acks": 1, "enable_idempotence": True})


def test_files_of_tls_are_named() -> None:
    """B724: create_ssl_context names them, and a context is refused with the way out."""
    context = helpers.create_ssl_context(
        cafile="ca.pem", certfile="cert.pem", keyfile="key.pem", password=b"k"
    )
    keys, _ = consumer_settings({"security_protocol": "SSL", "ssl_context": context})
    assert keys["ssl_ca_location"] == "ca.pem"
    assert keys["ssl_certificate_location"] == "cert.pem"
    assert keys["ssl_key_location"] == "key.pem"
    context.check_hostname = False
    keys, _ = consumer_settings({"security_protocol": "SSL", "ssl_context": context})
    assert keys["ssl_endpoint_identification_algorithm"] == "none"
    with pytest.raises(errors.KafkaConfigurationError, match="create_ssl_context of prokurist"):
        consumer_settings({"ssl_context": ssl.create_default_context()})


class Provider(AbstractTokenProvider):
    """A source of tokens."""

    def __init__(self) -> None:
        self.asked_in: list[asyncio.AbstractEventLoop] = []

    async def token(self) -> str:
        """Return a token."""
        self.asked_in.append(asyncio.get_running_loop())
        return "token"


def test_a_token_of_a_coroutine_comes_from_the_loop() -> None:
    """B724: the thread that authenticates waits for it."""
    provider = Provider()
    keys, _ = consumer_settings(
        {
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauth_token_provider": provider,
        }
    )
    tokens = keys["sasl_oauth_token_provider"]
    with pytest.raises(RuntimeError, match="before start"):
        tokens.token()

    async def main() -> None:
        tokens.loop = asyncio.get_running_loop()
        assert await asyncio.to_thread(tokens.token) == "token"
        assert provider.asked_in == [tokens.loop]

    asyncio.run(main())
    assert tokens.extensions() == {}

"""What error reporters print of an exception: its frames' local variables hold no secret."""

import base64
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import prokurist
from prokurist import KafkaConsumer, KafkaProducer
from prokurist.compat import confluent_kafka, kafka
from prokurist.config.clients import CONSUMER, PRODUCER, ConsumerConfig, ProducerConfig
from prokurist.config.secret import SecretText
from prokurist.config.table import Client, table
from prokurist.errors import ConfigException, ConfigWarning, SaslAuthenticationException
from prokurist.errors.local_variables import without_locals
from prokurist.network_thread.io.helper import Job
from prokurist.network_thread.io.token_endpoint import TokenEndpoint
from tests.unit.security.conftest import Certificates

PLANTED = "can4ry-5ecret"
ENCODED = base64.b64encode(f"id:{PLANTED}".encode()).decode()
OURS = Path(prokurist.__file__).parent
BROKER = {"bootstrap.servers": "127.0.0.1:1"}


def frames_of(error: BaseException) -> Iterator[tuple[str, str, str]]:
    """Each local variable of each frame of ours: the place, its name, and its repr."""
    left: list[BaseException | None] = [error]
    seen: set[int] = set()
    while left:
        each = left.pop()
        if each is None or id(each) in seen:
            continue
        seen.add(id(each))
        left += (each.__cause__, each.__context__)
        at = each.__traceback__
        while at is not None:
            frame = at.tb_frame
            if Path(frame.f_code.co_filename).is_relative_to(OURS):
                for name, value in frame.f_locals.items():
                    yield f"{frame.f_code.co_filename}:{at.tb_lineno}", name, repr(value)
            at = at.tb_next


def check_clean(error: BaseException) -> None:
    """Nothing of ours shows what was planted."""
    assert PLANTED not in str(error)
    for where, name, shown in frames_of(error):
        assert PLANTED not in shown, f"{where}: {name}={shown}"
        assert ENCODED not in shown, f"{where}: {name}={shown}"


def planted(client: Client) -> dict[str, object]:
    """A configuration in which each key of a secret has what was planted."""
    secrets = {
        name: f"{PLANTED}-{name}"
        for name, row in table(client).items()
        if isinstance(row.key.kind, SecretText)
    }
    secrets["sasl.jaas.config"] = (
        "org.apache.kafka.common.security.plain.PlainLoginModule required "
        f'username="u" password="{PLANTED}";'
    )
    return (
        {**BROKER, "group.id": "g", **secrets} if client is CONSUMER else {**BROKER, **secrets}
    )


Make = Callable[[Mapping[str, object]], object]


def by_keywords(make: Callable[..., object]) -> Make:
    """A constructor that takes keywords, with underscores."""
    return lambda keys: make(**{name.replace(".", "_"): each for name, each in keys.items()})


MAKERS: dict[str, tuple[Client, Make]] = {
    "KafkaConsumer": (CONSUMER, KafkaConsumer),
    "KafkaConsumer by keywords": (CONSUMER, by_keywords(KafkaConsumer)),
    "KafkaProducer": (PRODUCER, KafkaProducer),
    "ConsumerConfig": (CONSUMER, ConsumerConfig),
    "ProducerConfig": (PRODUCER, ProducerConfig),
    "confluent-kafka's Consumer": (CONSUMER, confluent_kafka.Consumer),
    "confluent-kafka's Producer": (PRODUCER, confluent_kafka.Producer),
    "kafka-python's KafkaConsumer": (CONSUMER, by_keywords(kafka.KafkaConsumer)),
    "kafka-python's KafkaProducer": (PRODUCER, by_keywords(kafka.KafkaProducer)),
}


REFUSALS = (
    ConfigException,
    ConfigWarning,
    TypeError,
    ValueError,
    confluent_kafka.KafkaException,
    kafka.errors.KafkaError,
)


@pytest.mark.parametrize("maker", MAKERS)
def test_a_refused_configuration_shows_no_secret(maker: str) -> None:
    """B476: for each key there is, with a value that no key takes; in all constructors."""
    client, make = MAKERS[maker]
    keys = planted(client)
    for name in table(client):
        with pytest.raises(REFUSALS) as caught:
            make({**keys, name: frozenset(("wrong",)), "no.such.key": 1})
        for where, local, shown in frames_of(caught.value):
            assert PLANTED not in shown, f"{name}: {where}: {local}={shown}"


UNUSABLE: dict[str, dict[str, object]] = {
    "a keystore that is not there": {
        "security.protocol": "SSL",
        "ssl.keystore.location": "/nowhere/store.p12",
        "ssl.keystore.password": PLANTED,
    },
    "a key that is none": {
        "security.protocol": "SSL",
        "ssl.keystore.key": f"-----BEGIN PRIVATE KEY-----\n{PLANTED}\n-----END",
        "ssl.keystore.certificate.chain": PLANTED,
    },
    "a truststore that is not there": {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "u",
        "sasl.password": PLANTED,
        "ssl.ca.location": "/dev/null",
    },
    "authorities of a token endpoint that are none": {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url": "https://127.0.0.1:1/t",
        "sasl.oauthbearer.client.credentials.client.id": "id",
        "sasl.oauthbearer.client.credentials.client.secret": PLANTED,
        "https.ca.pem": PLANTED,
    },
}


@pytest.mark.parametrize("what", UNUSABLE)
@pytest.mark.parametrize("make", [KafkaConsumer, KafkaProducer, confluent_kafka.Producer])
def test_a_refused_file_shows_no_secret(what: str, make: Make) -> None:
    """B476: likewise where all keys can be read, and what they name cannot be used."""
    with pytest.raises((ConfigException, confluent_kafka.KafkaException)) as caught:
        make({**BROKER, **UNUSABLE[what]})
    check_clean(caught.value)


def test_a_keystore_with_another_password_shows_no_secret(certificates: Certificates) -> None:
    """B476: nor does a store that its password does not open."""
    store = certificates.store
    with pytest.raises(ConfigException) as caught:
        KafkaConsumer(
            {
                **BROKER,
                "security.protocol": "SSL",
                "ssl.keystore.location": str(store),
                "ssl.keystore.password": PLANTED,
            }
        )
    check_clean(caught.value)


def test_a_token_endpoint_that_fails_shows_no_secret() -> None:
    """B476: nor do the causes of what a user catches of it, though they keep their lines."""
    endpoint = TokenEndpoint("https://127.0.0.1:1/t", connect=1, read=1)

    def work() -> object:
        try:
            return endpoint.post({"Authorization": f"Basic {ENCODED}"}, b"")
        except Exception as error:
            raise SaslAuthenticationException("it failed") from error

    job = Job(work)
    job.run()
    assert job.error is not None
    assert job.error.__cause__ is not None
    assert job.error.__cause__.__traceback__ is not None
    check_clean(job.error)


def test_an_error_keeps_the_lines_that_it_came_through() -> None:
    """B476: a bug can be found by its traceback all the same."""

    def inner(password: str) -> None:
        raise ZeroDivisionError(len(password))

    with pytest.raises(ZeroDivisionError) as caught:
        without_locals(inner)(PLANTED)
    assert [each.name for each in caught.traceback][-2:] == ["called", "inner"]
    check_clean(caught.value)


def test_the_repr_of_a_client_that_was_not_built_raises_nothing() -> None:
    """B477: of each that has state, whichever line its constructor came to."""
    modules: tuple[ModuleType, ...] = (prokurist, confluent_kafka, kafka)
    for module in modules:
        for name, each in vars(module).items():
            if isinstance(each, type) and hasattr(each, "close"):
                made: Any = object.__new__(each)
                assert isinstance(repr(made), str), name

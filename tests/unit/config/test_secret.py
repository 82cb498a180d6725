"""Secrets can be used and cannot be read by accident."""

import copy
import pickle
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from prokurist.config import ConsumerConfig, Secret
from prokurist.errors import ConfigException, ConfigWarning, KafkaException

TEXT = "hunter2-and-more"
Build = Callable[[Mapping[str, object]], ConsumerConfig]


def rotated() -> str:
    """Return the current password."""
    return TEXT


@pytest.mark.parametrize("source", [TEXT, rotated])
def test_reveals_only_when_asked(source: str | Callable[[], str]) -> None:
    """The text comes out of reveal(), and of nothing that prints."""
    secret = Secret(source)
    assert secret.reveal() == TEXT
    for shown in (repr(secret), str(secret), f"{secret}", f"{secret:>20}", f"{secret!r}"):
        assert TEXT not in shown
        assert "***" in shown


def test_a_callable_is_asked_each_time() -> None:
    """A rotated password is picked up by the next reveal()."""
    passwords = iter(["first", "second"])
    secret = Secret(passwords.__next__)
    assert [secret.reveal(), secret.reveal()] == ["first", "second"]


def test_a_callable_that_returns_no_string() -> None:
    """The error tells the type that came back and not the value."""
    encoded: Any = TEXT.encode
    secret = Secret(encoded)
    with pytest.raises(KafkaException, match="type bytes") as caught:
        secret.reveal()
    assert TEXT not in str(caught.value)


def test_takes_text_or_a_callable() -> None:
    """Anything else is a TypeError that does not show it."""
    number: Any = 1234
    with pytest.raises(TypeError, match="string or a callable") as caught:
        Secret(number)
    assert "1234" not in str(caught.value)


def test_equality() -> None:
    """Secrets are equal by text or by callable, and never to their own text."""
    assert Secret(TEXT) == Secret(TEXT)
    assert hash(Secret(TEXT)) == hash(Secret(TEXT))
    assert Secret("päss\udcff") == Secret("päss\udcff")
    assert Secret(TEXT) != Secret("other")
    assert Secret(rotated) == Secret(rotated)
    assert Secret(rotated) != Secret(TEXT)
    assert Secret(TEXT) != TEXT


@pytest.mark.parametrize("source", [TEXT, rotated])
def test_the_text_does_not_travel(source: str | Callable[[], str]) -> None:
    """A pickle holds no text, and its copy says how to give the secret again."""
    data = pickle.dumps(Secret(source))
    assert TEXT.encode() not in data
    travelled = pickle.loads(data)
    assert repr(travelled) == "Secret(***)"
    assert travelled != pickle.loads(data)
    with pytest.raises(KafkaException, match=r"did not travel.*Give the secret again"):
        travelled.reveal()


def test_copies_keep_the_text() -> None:
    """Copying within the process is no pickling, and loses nothing."""
    secret = Secret(TEXT)
    assert copy.copy(secret).reveal() == TEXT
    assert copy.deepcopy({"a": secret})["a"].reveal() == TEXT


def test_a_configuration_hides_its_secrets(consumer: Build) -> None:
    """Neither repr nor pickle of a configuration, nor the warning, holds the text."""
    with pytest.warns(ConfigWarning) as caught:
        config = consumer({"sasl.password": TEXT, "ssl.key.password": rotated})
    assert TEXT not in str(caught[0].message)
    assert "sasl.password=***" in repr(config)
    assert "ssl.key.password=***" in repr(config)
    assert TEXT not in repr(config)
    assert config.sasl_password is not None
    assert config.sasl_password.reveal() == TEXT
    data = pickle.dumps(config)
    assert TEXT.encode() not in data
    travelled = pickle.loads(data)
    assert travelled.given == config.given
    with pytest.raises(KafkaException, match="did not travel"):
        travelled.sasl_password.reveal()


@pytest.mark.parametrize(
    "keys",
    [
        {"sasl.password": TEXT.encode()},
        {"sasl.password": [TEXT]},
        {"sasl.password": TEXT, "sasl_plain_password": f"{TEXT}!"},
        {
            "security.protocol": "SASL_SSL",
            "sasl.jaas.config": f'PlainLoginModule required password="{TEXT}";',
        },
        {"sasl.pasword": TEXT},
        {"ssl_context": TEXT},
        {"bootstrap.servers": f"kafka://user:{TEXT}@kafka1:9092"},
        {"bootstrap.servers": [f"user:{TEXT}@kafka1:9092"]},
        {"bootstrap.servers": f"{'long' * 30}:{TEXT}@kafka1:9092"},
    ],
)
def test_errors_hide_secrets(consumer: Build, keys: Mapping[str, object]) -> None:
    """An error about a secret, or about what may be one, shows key and rule only."""
    with pytest.raises(ConfigException) as caught:
        consumer(keys)
    assert TEXT not in "".join(traceback.format_exception(caught.value))

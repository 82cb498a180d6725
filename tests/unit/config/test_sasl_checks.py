"""The keys of SASL, and JAAS as users of Java paste it."""

import pickle
from typing import Any

import pytest

from prokurist.config import ConsumerConfig
from prokurist.config.secret import Secret
from prokurist.errors import ConfigException

MODULE = "org.apache.kafka.common.security"


def config(mechanism: str | None = None, **more: Any) -> ConsumerConfig:
    """A configuration with SASL."""
    keys = {"bootstrap.servers": "kafka:9092", "security.protocol": "SASL_SSL"}
    if mechanism is not None:
        keys["sasl.mechanism"] = mechanism
    return ConsumerConfig({**keys, **more})


def test_a_password_is_needed() -> None:
    """What is missing is named."""
    with pytest.raises(ConfigException, match=r"needs sasl.username and sasl.password"):
        config("PLAIN")
    with pytest.raises(ConfigException, match=r"SCRAM-SHA-256 needs sasl.password:"):
        config("scram-sha-256", **{"sasl.username": "anna"})
    made = config("PLAIN", **{"sasl.username": "anna", "sasl.password": "x"})
    assert made.sasl_password == Secret("x")


def test_mechanisms_that_are_not_built(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java's default and others are refused, with what there is."""
    # Where Kerberos is tested, the package is installed.
    monkeypatch.setattr("prokurist.config.sasl_checks.find_spec", lambda _name: None)
    with pytest.raises(ConfigException, match=r"GSSAPI, the default, cannot be used.*PLAIN"):
        config()
    with pytest.raises(ConfigException, match=r"SCRAM-SHA-1 cannot be used.*GSSAPI"):
        config("SCRAM-SHA-1")


def test_names_beyond_ascii() -> None:
    """S31: Kafka's parser refuses them with SCRAM."""
    keys = {"sasl.username": "evaé", "sasl.password": "x"}
    config("PLAIN", **keys)
    with pytest.raises(ConfigException, match="ASCII"):
        config("SCRAM-SHA-512", **keys)


def test_a_source_of_tokens_is_needed() -> None:
    """S39: unsecured tokens need their switch."""
    with pytest.raises(ConfigException, match="needs a source of tokens"):
        config("OAUTHBEARER")
    claims = {"sasl.oauthbearer.config": "principal=anna"}
    with pytest.raises(ConfigException, match="anyone can forge"):
        config("OAUTHBEARER", **claims)
    config("OAUTHBEARER", **claims, **{"enable.sasl.oauthbearer.unsecure.jwt": True})
    config("OAUTHBEARER", oauth_cb=lambda _: ("x", 0))
    endpoint = {"sasl.oauthbearer.token.endpoint.url": "https://idp/token"}
    with pytest.raises(ConfigException, match=r"client\.secret"):
        config("OAUTHBEARER", **endpoint)
    config(
        "OAUTHBEARER",
        **endpoint,
        **{"sasl.oauthbearer.client.id": "a", "sasl.oauthbearer.client.secret": "b"},
    )
    config("OAUTHBEARER", **{"sasl.oauthbearer.token.endpoint.url": "file:///run/token"})
    with pytest.raises(ConfigException, match="must begin with"):
        config("OAUTHBEARER", **{"sasl.oauthbearer.token.endpoint.url": "ftp://x"})


def jaas(module: str, options: str) -> dict[str, str]:
    """A login configuration."""
    return {"sasl.jaas.config": f"{MODULE}.{module} required {options};"}


LOGIN, CLIENT = "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"
BEARER = f"{MODULE}.oauthbearer"
AMAZON = "software.amazon.msk.auth.iam"


@pytest.mark.parametrize("name", ["", "secured."])
def test_javas_classes_that_are_no_different(name: str) -> None:
    """B407: a properties file of Java's is taken with Kafka's and Amazon's classes."""
    login = f"{BEARER}.OAuthBearerLoginModule required clientId='me' clientSecret='x';"
    made = config(
        "OAUTHBEARER",
        **{
            LOGIN: f"{BEARER}.{name}OAuthBearerLoginCallbackHandler",
            "sasl.oauthbearer.token.endpoint.url": "https://idp/token",
            "sasl.jaas.config": login,
        },
    )
    assert made.sasl_oauthbearer_client_credentials_client_id == "me"
    amazon = {
        CLIENT: f"{AMAZON}.IAMClientCallbackHandler",
        "sasl.jaas.config": f"{AMAZON}.IAMLoginModule required;",
    }
    assert config("AWS_MSK_IAM", **amazon).sasl_mechanism == "AWS_MSK_IAM"


@pytest.mark.parametrize(
    ("mechanism", "key", "name", "text"),
    [
        ("OAUTHBEARER", LOGIN, "com.example.Mine", "cannot be loaded here.*leave the key out"),
        ("AWS_MSK_IAM", CLIENT, "com.example.Mine", "cannot be loaded here.*leave the key out"),
        ("PLAIN", CLIENT, f"{AMAZON}.IAMClientCallbackHandler", "is for .*AWS_MSK_IAM, and"),
        (
            "OAUTHBEARER",
            LOGIN,
            f"{BEARER}.OAuthBearerLoginCallbackHandler",
            r"needs sasl\.oauthbearer\.token\.endpoint\.url",
        ),
    ],
)
def test_javas_classes_that_would_be_different(
    mechanism: str, key: str, name: str, text: str
) -> None:
    """B407: of one's own, for another mechanism, or without what they read: refused."""
    with pytest.raises(ConfigException, match=text):
        config(mechanism, **{key: name})


def test_jaas_is_turned_into_keys() -> None:
    """Each login module that has a counterpart."""
    plain = config("PLAIN", **jaas("plain.PlainLoginModule", 'username="a" password="b\\"c"'))
    assert (plain.sasl_username, plain.sasl_password) == ("a", Secret('b"c'))
    scram = config(
        "SCRAM-SHA-256",
        **jaas("scram.ScramLoginModule", 'username="i" password="h" tokenauth="true"'),
    )
    assert scram.sasl_delegation_token
    bearer = config(
        "OAUTHBEARER",
        **jaas(
            "oauthbearer.OAuthBearerLoginModule",
            'clientId="a" clientSecret="b" scope="c" extension_pool="7"',
        ),
        **{"sasl.oauthbearer.token.endpoint.url": "https://idp/token"},
    )
    assert bearer.sasl_oauthbearer_scope == "c"
    assert bearer.sasl_oauthbearer_extensions == ("pool=7",)
    unsecured = config(
        "OAUTHBEARER",
        **jaas("oauthbearer.OAuthBearerLoginModule", 'unsecuredLoginStringClaim_sub="anna"'),
        **{"enable.sasl.oauthbearer.unsecure.jwt": True},
    )
    assert unsecured.sasl_oauthbearer_config == "principal=anna"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "hunter2",
        "PlainLoginModule required;",
        "x.PlainLoginModule required username='hunter2",
        'x.PlainLoginModule required username="hunter2"',
        'x.PlainLoginModule optional username="a" password="hunter2";',
        'x.Krb5LoginModule required password="hunter2";',
        'x.PlainLoginModule required secret="hunter2";',
        'x.PlainLoginModule required password="hunter2" password="hunter2";',
        'x.PlainLoginModule required password="hunter2;',
        'x.ScramLoginModule required username="a" password="hunter2";',
        'x.PlainLoginModule required username="a" password="hunter2"; x',
        "x.PlainLoginModule required username=a password=one hunter2 two three;",
        "x.PlainLoginModule required username='a' password='hunter2\";",
        'x.PlainLoginModule required username="a" password="its"hunter2="x";',
        "x.PlainLoginModule required username='a' password='it's=hunter2=x';",
    ],
)
def test_jaas_that_cannot_be_used(text: str) -> None:
    """S47, B345: it is refused, and no value is quoted."""
    with pytest.raises(ConfigException) as refused:
        config("PLAIN", **{"sasl.jaas.config": text})
    assert "hunter2" not in str(refused.value)


def test_jaas_and_a_key_that_say_the_same() -> None:
    """One of them is enough."""
    login = jaas("plain.PlainLoginModule", 'username="a" password="b"')
    with pytest.raises(ConfigException, match=r"sasl.username and sasl.jaas.config"):
        config("PLAIN", **login, **{"sasl.username": "z"})


def test_secrets_are_not_shown() -> None:
    """S45, S46, B345: neither the repr nor a pickle of a configuration has a secret."""
    login = jaas("plain.PlainLoginModule", 'username="a" password="hunter2"')
    made = config("PLAIN", **login)
    assert "hunter2" not in repr(made)
    assert b"hunter2" not in pickle.dumps(made)


@pytest.mark.parametrize(
    ("written", "password"),
    [
        (";", ";"),
        ("=", "="),
        ("a;b=c", "a;b=c"),
        (r"a\\b\"c", 'a\\b"c'),
        (r"tab\tend", "tab\tend"),
        (r"\101\0612", "A12"),
        ("päß'", "päß'"),
    ],
)
def test_jaas_quotes_as_java_does(written: str, password: str) -> None:
    """A quoted text is no mark of the grammar, and its escapes are Java's."""
    login = jaas("plain.PlainLoginModule", f'username="a" password="{written}"')
    made = config("PLAIN", **login)
    assert made.sasl_password is not None
    assert made.sasl_password.reveal() == password


@pytest.mark.parametrize(
    ("written", "password"),
    [
        ("password='hunter2'", "hunter2"),
        ("password='two words;'", "two words;"),
        (r"password='it\'s \"it\"'", 'it\'s "it"'),
        ('/* the key */ password="//no comment"', "//no comment"),
        ('// of billing\n password="/*neither*/"', "/*neither*/"),
    ],
)
def test_jaas_has_single_quotes_and_comments(written: str, password: str) -> None:
    """B373: what Java's reader takes is taken, as users of Spark write it inside Python's."""
    made = config("PLAIN", **jaas("plain.PlainLoginModule", f"username='a' {written}"))
    assert made.sasl_username == "a"
    assert made.sasl_password is not None
    assert made.sasl_password.reveal() == password

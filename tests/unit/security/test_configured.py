"""Mechanisms that a configuration makes: Kerberos, Amazon's, and secrets in files."""

import json
from importlib import util
from pathlib import Path
from typing import Any

import pytest

from prokurist.config import ConsumerConfig
from prokurist.errors import ConfigException, SaslAuthenticationException
from prokurist.security.mechanism import Mechanism
from prokurist.security.mechanisms import ConfiguredMechanisms

HOST = "b-1.demo.c2.kafka.eu-west-1.amazonaws.com"


def config(mechanism: str | None, **keys: Any) -> ConsumerConfig:
    """A configuration with SASL."""
    told = {name.replace("_", "."): value for name, value in keys.items()}
    if mechanism is not None:
        told["sasl.mechanism"] = mechanism
    security = {"bootstrap.servers": "kafka:9092", "security.protocol": "SASL_SSL"}
    return ConsumerConfig({**security, **told})


def made(mechanism: str, **keys: Any) -> Mechanism:
    """The mechanism for a broker."""

    def no_endpoint(url: str) -> Any:
        raise AssertionError(url)

    def no_cloud(request: object) -> Any:
        raise AssertionError(request)

    return ConfiguredMechanisms(
        config(mechanism, **keys),
        endpoint=no_endpoint,
        ask=no_cloud,
        now=lambda: 1440938160.0,
        draw=lambda: 0.0,
    ).make(HOST)


def jaas(module: str, options: str) -> str:
    """A login configuration."""
    return f"com.example.{module} required {options};"


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ({"sasl_oauthbearer_config": "rubbish"}, "must read like principal=NAME"),
        (
            {
                "sasl_oauthbearer_config": "principal=anna",
                "sasl_oauthbearer_extensions": "1x=secret",
            },
            "'1x' cannot be the name",
        ),
    ],
)
def test_faults_of_unsecured_tokens(keys: dict[str, str], text: str) -> None:
    """What a configuration says wrongly is its fault, told where the client is built."""
    with pytest.raises(ConfigException, match=text) as refused:
        made("OAUTHBEARER", enable_sasl_oauthbearer_unsecure_jwt=True, **keys)
    assert "secret" not in str(refused.value)


def test_gssapi_without_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    """Java's default is refused with the extra to install and the other mechanisms."""
    monkeypatch.setattr(
        "prokurist.config.sasl_checks.find_spec",
        lambda name: None if name == "gssapi" else util.find_spec(name),
    )
    text = r"GSSAPI, the default, cannot be used.*install prokurist\[gssapi\].*PLAIN"
    with pytest.raises(ConfigException, match=text):
        config(None, sasl_kerberos_service_name="kafka")


def test_gssapi(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys and JAAS say the same; the service's name must be there."""
    monkeypatch.setattr("prokurist.config.sasl_checks.find_spec", lambda _: object())
    with pytest.raises(ConfigException, match=r"needs sasl.kerberos.service.name"):
        config("GSSAPI")
    by_key = made("GSSAPI", sasl_kerberos_service_name="kafka")
    assert repr(by_key) == f"Gssapi('kafka@{HOST}')"
    text = jaas(
        "Krb5LoginModule",
        'useKeyTab=true storeKey=true keyTab="/k" principal="anna@X" serviceName="kafka"',
    )
    told = config("GSSAPI", sasl_jaas_config=text)
    assert told.sasl_kerberos_keytab == "/k"
    assert told.sasl_kerberos_principal == "anna@X"
    assert told.sasl_kerberos_service_name == "kafka"
    with pytest.raises(ConfigException, match=r"option 'debug', which Krb5LoginModule"):
        config("GSSAPI", sasl_jaas_config=jaas("Krb5LoginModule", "debug=true"))


def test_gssapi_whose_package_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that vanished since is an authentication error, not the thread's end."""
    monkeypatch.setattr("prokurist.config.sasl_checks.find_spec", lambda _: object())
    monkeypatch.setitem(__import__("sys").modules, "gssapi", None)
    with pytest.raises(SaslAuthenticationException, match="cannot be imported"):
        made("GSSAPI", sasl_kerberos_service_name="kafka").first()


def test_msk_iam(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As users of Amazon's library paste it; the profile counts before the environment."""
    keys = tmp_path / "credentials"
    keys.write_text("[prod]\naws_access_key_id=P\naws_secret_access_key=p\n")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(keys))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "E")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "e")
    monkeypatch.delenv("AWS_REGION", raising=False)
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    plain = made("AWS_MSK_IAM", sasl_jaas_config=jaas("IAMLoginModule", ""))
    assert json.loads(plain.first())["x-amz-credential"].startswith("E/20150830/eu-west-1/")
    text = jaas("IAMLoginModule", 'awsProfileName="prod"')
    profile = made("AWS_MSK_IAM", sasl_jaas_config=text)
    assert json.loads(profile.first())["x-amz-credential"].startswith("P/")
    with pytest.raises(ConfigException, match="option 'awsDebugCreds'"):
        config("AWS_MSK_IAM", sasl_jaas_config=jaas("IAMLoginModule", "awsDebugCreds=true"))


def test_a_password_in_a_file(tmp_path: Path) -> None:
    """It is read for each connection; the file is named where that fails, never its text."""
    path = tmp_path / "password"
    path.write_text("one\n")
    keys = {"sasl_username": "anna", "sasl_password_location": str(path)}
    assert made("PLAIN", **keys).first() == b"\0anna\0one"
    path.write_bytes(b"hush\xff")
    with pytest.raises(SaslAuthenticationException, match="it is not UTF-8") as caught:
        made("PLAIN", **keys).first()
    assert caught.value.__context__ is None
    path.unlink()
    with pytest.raises(SaslAuthenticationException, match="No such file"):
        made("PLAIN", **keys).first()
    with pytest.raises(ConfigException, match="both given"):
        config("PLAIN", sasl_password="x", **keys)  # noqa: S106 - refused


def test_a_client_secret_in_a_file(tmp_path: Path) -> None:
    """The location stands in for the secret, and not beside it."""
    path = tmp_path / "secret"
    prefix = "sasl_oauthbearer_client_credentials_client_"
    keys = {
        "sasl_oauthbearer_token_endpoint_url": "https://idp/token",
        f"{prefix}id": "me",
        f"{prefix}secret_location": str(path),
    }
    assert config("OAUTHBEARER", **keys).given
    with pytest.raises(ConfigException, match="both given"):
        config("OAUTHBEARER", **keys, **{f"{prefix}secret": "x"})

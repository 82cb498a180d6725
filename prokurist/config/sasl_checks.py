"""The keys of SASL checked against each other; JAAS is turned into keys of their own.

Thread: any; no state.
"""

from collections.abc import Collection
from importlib.util import find_spec
from typing import Any, Final

from prokurist.config.jaas import login_of
from prokurist.config.secret import Secret
from prokurist.errors import ConfigException

WITH_PASSWORD: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
BUILT: Final = (*WITH_PASSWORD, "OAUTHBEARER", "AWS_MSK_IAM", "GSSAPI")


CLASSES: Final[dict[str, tuple[str, str | None]]] = {
    "sasl.client.callback.handler.class": ("AWS_MSK_IAM", None),
    "sasl.login.callback.handler.class": (
        "OAUTHBEARER",
        "sasl.oauthbearer.token.endpoint.url",
    ),
}
"""Keys that name a class of Java's, with the class's mechanism and the key to use instead."""


def check_sasl(values: dict[str, Any], given: Collection[str]) -> None:
    """Check that there are credentials for the mechanism.

    Args:
        values: The effective values by field name; what JAAS says is put in.
        given: The dotted names of the keys that the user gave.

    Raises:
        ConfigException: They are missing, contradict each other, or the mechanism is not built.
    """
    mechanism = values["sasl_mechanism"] = values["sasl_mechanism"].upper()
    if mechanism not in BUILT:
        raise ConfigException(
            f"sasl.mechanism={mechanism} cannot be used: give one of {', '.join(BUILT)}, and "
            "its credentials"
        )
    _check_classes(values, mechanism)
    if values["sasl_jaas_config"] is not None:
        _take_jaas(values, mechanism)
    if mechanism in WITH_PASSWORD:
        _check_password(values, mechanism)
    elif mechanism == "OAUTHBEARER":
        _check_token_source(values)
    elif mechanism == "GSSAPI":
        _check_kerberos(values, is_default="sasl.mechanism" not in given)


def _check_classes(values: dict[str, Any], mechanism: str) -> None:
    """Check that classes of Java's, which say what the mechanism does, are of that mechanism.

    Raises:
        ConfigException: One is for another.
    """
    for key, (needed, source) in CLASSES.items():
        name = values[key.replace(".", "_")]
        if name is None:
            continue
        if mechanism != needed:
            raise ConfigException(
                f"{key}={name} is for sasl.mechanism={needed}, and sasl.mechanism={mechanism}: "
                "make them agree"
            )
        if source is not None and values[source.replace(".", "_")] is None:
            raise ConfigException(f"{key}={name} needs {source}")


def _take_jaas(values: dict[str, Any], mechanism: str) -> None:
    login = login_of(values["sasl_jaas_config"].reveal())
    if mechanism not in login.mechanisms:
        raise ConfigException(
            f"sasl.jaas.config is for {' or '.join(login.mechanisms)}, and "
            f"sasl.mechanism={mechanism}: make them agree"
        )
    for field, value in login.values.items():
        if values[field]:
            key = field.replace("_", ".")
            raise ConfigException(f"{key} and sasl.jaas.config say the same: give one of them")
        if field == "sasl_delegation_token":
            values[field] = value.lower() == "true"
        else:
            is_secret = field.endswith(("password", "secret"))
            values[field] = Secret(value) if is_secret else value
    values["sasl_oauthbearer_extensions"] += login.extensions
    if login.principal is not None and not values["sasl_oauthbearer_config"]:
        values["sasl_oauthbearer_config"] = f"principal={login.principal}"


def _check_password(values: dict[str, Any], mechanism: str) -> None:
    location = values["sasl_password_location"]
    if location is not None and values["sasl_password"] is not None:
        raise ConfigException(
            "sasl.password and sasl.password.location are both given: give one of them"
        )
    named = {"sasl.username": values["sasl_username"]}
    named["sasl.password"] = values["sasl_password"] or location
    missing = [key for key, value in named.items() if value is None]
    if missing:
        raise ConfigException(
            f"sasl.mechanism={mechanism} needs {' and '.join(missing)}: give them, or "
            "sasl.jaas.config"
        )
    if mechanism != "PLAIN" and not values["sasl_username"].isascii():
        raise ConfigException(
            f"sasl.username={values['sasl_username']!r} cannot be used with {mechanism}: "
            "Kafka reads names of ASCII characters only there"
        )
    if mechanism == "PLAIN" and values["sasl_delegation_token"]:
        raise ConfigException(
            "sasl.delegation.token=True needs sasl.mechanism=SCRAM-SHA-256 or SCRAM-SHA-512"
        )


def _check_kerberos(values: dict[str, Any], *, is_default: bool) -> None:
    default = ", the default," if is_default else ""
    if find_spec("gssapi") is None:
        others = ", ".join(each for each in BUILT if each != "GSSAPI")
        raise ConfigException(
            f"sasl.mechanism=GSSAPI{default} cannot be used without the package gssapi: "
            f"install prokurist[gssapi], or give one of {others}, and its credentials"
        )
    if values["sasl_kerberos_service_name"] is None:
        raise ConfigException(
            f"sasl.mechanism=GSSAPI{default} needs sasl.kerberos.service.name, the first part "
            "of the brokers' principals: usually kafka"
        )


def _check_token_source(values: dict[str, Any]) -> None:
    url = values["sasl_oauthbearer_token_endpoint_url"]
    unsecured = values["enable_sasl_oauthbearer_unsecure_jwt"]
    callback = values["sasl_oauthbearer_token_callback"]
    cloud = values["sasl_oauthbearer_metadata_authentication_type"]
    if cloud != "none":
        name = f"sasl.oauthbearer.metadata.authentication.type={cloud}"
        if callback is not None or url is not None:
            raise ConfigException(
                f"{name} is one source of tokens, and sasl.oauthbearer.token.callback or "
                ".token.endpoint.url another: give one of them"
            )
        if cloud.startswith("azure") and values["sasl_oauthbearer_scope"] is None:
            raise ConfigException(
                f"{name} needs sasl.oauthbearer.scope: for Event Hubs "
                "https://NAMESPACE.servicebus.windows.net/.default"
            )
        return
    if callback is not None:
        return
    if url is not None:
        _check_endpoint(values, url)
        return
    if unsecured and values["sasl_oauthbearer_config"]:
        return
    if values["sasl_oauthbearer_config"]:
        raise ConfigException(
            "sasl.oauthbearer.config alone makes tokens that anyone can forge: give "
            "enable.sasl.oauthbearer.unsecure.jwt=true where the brokers are for development, "
            "or a source of real ones"
        )
    raise ConfigException(
        "sasl.mechanism=OAUTHBEARER needs a source of tokens: "
        "sasl.oauthbearer.token.callback (oauth_cb), sasl.oauthbearer.token.endpoint.url, or "
        "sasl.oauthbearer.metadata.authentication.type for a cloud's own identity"
    )


def _check_endpoint(values: dict[str, Any], url: str) -> None:
    scheme = url.partition(":")[0].lower()
    if scheme == "file":
        return
    if scheme not in {"http", "https"}:
        raise ConfigException(
            f"sasl.oauthbearer.token.endpoint.url={url!r} must begin with https:, http: or "
            "file:"
        )
    if values["https_ca_location"] is not None and values["https_ca_pem"] is not None:
        raise ConfigException(
            "https.ca.location and https.ca.pem are both given: give one of them"
        )
    prefix = "sasl_oauthbearer_client_credentials_client_"
    secret, location = values[f"{prefix}secret"], values[f"{prefix}secret_location"]
    if secret is not None and location is not None:
        raise ConfigException(
            "sasl.oauthbearer.client.credentials.client.secret and its .location are both "
            "given: give one of them"
        )
    if values[f"{prefix}id"] is None or (secret is None and location is None):
        raise ConfigException(
            f"sasl.oauthbearer.token.endpoint.url={url} needs "
            "sasl.oauthbearer.client.credentials.client.id and "
            "sasl.oauthbearer.client.credentials.client.secret"
        )

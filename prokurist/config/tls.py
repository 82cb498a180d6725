"""The keys of the transport: `security.protocol` and `ssl.*`.

TLS is not built yet: whatever is given here is read and checked, and a connection other
than PLAINTEXT is refused, never silently made in plain text.
"""

from dataclasses import dataclass
from typing import Annotated

from prokurist.config.key import HIGH, LOW, MEDIUM, Key, refused, without_effect
from prokurist.config.kinds import Choice, Names, Text
from prokurist.config.secret import Secret, SecretText

WITH_TLS = without_effect("read once TLS is built; security.protocol=SSL is refused until then")
KEYSTORE = without_effect(
    "a Java keystore; PEM files are named by ssl.ca.location, ssl.certificate.location and "
    "ssl.key.location"
)
JVM = without_effect("names a part of the Java runtime, which this client does not have")


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class TlsKeys:
    """`security.protocol` and the keys of TLS."""

    security_protocol: Annotated[
        str,
        Key(
            Choice(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
            "Whether connections use TLS, SASL, both or neither; in this version only "
            "PLAINTEXT, and anything else is refused.",
        ),
    ] = "PLAINTEXT"
    security_providers: Annotated[
        str | None, Key(Text(), "Java security providers.", LOW, JVM)
    ] = None
    ssl_ca_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "PEM file with the authorities that may vouch for a broker.",
            HIGH,
            WITH_TLS,
            ("ssl_cafile",),
            ours=True,
        ),
    ] = None
    ssl_certificate_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "PEM file with this client's certificate and its chain.",
            HIGH,
            WITH_TLS,
            ("ssl_certfile",),
            ours=True,
        ),
    ] = None
    ssl_key_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "PEM file with this client's private key.",
            HIGH,
            WITH_TLS,
            ("ssl_keyfile",),
            ours=True,
        ),
    ] = None
    ssl_key_password: Annotated[
        Secret | None,
        Key(SecretText(), "Opens the private key.", HIGH, WITH_TLS, ("ssl_password",)),
    ] = None
    ssl_keystore_certificate_chain: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "This client's certificate and its chain as PEM text.",
            HIGH,
            WITH_TLS,
            ("ssl.certificate.pem", "ssl_certificate"),
        ),
    ] = None
    ssl_keystore_key: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "This client's private key as PEM text.",
            HIGH,
            WITH_TLS,
            ("ssl.key.pem", "ssl_key"),
        ),
    ] = None
    ssl_truststore_certificates: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "The authorities that may vouch for a broker, as PEM text.",
            HIGH,
            WITH_TLS,
            ("ssl.ca.pem", "ssl_ca"),
        ),
    ] = None
    ssl_endpoint_identification_algorithm: Annotated[
        str,
        Key(
            Choice(("https", "none"), also=(("", "none"),)),
            "Whether a broker's certificate must bear the name that was connected to.",
            LOW,
            WITH_TLS,
        ),
    ] = "https"
    ssl_protocol: Annotated[
        str,
        Key(Text(blank=False), "The newest TLS version to offer.", MEDIUM, WITH_TLS),
    ] = "TLSv1.3"
    ssl_enabled_protocols: Annotated[
        tuple[str, ...],
        Key(Names(), "The TLS versions that may be agreed on.", MEDIUM, WITH_TLS),
    ] = ("TLSv1.2", "TLSv1.3")
    ssl_cipher_suites: Annotated[
        tuple[str, ...],
        Key(
            Names(),
            "The cipher suites that may be agreed on; none named leaves it to the TLS library.",
            LOW,
            WITH_TLS,
            ("ssl_ciphers",),
        ),
    ] = ()
    ssl_keystore_location: Annotated[
        str | None, Key(Text(), "Java keystore with this client's key.", HIGH, KEYSTORE)
    ] = None
    ssl_keystore_password: Annotated[
        Secret | None, Key(SecretText(), "Opens the Java keystore.", HIGH, KEYSTORE)
    ] = None
    ssl_keystore_type: Annotated[
        str, Key(Text(), "Format of the Java keystore.", MEDIUM, KEYSTORE)
    ] = "JKS"
    ssl_truststore_location: Annotated[
        str | None, Key(Text(), "Java keystore with the authorities.", HIGH, KEYSTORE)
    ] = None
    ssl_truststore_password: Annotated[
        Secret | None, Key(SecretText(), "Opens the Java truststore.", HIGH, KEYSTORE)
    ] = None
    ssl_truststore_type: Annotated[
        str, Key(Text(), "Format of the Java truststore.", MEDIUM, KEYSTORE)
    ] = "JKS"
    ssl_provider: Annotated[
        str | None, Key(Text(), "Java security provider for TLS.", MEDIUM, JVM)
    ] = None
    ssl_keymanager_algorithm: Annotated[
        str, Key(Text(), "Java key manager's algorithm.", LOW, JVM)
    ] = "SunX509"
    ssl_trustmanager_algorithm: Annotated[
        str, Key(Text(), "Java trust manager's algorithm.", LOW, JVM)
    ] = "PKIX"
    ssl_secure_random_implementation: Annotated[
        str | None, Key(Text(), "Java's source of random numbers for TLS.", LOW, JVM)
    ] = None
    ssl_engine_factory_class: Annotated[
        None,
        Key(
            Text(),
            "Java class that makes TLS engines.",
            LOW,
            refused("a Java class cannot be loaded here; leave the key out"),
        ),
    ] = None

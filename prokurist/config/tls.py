"""The keys of the transport: `security.protocol` and `ssl.*`.

What they name is read when a client is built, and by each connection after its files have
changed; see `prokurist.security`.
"""

from typing import Annotated

from prokurist.config.key import HIGH, LOW, MEDIUM, Key, refused, without_effect
from prokurist.config.kinds import Boolean, Choice, Names, Text
from prokurist.config.secret import Secret, SecretText
from prokurist.lazy_dataclasses import dataclass

JVM = without_effect("names a part of the Java runtime, which this client does not have")


@dataclass(frozen=True, slots=True, kw_only=True, init=False, repr=False, eq=False)
class TlsKeys:
    """`security.protocol` and the keys of TLS."""

    security_protocol: Annotated[
        str,
        Key(
            Choice(("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")),
            "Whether connections use TLS, SASL, both or neither.",
        ),
    ] = "PLAINTEXT"
    security_providers: Annotated[
        str | None, Key(Text(), "Java security providers.", LOW, JVM)
    ] = None
    ssl_ca_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "PEM file, or directory as `openssl rehash` makes it, with the authorities that "
            "may vouch for a broker; none named means those of the system.",
            HIGH,
            aliases=("ssl_cafile",),
            ours=True,
        ),
    ] = None
    ssl_certificate_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "PEM file with this client's certificate and its chain.",
            HIGH,
            aliases=("ssl_certfile",),
            ours=True,
        ),
    ] = None
    ssl_key_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "PEM file with this client's private key; not needed where it stands in the file "
            "of the certificate.",
            HIGH,
            aliases=("ssl_keyfile",),
            ours=True,
        ),
    ] = None
    ssl_key_password: Annotated[
        Secret | None,
        Key(SecretText(), "Opens the private key.", HIGH, aliases=("ssl_password",)),
    ] = None
    ssl_keystore_certificate_chain: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "This client's certificate and its chain as PEM text.",
            HIGH,
            aliases=("ssl.certificate.pem", "ssl_certificate"),
        ),
    ] = None
    ssl_keystore_key: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "This client's private key as PEM text.",
            HIGH,
            aliases=("ssl.key.pem", "ssl_key"),
        ),
    ] = None
    ssl_truststore_certificates: Annotated[
        Secret | None,
        Key(
            SecretText(),
            "The authorities that may vouch for a broker, as PEM text.",
            HIGH,
            aliases=("ssl.ca.pem", "ssl_ca"),
        ),
    ] = None
    ssl_endpoint_identification_algorithm: Annotated[
        str,
        Key(
            Choice(("https", "none"), also=(("", "none"),)),
            "Whether a broker's certificate must bear the name that was connected to.",
            LOW,
        ),
    ] = "https"
    ssl_protocol: Annotated[
        str,
        Key(Text(blank=False), "The newest TLS version to offer.", MEDIUM),
    ] = "TLSv1.3"
    ssl_enabled_protocols: Annotated[
        tuple[str, ...],
        Key(Names(), "The TLS versions that may be agreed on.", MEDIUM),
    ] = ("TLSv1.2", "TLSv1.3")
    ssl_cipher_suites: Annotated[
        tuple[str, ...],
        Key(
            Names(),
            "The cipher suites of TLS 1.2 that may be agreed on, by IANA's or OpenSSL's names; "
            "TLS 1.3 is not offered then. None named leaves it to the TLS library.",
            LOW,
            aliases=("ssl_ciphers",),
        ),
    ] = ()
    ssl_crl_location: Annotated[
        str | None,
        Key(
            Text(blank=False),
            "PEM file with the revocation lists of the issuers of brokers' certificates.",
            LOW,
            aliases=("ssl_crlfile",),
            ours=True,
        ),
    ] = None
    enable_ssl_certificate_verification: Annotated[
        bool,
        Key(
            Boolean(),
            "Whether a broker's certificate is verified at all; false lets any party that can "
            "redirect packets read and answer in the broker's place.",
            LOW,
            ours=True,
        ),
    ] = True
    ssl_keystore_location: Annotated[
        str | None,
        Key(Text(), "PEM or PKCS12 file with this client's certificate and key.", HIGH),
    ] = None
    ssl_keystore_password: Annotated[
        Secret | None, Key(SecretText(), "Opens the PKCS12 keystore.", HIGH)
    ] = None
    ssl_keystore_type: Annotated[
        str,
        Key(
            Text(),
            "Format of the keystore: PEM or PKCS12; JKS means whichever of both it is.",
            MEDIUM,
        ),
    ] = "JKS"
    ssl_truststore_location: Annotated[
        str | None, Key(Text(), "PEM or PKCS12 file with the authorities.", HIGH)
    ] = None
    ssl_truststore_password: Annotated[
        Secret | None, Key(SecretText(), "Opens the PKCS12 truststore.", HIGH)
    ] = None
    ssl_truststore_type: Annotated[
        str,
        Key(
            Text(),
            "Format of the truststore: PEM or PKCS12; JKS means whichever of both it is.",
            MEDIUM,
        ),
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

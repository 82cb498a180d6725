"""Tokens with a real Kafka: delegation tokens, and those of a token endpoint with JWKS."""

import json
import re
import ssl
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from prokurist import KafkaConsumer
from prokurist.errors import SaslAuthenticationException
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.pki import Authority
from prokurist.testing.kafka.properties import QUICK_JAVA
from tests.broker.java_programs import java

PASSWORD = "s3cret"  # noqa: S105 - of the test's Kafka
SESSION = 3.0
PREFIX = "listener.name.proxied"
BEARER = "org.apache.kafka.common.security.oauthbearer"


def delegation_token(kafka: RealKafka, folder: Path) -> tuple[str, str]:
    """The id and the HMAC of a new token, by Kafka's own command."""
    login = folder / "login.properties"
    module = "org.apache.kafka.common.security.scram.ScramLoginModule"
    login.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
        f'sasl.jaas.config={module} required username="anna" password="{PASSWORD}";\n'
    )
    told = java(
        *("org.apache.kafka.tools.DelegationTokenCommand", "--create"),
        *("--bootstrap-server", kafka.bootstrap, "--max-life-time-period", "-1"),
        *("--command-config", str(login)),
    )
    found = re.search(r"^(\S{20,})\s+(\S{40,})\s+User:anna", "\n".join(told), re.MULTILINE)
    assert found, told
    return found[1], found[2]


def test_a_delegation_token(tmp_path: Path) -> None:
    """KIP-48: id and HMAC stand in for a name and a password, by key and by JAAS."""
    listener = SecuredListener(mechanisms=("SCRAM-SHA-256",), users={"anna": PASSWORD})
    secret = {"delegation.token.secret.key": "a secret of the brokers"}
    with RealKafka(security=listener, properties=secret) as kafka:
        name, code = delegation_token(kafka, tmp_path)
        topic = kafka.unique_topic()
        keys: dict[str, Any] = {
            "bootstrap.servers": kafka.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "SCRAM-SHA-256",
        }
        by_key = {"sasl.username": name, "sasl.password": code, "sasl.delegation.token": True}
        jaas = f'x.ScramLoginModule required username="{name}" password="{code}" '
        for more in (by_key, {"sasl.jaas.config": f'{jaas}tokenauth="true";'}):
            with KafkaConsumer({**keys, **more}) as consumer:
                assert consumer.partitions_for(topic, 20)
        wrong = {**by_key, "sasl.password": code[:-2] + "AA"}
        with (
            KafkaConsumer({**keys, **wrong}) as consumer,
            pytest.raises(SaslAuthenticationException, match="delegation token") as refused,
        ):
            consumer.partitions_for(topic, 20)
        assert code[:-2] not in str(refused.value)


def encoded(data: bytes) -> str:
    """Base64 for addresses, as JSON Web Tokens have it."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()


class Provider(BaseHTTPRequestHandler):
    """A token endpoint that signs, and the key to verify with."""

    key: ClassVar[rsa.RSAPrivateKey]
    issued: ClassVar[int] = 0
    audience: ClassVar[str] = "kafka"

    def do_GET(self) -> None:
        """The public key."""
        public = self.key.public_key().public_numbers()
        told = {
            "kty": "RSA",
            "kid": "k1",
            "alg": "RS256",
            "use": "sig",
            "n": encoded(public.n.to_bytes(256)),
            "e": encoded(public.e.to_bytes(3)),
        }
        self.told({"keys": [told]})

    def do_POST(self) -> None:
        """A token that lives for a minute."""
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).issued += 1
        now = int(time.time())
        claims = {"sub": "anna", "iat": now, "exp": now + 60, "iss": "us", "aud": self.audience}
        parts = [{"alg": "RS256", "kid": "k1", "typ": "JWT"}, claims]
        text = ".".join(encoded(json.dumps(part).encode()) for part in parts)
        signed = self.key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256())
        self.told({"access_token": f"{text}.{encoded(signed)}", "expires_in": 60})

    def told(self, answer: object) -> None:
        """Answer in JSON."""
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Nothing is printed."""


@pytest.fixture(params=["http", "https"])
def provider(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[str, str]]:
    """The address of a token provider, and who vouches for it."""
    Provider.key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    Provider.issued = 0
    authority = Authority(tmp_path)
    server = HTTPServer(("127.0.0.1", 0), Provider)
    if request.param == "https":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(authority.issue("provider"))
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"{request.param}://127.0.0.1:{server.server_port}", str(authority.location)
    server.shutdown()
    server.server_close()


def test_client_credentials(provider: tuple[str, str]) -> None:
    """KIP-768: an endpoint's signed token serves all connections; a wrong one is refused."""
    address, authorities = provider
    listener = SecuredListener(mechanisms=("OAUTHBEARER",), session=int(1000 * SESSION))
    validator = f"{BEARER}.OAuthBearerValidatorCallbackHandler"
    properties = {
        f"{PREFIX}.oauthbearer.sasl.server.callback.handler.class": validator,
        f"{PREFIX}.oauthbearer.sasl.jaas.config": (
            f'{BEARER}.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker" '
            f'ssl.truststore.type="PEM" ssl.truststore.location="{authorities}";'
        ),
        f"{PREFIX}.sasl.oauthbearer.jwks.endpoint.url": f"{address}/jwks",
        f"{PREFIX}.sasl.oauthbearer.expected.audience": "kafka",
        f"{PREFIX}.sasl.oauthbearer.expected.issuer": "us",
    }
    allowed = f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={address}/jwks"
    java = (*QUICK_JAVA, allowed)
    with RealKafka(security=listener, properties=properties, java_options=java) as kafka:
        topic = kafka.unique_topic()
        keys: dict[str, Any] = {
            "bootstrap.servers": kafka.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.oauthbearer.token.endpoint.url": f"{address}/token",
            "https.ca.location": authorities,
            "sasl.oauthbearer.client.credentials.client.id": "me",
            "sasl.oauthbearer.client.credentials.client.secret": PASSWORD,
        }
        with KafkaConsumer({**keys, "group.id": "g"}) as consumer:
            consumer.subscribe([topic])
            until = time.monotonic() + 2.5 * SESSION
            while time.monotonic() < until:
                consumer.poll(0.5)
            consumer.commit_sync(timeout=10)
            side = consumer._side
            assert side is not None
            counters = side.client.counters
            # Sessions were renewed with the token, which lives for longer.
            assert counters.reauthenticated.count >= 2
            assert not counters.nodes.of("0").lost
        assert Provider.issued == 1
        Provider.audience = "another"
        with (
            KafkaConsumer(keys) as consumer,
            pytest.raises(SaslAuthenticationException, match="invalid_token") as refused,
        ):
            consumer.partitions_for(topic, 20)
        assert f"{address}/token" in str(refused.value)
        Provider.audience = "kafka"

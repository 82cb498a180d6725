"""A Kafka that is secured by a configuration written by hand, as an operator writes it.

Nothing of the harness's own security is in it: one node with a listener for each way in, an
authorizer, and no user but those named here. Thread: pytest's.
"""

import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import confluent_kafka.admin

from prokurist.testing.kafka.pki import PASSWORD, Authority
from prokurist.testing.kafka.ports import free_ports
from prokurist.testing.kafka.properties import new_cluster_id
from tests.broker.java_programs import command, java

LISTENERS: Final = {
    "INTERNAL": "SASL_PLAINTEXT",
    "CONTROLLER": "SASL_PLAINTEXT",
    "SASL": "SASL_PLAINTEXT",
    "OAUTH": "SASL_PLAINTEXT",
    "TLS": "SSL",
    "TLS12": "SSL",
    "MTLS": "SSL",
    "SASLTLS": "SASL_SSL",
    "REAUTH": "SASL_SSL",
}
WITH_SCRAM: Final = ("SASL", "SASLTLS", "REAUTH")
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
ADMIN: Final = "of the admin"
ANNA: Final = "of anna"
UP_WITHIN: Final = 90.0
PKG: Final = "org.apache.kafka.common.security"
HANDLER: Final = "OAuthBearerUnsecuredValidatorCallbackHandler"

admin: Any = confluent_kafka.admin
"""Whose stubs know nothing of rules."""

COMMON: Final = """\
node.id=1
process.roles=broker,controller
controller.listener.names=CONTROLLER
inter.broker.listener.name=INTERNAL
sasl.mechanism.inter.broker.protocol=PLAIN
sasl.mechanism.controller.protocol=PLAIN
sasl.enabled.mechanisms=PLAIN
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:admin
ssl.keystore.type=PEM
ssl.truststore.type=PEM
listener.name.tls12.ssl.enabled.protocols=TLSv1.2
listener.name.mtls.ssl.client.auth=required
listener.name.mtls.ssl.principal.mapping.rules=RULE:^CN=([^,]+).*$/$1/L,DEFAULT
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
group.initial.rebalance.delay.ms=0
log.cleaner.dedupe.buffer.size=4194304
"""


class ByHand:
    """Where each listener is, and what a client needs there."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ports = dict(zip(LISTENERS, free_ports(len(LISTENERS)), strict=True))
        self.authority = Authority(folder)
        self.broker = self.authority.issue("broker")
        self.client = self.authority.issue("Anna", (), password=PASSWORD)

    def keys(
        self, listener: str, mechanism: str = "PLAIN", user: str = "anna"
    ) -> dict[str, Any]:
        """A client's configuration, which confluent-kafka takes as well."""
        protocol = LISTENERS[listener]
        keys: dict[str, Any] = {
            "bootstrap.servers": f"localhost:{self.ports[listener]}",
            "security.protocol": protocol,
        }
        if protocol.endswith("SSL"):
            keys["ssl.ca.location"] = str(self.authority.location)
        if listener == "MTLS":
            keys["ssl.certificate.location"] = keys["ssl.key.location"] = str(self.client)
            keys["ssl.key.password"] = PASSWORD
        if protocol.startswith("SASL"):
            keys["sasl.mechanism"] = mechanism
            if mechanism == "OAUTHBEARER":
                keys["sasl.oauthbearer.config"] = f"principal={user}"
                keys["enable.sasl.oauthbearer.unsecure.jwt"] = True
            else:
                keys["sasl.username"] = user
                keys["sasl.password"] = ADMIN if user == "admin" else ANNA
        return keys

    def properties(self) -> str:
        """The broker's configuration."""
        at = {name: f"{name}://localhost:{port}" for name, port in self.ports.items()}
        advertised = ",".join(each for name, each in at.items() if name != "CONTROLLER")
        plain = (
            f'{PKG}.plain.PlainLoginModule required username="admin" password="{ADMIN}" '
            f'user_admin="{ADMIN}" user_anna="{ANNA}";'
        )
        lines = [
            f"listeners={','.join(at.values())}",
            f"advertised.listeners={advertised}",
            "listener.security.protocol.map="
            + ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items()),
            f"controller.quorum.voters=1@localhost:{self.ports['CONTROLLER']}",
            f"log.dirs={self.folder / 'data'}",
            f"ssl.keystore.location={self.broker}",
            f"ssl.truststore.location={self.authority.location}",
        ]
        for name, protocol in LISTENERS.items():
            prefix = f"listener.name.{name.lower()}"
            if protocol.startswith("SASL") and name != "OAUTH":
                lines.append(f"{prefix}.plain.sasl.jaas.config={plain}")
            if name in WITH_SCRAM:
                lines.append(f"{prefix}.sasl.enabled.mechanisms=PLAIN,{','.join(SCRAM)}")
            for each in SCRAM if name in WITH_SCRAM else ():
                login = f"{PKG}.scram.ScramLoginModule required;"
                lines.append(f"{prefix}.{each.lower()}.sasl.jaas.config={login}")
        oauth = "listener.name.oauth.oauthbearer"
        handler = f"{PKG}.oauthbearer.internals.unsecured.{HANDLER}"
        login = f"{PKG}.oauthbearer.OAuthBearerLoginModule required"
        lines += [
            "listener.name.oauth.sasl.enabled.mechanisms=OAUTHBEARER",
            f'{oauth}.sasl.jaas.config={login} unsecuredLoginStringClaim_sub="broker";',
            f"{oauth}.sasl.server.callback.handler.class={handler}",
            *(
                f"listener.name.reauth.{each}.connections.max.reauth.ms=4000"
                for each in ("plain", *map(str.lower, SCRAM))
            ),
        ]
        return COMMON + "\n".join(lines) + "\n"

    def allow(self, user: str) -> None:
        """Allow the topic `open` and groups that begin with `g-`; of the rest nothing."""
        client = admin.AdminClient(self.keys("INTERNAL", user="admin") | {"log_level": 0})
        (made,) = client.create_topics([admin.NewTopic("open", 1, 1)]).values()
        (secret,) = client.create_topics([admin.NewTopic("secret", 1, 1)]).values()
        for done in (made, secret):
            if done.exception(30) is not None and "exists" not in str(done.exception()):
                raise AssertionError(done.exception())
        rights = [("TOPIC", "open", "LITERAL", each) for each in ("READ", "WRITE")]
        rights.append(("GROUP", "g-", "PREFIXED", "READ"))
        rules = [
            admin.AclBinding(
                admin.ResourceType[kind], name, admin.ResourcePatternType[pattern],
                user, "*", admin.AclOperation[operation], admin.AclPermissionType.ALLOW,
            )
            for kind, name, pattern, operation in rights
        ]  # fmt: skip
        for done in client.create_acls(rules).values():
            done.result(30)


def answers(client: Any) -> bool:
    """Whether the broker lets the administrator in, and answers."""
    try:
        client.list_topics(timeout=2)
    except confluent_kafka.KafkaException:
        return False
    return True


@contextmanager
def secured_by_hand(folder: Path) -> Iterator[ByHand]:
    """Format, start, wait for it, and stop it at the end."""
    made = ByHand(folder)
    written = folder / "server.properties"
    written.write_text(made.properties())
    users = [f"{each}=[name=anna,password={ANNA}]" for each in SCRAM]
    scram = (part for each in users for part in ("--add-scram", each))
    java(
        "kafka.tools.StorageTool", "format", "-t", new_cluster_id(), *scram, "-c", str(written)
    )
    with (folder / "output").open("wb") as output:
        broker = subprocess.Popen(
            command("kafka.Kafka", str(written), heap="-Xmx256m"),
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    try:
        client = admin.AdminClient(made.keys("INTERNAL", user="admin") | {"log_level": 0})
        until = time.monotonic() + UP_WITHIN
        while not answers(client):
            said = (folder / "output").read_text()[-3000:]
            assert broker.poll() is None, said
            assert time.monotonic() < until, said
        yield made
    finally:
        broker.kill()
        broker.wait()

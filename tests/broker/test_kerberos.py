"""GSSAPI with a KDC and a real Kafka: keys, tickets, refusals, and sessions that are renewed.

Skipped where this machine has no KDC or no package `gssapi`; docs/testing.md says how to
install both.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from prokurist import (
    KafkaConsumer,
    KafkaProducer,
    OffsetAndMetadata,
    TopicPartition,
    errors,
)
from prokurist.cli.entry import main
from prokurist.errors import SaslAuthenticationException
from prokurist.testing.kafka import RealKafka, SecuredListener
from prokurist.testing.kafka.kdc import Kdc, missing_programs
from prokurist.testing.kafka.pki import Authority
from prokurist.testing.kafka.ports import free_ports
from prokurist.testing.kafka.properties import QUICK_JAVA
from tests.broker.watching import Watch, soon

MISSING = missing_programs() + (
    [] if importlib.util.find_spec("gssapi") else ["the package gssapi"]
)

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.skipif(bool(MISSING), reason=f"no KDC here: {', '.join(MISSING)} not found"),
]

SESSION = 3.0

Keys = dict[str, Any]


class Realm:
    """A KDC, and a Kafka that trusts it, with TLS and short sessions."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.kdc = Kdc(folder / "kdc")
        self.authority = Authority(folder)
        self._made = 0

    def kafka(self) -> RealKafka:
        """The Kafka."""
        return RealKafka(
            controls=True,
            security=SecuredListener(
                certificate=self.authority.issue("broker"),
                mechanisms=("GSSAPI",),
                keytab=self.kdc.keytab("kafka/127.0.0.1"),
                session=int(SESSION * 1000),
            ),
            java_options=[
                *QUICK_JAVA,
                f"-Djava.security.krb5.conf={self.kdc.configuration}",
            ],
        )

    def user(self, life: str = "10 hours") -> tuple[str, Path]:
        """A new principal, and its keys."""
        self._made += 1
        name = f"user{self._made}"
        return name, self.kdc.keytab(name, life)


@pytest.fixture(scope="module")
def realm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Realm]:
    """One for all."""
    made = Realm(tmp_path_factory.mktemp("kerberos"))
    with made.kdc:
        yield made


@pytest.fixture(scope="module")
def kafka(realm: Realm) -> Iterator[RealKafka]:
    """One for all."""
    with realm.kafka() as started:
        yield started


@pytest.fixture
def cache(realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The ticket cache of this test, which is empty; the process knows this KDC alone."""
    location = tmp_path / "tickets"
    for name, value in realm.kdc.environment(location).items():
        monkeypatch.setenv(name, value)
    return location


@pytest.fixture
def keys(realm: Realm, kafka: RealKafka, cache: Path) -> Keys:
    """A client's configuration, which takes the ticket cache."""
    del cache
    return {
        "bootstrap.servers": kafka.bootstrap,
        "security.protocol": "SASL_SSL",
        "ssl.ca.location": str(realm.authority.location),
        "sasl.kerberos.service.name": "kafka",
    }


def with_keys(user: tuple[str, Path]) -> Keys:
    """What a client is told that has the keys of a principal."""
    return {"sasl.kerberos.principal": user[0], "sasl.kerberos.keytab": str(user[1])}


def sent(keys: Keys, topic: str, timeout: float = 30.0) -> int:
    """Send one record; returns its offset."""
    with KafkaProducer(keys) as producer:
        return producer.send(topic, b"v").result(timeout).offset


def refusal(keys: Keys) -> str:
    """What a client is told soon that is refused."""
    with KafkaConsumer(keys) as consumer, soon():
        with pytest.raises(SaslAuthenticationException) as refused:
            consumer.list_topics(60.0)
        return str(refused.value)


def test_a_group_with_keys(realm: Realm, kafka: RealKafka, keys: Keys, cache: Path) -> None:
    """B359: a group reads and commits by a keytab, and leaves the ticket cache alone."""
    topic = kafka.unique_topic()
    mine = keys | with_keys(realm.user())
    assert sent(mine, topic) == 0
    group = {"group.id": f"g-{topic}", "auto.offset.reset": "earliest"}
    with KafkaConsumer({**mine, **group}) as consumer:
        consumer.subscribe([topic])
        seen, until = 0, time.monotonic() + 30
        while seen < 1 and time.monotonic() < until:
            seen += len(consumer.poll(1))
        consumer.commit_sync(timeout=10)
        partition = TopicPartition(topic, 0)
        assert consumer.committed([partition], 10)[partition] == OffsetAndMetadata(1, "", 0)
    assert not cache.exists()


def test_keys_beside_another_ticket(
    realm: Realm, kafka: RealKafka, keys: Keys, cache: Path
) -> None:
    """A ticket of another principal in the cache is neither taken nor lost."""
    name, location = realm.user()
    realm.kdc.ticket(name, location, cache)
    before = cache.read_bytes()
    assert sent(keys | with_keys(realm.user()), kafka.unique_topic()) == 0
    assert cache.read_bytes() == before


def test_a_ticket(realm: Realm, kafka: RealKafka, keys: Keys, cache: Path) -> None:
    """Without keys the ticket cache serves, also by the principal's name; another fails."""
    name, location = realm.user()
    topic = kafka.unique_topic()
    assert "get a ticket (kinit), or give sasl.kerberos.keytab" in refusal(keys)
    realm.kdc.ticket(name, location, cache)
    assert sent(keys, topic) == 0
    assert sent(keys | {"sasl.kerberos.principal": name}, topic) == 1
    assert "stranger@" in refusal(keys | {"sasl.kerberos.principal": "stranger"})


def test_by_jaas(realm: Realm, kafka: RealKafka, keys: Keys) -> None:
    """A login as users of Java have it."""
    name, location = realm.user()
    jaas = (
        "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
        f'keyTab="{location}" principal="{name}" serviceName="kafka";'
    )
    mine = {key: value for key, value in keys.items() if "kerberos" not in key}
    assert sent({**mine, "sasl.jaas.config": jaas}, kafka.unique_topic()) == 0


def test_another_service(realm: Realm, keys: Keys) -> None:
    """The error names the service that was asked for, and the keys to turn."""
    mine = keys | with_keys(realm.user()) | {"sasl.kerberos.service.name": "kafak"}
    told = refusal(mine)
    assert "kafak@127.0.0.1" in told
    assert "check sasl.kerberos.service.name" in told


def test_an_expired_ticket(realm: Realm, kafka: RealKafka, keys: Keys, cache: Path) -> None:
    """B359: it is told at once; with a new ticket the same client goes on."""
    name, location = realm.user()
    realm.kdc.ticket(name, location, cache, "1s")
    time.sleep(2.0)
    topic = kafka.unique_topic()
    with KafkaProducer(keys) as producer:
        with soon(), pytest.raises(SaslAuthenticationException, match="renew the ticket"):
            producer.send(topic, b"v").result(60.0)
        realm.kdc.ticket(name, location, cache)
        until = time.monotonic() + 20.0
        while True:
            try:
                assert producer.send(topic, b"v").result(20.0).offset == 0
                break
            except SaslAuthenticationException:
                assert time.monotonic() < until
                time.sleep(0.2)


def test_tickets_that_expire_in_the_middle(
    realm: Realm, kafka: RealKafka, keys: Keys, cache: Path
) -> None:
    """B359: sessions are renewed by keys whose tickets live for seconds: nothing is lost."""
    topic = kafka.unique_topic()
    mine = keys | with_keys(realm.user("5 seconds")) | {"linger.ms": 0}
    with KafkaProducer(mine) as producer:
        until, count = time.monotonic() + 4 * SESSION, 0
        while time.monotonic() < until:
            producer.send(topic, b"%d" % count)
            count += 1
            time.sleep(0.01)
        producer.flush(30.0)
        side = producer._side
        assert side is not None
        counters = side.client.counters
        assert counters.reauthenticated.count >= 3
        assert not counters.nodes.of("0").lost
    assert not cache.exists()
    with KafkaConsumer({**keys, **with_keys(realm.user())}) as consumer:
        partition = TopicPartition(topic, 0)
        assert consumer.end_offsets([partition], 10)[partition] == count


def test_a_ticket_that_is_not_renewed(
    realm: Realm, kafka: RealKafka, keys: Keys, cache: Path
) -> None:
    """The session ends with its ticket: the application is told, and nothing waits for ever."""
    name, location = realm.user()
    realm.kdc.ticket(name, location, cache, "2s")
    topic = kafka.unique_topic()
    with KafkaProducer(keys) as producer:
        assert producer.send(topic, b"v").result(30.0).offset == 0
        time.sleep(SESSION + 1.0)
        with soon(), pytest.raises(SaslAuthenticationException, match="renew the ticket"):
            producer.send(topic, b"v").result(60.0)


def test_another_realm(
    realm: Realm, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ticket of a realm that the broker's does not trust is told as such."""
    del realm
    with Kdc(tmp_path / "other", "OTHER.TEST") as other:
        location = other.keytab("anna")
        for name, value in other.environment(tmp_path / "elsewhere").items():
            monkeypatch.setenv(name, value)
        told = refusal(keys | with_keys(("anna", location)))
    assert "OTHER.TEST" in told
    assert "check sasl.kerberos.service.name" in told


def test_a_broker_without_the_key(realm: Realm, keys: Keys) -> None:
    """The KDC knows a service of this name, and the broker has no key for it: that is told."""
    realm.kdc.keytab("else/127.0.0.1")
    told = refusal(keys | with_keys(realm.user()) | {"sasl.kerberos.service.name": "else"})
    assert "refused the authentication by GSSAPI" in told
    assert "else@127.0.0.1: check sasl.kerberos.service.name" in told


@pytest.mark.skipif(shutil.which("faketime") is None, reason="no program faketime here")
def test_a_clock_that_is_wrong(realm: Realm, kafka: RealKafka, keys: Keys, cache: Path) -> None:
    """A client whose clock is twenty minutes ahead is told so."""
    name, location = realm.user()
    realm.kdc.ticket(name, location, cache)
    program = (
        "import json, sys, time; from prokurist import KafkaConsumer\n"
        "with KafkaConsumer(json.loads(sys.argv[1])) as consumer:\n"
        "    consumer.list_topics(20)"
    )
    ran = subprocess.run(
        ["faketime", "-f", "+20m", sys.executable, "-c", program, json.dumps(keys)],
        env={**os.environ, "FAKETIME_DONT_FAKE_MONOTONIC": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    del kafka
    assert "SaslAuthenticationException" in ran.stderr
    assert "Clock skew too great: set the clock of this machine" in ran.stderr


def test_a_kdc_that_is_away(
    realm: Realm, keys: Keys, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is asked again until the deadline, which tells why; found, it lets a call succeed."""
    (nowhere,) = free_ports(1)
    text = realm.kdc.configuration.read_text("utf-8")
    mine, location = keys | with_keys(realm.user()), tmp_path / "krb5.conf"
    location.write_text(re.sub(r"kdc = \S+", f"kdc = 127.0.0.1:{nowhere}", text), "utf-8")
    monkeypatch.setenv("KRB5_CONFIG", str(location))
    with KafkaConsumer(mine) as consumer:
        with Watch(2.0), pytest.raises(errors.TimeoutException, match="no KDC can be"):
            consumer.list_topics(2.0)
        found = threading.Timer(1.0, lambda: location.write_text(text, "utf-8"))
        found.start()
        assert consumer.list_topics(30.0)
        found.join()


def test_a_kdc_that_is_frozen(realm: Realm, keys: Keys) -> None:
    """B359: it costs a call no more than its time, and close is at once."""
    mine = keys | with_keys(realm.user())
    realm.kdc.freeze()
    try:
        with KafkaConsumer(mine) as consumer:
            with Watch(2.0), pytest.raises(errors.TimeoutException, match="Gssapi"):
                consumer.list_topics(2.0)
            with soon():
                consumer.close(1.0)
    finally:
        realm.kdc.thaw()


def test_the_doctor_with_a_ticket(
    realm: Realm, kafka: RealKafka, keys: Keys, tmp_path: Path, capsys: Any
) -> None:
    """`prokurist doctor` takes GSSAPI as a step of its own, accepted and refused."""
    file = tmp_path / "client.properties"
    for mine, code in ((keys | with_keys(realm.user()), 0), (keys, 1)):
        file.write_text("".join(f"{key}={value}\n" for key, value in mine.items()))
        assert main(["doctor", "-b", kafka.bootstrap, "-F", str(file)]) == code
        said = capsys.readouterr().out
        (line,) = [each for each in said.splitlines() if " SASL " in each]
        assert line.startswith("ok" if code == 0 else "failed"), said

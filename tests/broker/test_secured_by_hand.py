"""A Kafka secured by hand, not by our fixture: each way in, and what its users may not do."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from prokurist import KafkaConsumer, KafkaProducer, errors
from prokurist.cli.entry import main
from tests.broker.secured_by_hand import ByHand, secured_by_hand
from tests.broker.watching import soon

pytestmark = pytest.mark.kafka

WAYS = [
    ("SASL", "PLAIN", "User:anna"),
    ("SASL", "SCRAM-SHA-256", "User:anna"),
    ("OAUTH", "OAUTHBEARER", "User:anna"),
    ("TLS", "", "User:ANONYMOUS"),
    ("TLS12", "", "User:ANONYMOUS"),
    ("MTLS", "", "User:anna"),
    ("SASLTLS", "PLAIN", "User:anna"),
    ("SASLTLS", "SCRAM-SHA-512", "User:anna"),
    ("REAUTH", "SCRAM-SHA-256", "User:anna"),
]


@pytest.fixture(scope="module")
def kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ByHand]:
    """The node, where anna and those without a name have the same rights."""
    with secured_by_hand(tmp_path_factory.mktemp("by-hand")) as made:
        for user in ("User:anna", "User:ANONYMOUS"):
            made.allow(user)
        yield made


@pytest.mark.parametrize(("listener", "mechanism", "user"), WAYS)
def test_each_way_in(kafka: ByHand, listener: str, mechanism: str, user: str) -> None:
    """B258, B262: write, read in a group, commit; and what is not allowed is told by name."""
    del user
    keys, name = kafka.keys(listener, mechanism), f"g-{listener}-{mechanism}"
    with KafkaProducer(keys) as producer:
        where = producer.send("open", name.encode()).result(30.0)
        with soon(), pytest.raises(errors.TopicAuthorizationException) as refused:
            producer.send("secret", b"v").result(60.0)
        assert refused.value.topics == ("secret",)
    with KafkaConsumer(keys, group_id=name, auto_offset_reset="earliest") as consumer:
        consumer.subscribe("open")
        read = [consumer.next(30.0) for _ in range(where.offset + 1)]
        assert read[-1] is not None
        assert read[-1].value == name.encode()
        consumer.commit_sync(timeout=20.0)
        with soon(), pytest.raises(errors.TopicAuthorizationException, match="secret"):
            consumer.partitions_for("secret", 60.0)
    with KafkaConsumer(keys, group_id="another") as consumer:
        consumer.subscribe("open")
        with soon(), pytest.raises(errors.GroupAuthorizationException, match="another"):
            consumer.poll(60.0)


@pytest.mark.parametrize(("listener", "mechanism", "user"), [WAYS[1], WAYS[5], WAYS[7]])
def test_the_doctor_there(
    kafka: ByHand,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    listener: str,
    mechanism: str,
    user: str,
) -> None:
    """It names the user as far as a client knows, and what is missing."""
    keys = kafka.keys(listener, mechanism)
    where = keys.pop("bootstrap.servers")
    file = tmp_path / "client.properties"
    file.write_text("".join(f"{key}={value}\n" for key, value in keys.items()))
    options = ["doctor", "-b", where, "-F", str(file)]
    assert main([*options, "-t", "open", "-G", "g-doctor"]) == 0
    known = "the subject of its certificate" if listener == "MTLS" else user
    told = f"{known} may read and write open; join and commit in group g-doctor"
    assert told in capsys.readouterr().out
    assert main([*options, "-t", "secret", "-G", "another"]) == 1
    said = capsys.readouterr().out
    assert f"{known} may not see secret; not see group another" in said
    assert "--operation Read --topic secret --group another" in said

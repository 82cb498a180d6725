"""The cluster model says about groups what a real Kafka says, word for word.

Known not to agree, and left out: a classic member that joins a group of the other
protocol beside its members (a real broker may take it in, the model never does); who
of several leads when the leader has gone, which is chance in a real broker.
"""

import uuid
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta

import pytest

from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster import GroupSettings
from prokurist.testing.kafka import RealKafka
from tests.broker.group_scripts import CLASSIC, CONSUMER, PARTITIONS
from tests.broker.requests_by_hand import Talker
from tests.unit.testing.cluster.scene import Facts, Scene

pytestmark = pytest.mark.kafka

SETTINGS = GroupSettings(min_session_timeout=0.1, max_size=3)
AT_ONCE = {
    "group.consumer.assignment.interval.ms": "0",
    "group.consumer.assignor.offload.enable": "false",
    "group.consumer.max.size": "3",
    "group.consumer.session.timeout.ms": "60000",
}
"""A real broker puts off assignments by a second, which would be a wait and no fact."""
PATIENCE = timedelta(seconds=60)
"""No member is out because a script takes its time, on a machine with much else to do."""

Script = Callable[[Scene], None]


def told_by(bootstrap: str, script: Script) -> Facts:
    """What a broker says when a script is played to it."""
    name = f"{script.__name__}-{uuid.uuid4().hex[:8]}"
    with closing(Talker(bootstrap)) as talker:
        topic = {"name": name, "num_partitions": PARTITIONS, "replication_factor": 1}
        created = talker.ask(
            "me", "CreateTopics", 7, topics=[topic], timeout=timedelta(seconds=5)
        )
        assert created.topics[0].error_code == 0
        # A new broker first makes the topic that offsets are kept in, and reads it.
        while talker.ask("me", "FindCoordinator", 3, key=name, key_type=0).error_code:
            pass
        group = {"group_id": name, "member_id": None, "member_epoch": -1, "topics": None}
        while talker.ask("me", "OffsetFetch", 9, groups=[group]).groups[0].error_code:
            pass
        if script in CONSUMER:
            # The coordinator hears of the topic a moment later than who answers Metadata.
            first = Scene(talker, f"{name}-first", name, PATIENCE)
            while first.facts[-1:] != [(0, "m", 2, [0, 1, 2, 3])]:
                first.hb("m", 0)
                first.hb("m", -1)
                first.facts.pop()
                first.group += "+"
        scene = Scene(talker, name, name, PATIENCE)
        script(scene)
        return scene.facts


def told_by_the_model(script: Script) -> Facts:
    """The same from a model."""
    with EmbeddedBroker(groups=SETTINGS) as broker:
        return told_by(broker.bootstrap, script)


@pytest.mark.parametrize("script", CLASSIC, ids=lambda script: script.__name__)
def test_classic_groups(prokurist_kafka: RealKafka, script: Script) -> None:
    """JoinGroup, SyncGroup, Heartbeat, LeaveGroup, and commits between them."""
    assert told_by_the_model(script) == told_by(prokurist_kafka.direct_bootstrap, script)


@pytest.mark.prokurist_broker(properties=AT_ONCE)
def test_groups_of_the_consumer_protocol(prokurist_own_kafka: RealKafka) -> None:
    """Heartbeats, epochs and who may have what when; commits in which epochs."""
    for script in CONSUMER:
        real = told_by(prokurist_own_kafka.direct_bootstrap, script)
        assert told_by_the_model(script) == real, script.__name__

"""B191: what a constructor that fails has opened is closed again.

That nothing is left is what the fixture of every test looks for: threads and sockets;
pipes and selectors are counted here.
"""

import gc
import os
import selectors
import subprocess
import sys
import threading
from typing import NoReturn

import psutil
import pytest

from prokurist import KafkaConsumer, errors
from prokurist.config import ConsumerConfig
from prokurist.consumer.auto_commit import AutoCommitter
from prokurist.events.mailbox import Mailbox
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.io import selector
from prokurist.network_thread.io.pure_watch import PureWatch
from prokurist.network_thread.io.wakeup import Wakeup

NOWHERE = "127.0.0.1:1"


def descriptors() -> int:
    """How many this process has open, once unreferenced ones are gone."""
    gc.collect()
    return psutil.Process().num_fds()


def too_many(*_: object, **__: object) -> NoReturn:
    """What the system says when a process has opened all it may."""
    raise OSError(24, "Too many open files")


def fails(*_: object, **__: object) -> None:
    """Something that the system refuses."""
    raise RuntimeError("no more of these")


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        (threading.Thread, "start"),
        (NetworkClient, "__init__"),
        (Mailbox, "__init__"),
        (AutoCommitter, "__init__"),
        (ConsumerConfig, "__init__"),
    ],
    ids=lambda each: each if isinstance(each, str) else each.__name__,
)
def test_a_failure_on_the_way_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, owner: type, name: str
) -> None:
    """B191: raised as it is, regardless of what was open by then."""
    monkeypatch.setattr(owner, name, fails)
    with pytest.raises(RuntimeError, match="no more"):
        KafkaConsumer(bootstrap_servers="127.0.0.1:1", group_id="g")


def test_a_bad_configuration_opens_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """B191: not even the sockets by which threads wake each other."""
    monkeypatch.setattr(Wakeup, "__init__", fails)
    with pytest.raises(errors.ConfigException):
        KafkaConsumer(bootstrap_servers="127.0.0.1:1", group_id=" ")


@pytest.mark.parametrize(
    ("owner", "name"),
    [
        pytest.param(os, "pipe", id="pipe"),
        pytest.param(selectors, "DefaultSelector", id="selector"),
        pytest.param(selectors.DefaultSelector, "register", id="register"),
    ],
)
def test_no_descriptor_is_left_of_a_constructor_that_failed(
    monkeypatch: pytest.MonkeyPatch,
    owner: object,
    name: str,
) -> None:
    """B191: what the system said is raised; no thread, no descriptor stays."""
    # The native watch opens nothing of its own: here it is the pure one's turn.
    monkeypatch.setattr(selector, "best_watch", lambda: PureWatch)
    with KafkaConsumer(bootstrap_servers=NOWHERE):
        pass
    before, threads = descriptors(), set(threading.enumerate())
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, too_many)
        for _ in range(3):
            with pytest.raises(OSError, match="Too many"):
                KafkaConsumer(bootstrap_servers=NOWHERE)
    assert descriptors() == before
    assert set(threading.enumerate()) == threads


def test_the_network_thread_imports_nothing() -> None:
    """An import holds the interpreter, and a poll that waits is late for it."""
    code = """
import sys, threading
from prokurist import KafkaConsumer
from prokurist.testing.broker import EmbeddedBroker
from prokurist.types import OffsetAndMetadata, TopicPartition

imported = []


class Looker:
    def find_spec(self, name, path=None, target=None):
        if threading.current_thread().name.endswith("-network"):
            imported.append(name)


with EmbeddedBroker(topics={"t": 1}) as broker:
    for protocol in ("classic", "consumer"):
        with KafkaConsumer(
            bootstrap_servers=broker.bootstrap, group_id=protocol, group_protocol=protocol
        ) as consumer:
            sys.meta_path.insert(0, Looker())
            consumer.subscribe(["t"])
            while not consumer.assignment():
                consumer.poll(0.1)
            consumer.commit_sync({TopicPartition("t", 0): OffsetAndMetadata(0)})
            consumer.end_offsets([TopicPartition("t", 0)])
            consumer.list_topics()
print(imported)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"

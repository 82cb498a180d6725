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
from prokurist.network_thread.client import NetworkClient
from prokurist.network_thread.io import selector
from prokurist.network_thread.io.pure_watch import PureWatch
from prokurist.network_thread.io.wakeup import Wakeup

NOWHERE = "127.0.0.1:1"


def descriptors() -> int:
    """How many this process has open, once what nobody refers to is gone."""
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
    """B191: raised as it is, whatever was open by then."""
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


def test_what_is_costly_to_import_is_there_before_the_thread_runs() -> None:
    """Else the thread would import it while the first poll waits, holding the interpreter."""
    code = f"""
import sys
from prokurist import ConsumerConfig
from prokurist.assembly import system_machinery
from prokurist.events.clock import MonotonicClock
before = "kio.serial" in sys.modules
machinery = system_machinery(
    ConsumerConfig({{"bootstrap.servers": "{NOWHERE}"}}), MonotonicClock()
)
print(before, "kio.serial" in sys.modules)
machinery.thread.abandon()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["False", "True"]

"""The public configurations as values."""

import copy
import dataclasses
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from prokurist.config import ConsumerConfig, ProducerConfig

Build = Callable[[Mapping[str, object]], ConsumerConfig]


def test_shows_what_was_given(consumer: Build) -> None:
    """The repr is one line with the keys that were set, and no defaults."""
    config = consumer(
        {"group_id": "billing", "auto.offset.reset": "end", "value.deserializer": json.loads}
    )
    assert repr(config) == (
        "ConsumerConfig(bootstrap.servers=[kafka1:9092], "
        f"value.deserializer={json.loads!r}, group.id='billing', "
        "auto.offset.reset=OffsetReset(kind='latest', duration=None))"
    )
    assert repr(ProducerConfig(bootstrap_servers="[::1]:1", acks=-1)) == (
        "ProducerConfig(bootstrap.servers=[[::1]:1], acks='all')"
    )


def test_is_frozen(consumer: Build) -> None:
    """Nothing can be changed after it was checked, and nothing added."""
    config: Any = consumer({})
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.group_id = "other"
    assert not hasattr(config, "__dict__")


def test_compares_by_value(consumer: Build) -> None:
    """Two configurations with the same values are equal, and can be keys."""
    assert consumer({"max_poll_records": "5"}) == consumer({"max.poll.records": 5})
    assert hash(consumer({})) == hash(consumer({}))
    assert consumer({}) != consumer({"max.poll.records": 5})


def test_travels(consumer: Build) -> None:
    """A configuration pickles and copies whole, callables by their names."""
    config = consumer({"group.id": "g", "value.deserializer": json.loads})
    assert pickle.loads(pickle.dumps(config)) == config
    assert copy.deepcopy(config) == config


def test_importing_computes_nothing() -> None:
    """The table is read from the classes on first use, and typing help is not loaded."""
    program = (
        "import sys, prokurist.config, prokurist.config.table as t;"
        "print(t.table.cache_info().currsize, 'prokurist.config.typed' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["0", "False"]

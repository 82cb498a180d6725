"""KIP-19's migration plan for the producer's old keys."""

from collections.abc import Callable, Mapping

import pytest

from prokurist.config import ProducerConfig
from prokurist.config.kinds import LONG_MAX
from prokurist.errors import ConfigException

Build = Callable[[Mapping[str, object]], ProducerConfig]


@pytest.mark.parametrize(
    ("keys", "request_timeout", "max_block", "text"),
    [
        ({"timeout.ms": 7}, 7, 60_000, "overrides request.timeout.ms with 7"),
        ({"timeout_ms": "7", "request.timeout.ms": 8}, 7, 60_000, "overrides"),
        ({"metadata.fetch.timeout.ms": 7}, 30_000, 7, "overrides max.block.ms with 7"),
        ({"metadata.fetch.timeout.ms": 7, "max.block.ms": 8}, 30_000, 7, "overrides"),
        ({"block.on.buffer.full": True}, 30_000, LONG_MAX, "never"),
        ({"block.on.buffer.full": "true", "max.block.ms": 8}, 30_000, LONG_MAX, "never"),
        (
            {"metadata.fetch.timeout.ms": 7, "block.on.buffer.full": True},
            30_000,
            LONG_MAX,
            "metadata.fetch.timeout.ms is not honoured.*give max.block.ms instead",
        ),
        ({"block.on.buffer.full": False}, 30_000, 60_000, "changes nothing"),
        ({"block.on.buffer.full": False, "max.block.ms": 8}, 30_000, 8, "changes nothing"),
        (
            {"block.on.buffer.full": False, "metadata.fetch.timeout.ms": 7},
            30_000,
            7,
            "overrides max.block.ms with 7",
        ),
    ],
)
def test_mapping_and_precedence(
    producer: Build,
    keys: Mapping[str, object],
    request_timeout: int,
    max_block: int,
    text: str,
) -> None:
    """Each old key overrides what the KIP says, in its precedence, and says so once."""
    with pytest.warns(DeprecationWarning, match=text) as caught:
        config = producer(keys)
    assert len(caught) == 1
    assert caught[0].filename.endswith("conftest.py")
    assert config.request_timeout_ms == request_timeout
    assert config.max_block_ms == max_block


def test_what_is_overridden_counts_as_given(producer: Build) -> None:
    """Checks between keys see the migrated value as the user's own."""
    with pytest.warns(DeprecationWarning, match="KIP-19 replaced"):
        config = producer({"timeout.ms": 7})
    assert config.given == {"bootstrap.servers", "request.timeout.ms"}


@pytest.mark.parametrize(
    "keys",
    [
        {"timeout.ms": -1},
        {"metadata.fetch.timeout.ms": None},
        {"block.on.buffer.full": "maybe"},
        {"timeout.ms": 1, "timeout_ms": 2},
    ],
)
def test_old_keys_are_checked_too(producer: Build, keys: Mapping[str, object]) -> None:
    """A bad value is an error for old and new keys."""
    with pytest.raises(ConfigException):
        producer(keys)

"""Builders of configurations that are good but for what a test puts into them."""

from collections.abc import Callable, Mapping

import pytest

from prokurist.config import ConsumerConfig, ProducerConfig


@pytest.fixture
def consumer() -> Callable[[Mapping[str, object]], ConsumerConfig]:
    """Build a consumer's configuration with a broker named."""

    def build(keys: Mapping[str, object]) -> ConsumerConfig:
        return ConsumerConfig({"bootstrap.servers": "kafka1:9092", **keys})

    return build


@pytest.fixture
def producer() -> Callable[[Mapping[str, object]], ProducerConfig]:
    """Build a producer's configuration with a broker named."""

    def build(keys: Mapping[str, object]) -> ProducerConfig:
        return ProducerConfig({"bootstrap.servers": "kafka1:9092", **keys})

    return build

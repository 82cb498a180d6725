"""Random sequences of requests are answered by the model as by real brokers."""

import pytest

from tests.conformance.random_sequences import left_of
from tests.conformance.stage import Pair
from tests.conformance.test_scenarios import report

pytestmark = pytest.mark.kafka

SEEDS = range(1, 16)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_random_sequence(pair: Pair, version: str, seed: int) -> None:
    """The sequence of a seed; `make conformance SEED=… COUNT=1` plays it alone."""
    found = left_of(pair, version, seed)
    assert not found, f"seed {seed}: {report(found)}"

"""Clients that something wants to pickle, as a process pool or Spark does, or to copy."""

import copy
import pickle
from collections.abc import Callable

import pytest

from prokurist import KafkaConsumer, KafkaProducer


@pytest.mark.parametrize("kind", [KafkaConsumer, KafkaProducer])
@pytest.mark.parametrize("way", [pickle.dumps, copy.copy, copy.deepcopy])
def test_a_client_is_of_its_process(
    kind: type[KafkaConsumer | KafkaProducer], way: Callable[[object], object]
) -> None:
    """A TypeError says where to build one, instead of naming a lock inside."""
    with (
        kind(bootstrap_servers="localhost:1") as client,
        pytest.raises(TypeError, match=rf"a {kind.__name__} cannot .* build one in"),
    ):
        way(client)

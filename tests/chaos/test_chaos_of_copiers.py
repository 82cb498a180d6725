"""Half a minute of `make chaos-transactions`."""

import pytest

from prokurist.testing.kafka import RealKafka
from tests.chaos.chaos import PROPERTIES
from tests.chaos.chaos_of_copiers import PROTOCOLS, run


@pytest.mark.kafka
@pytest.mark.slow
@pytest.mark.minutes
@pytest.mark.timeout(600)
@pytest.mark.prokurist_broker(properties=PROPERTIES)
def test_copiers_in_trouble(prokurist_own_cluster: RealKafka) -> None:
    """B557, B558: each record is copied once, by both protocols of groups.

    So three clients see it, though other processes take transactional ids in between.
    """
    outcome = run(prokurist_own_cluster, 3, 30.0)
    assert not outcome.wrongs, outcome.summary()
    assert set(outcome.verdicts) == set(PROTOCOLS)
    for verdict in outcome.verdicts.values():
        assert verdict.counts["records"] > 1000
    taken = [each.counts["ids taken by a rival"] for each in outcome.verdicts.values()]
    assert sum(taken) > 0
    assert "nothing was wrong" in outcome.summary()

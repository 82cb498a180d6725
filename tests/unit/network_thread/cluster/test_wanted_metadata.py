"""When metadata are asked for again."""

from prokurist.events.backoff import Backoff
from prokurist.network_thread.cluster.topic_interest import TopicInterest
from prokurist.network_thread.cluster.wanted_metadata import WantedMetadata
from prokurist.network_thread.operations.timer import Timer


def test_brokers_that_contradict_each_other_are_asked_ever_more_rarely() -> None:
    """Each answer is another than the last; once they agree the first pause is short again."""
    timer = Timer(0.0)
    interest = TopicInterest()
    interest.add(lambda: frozenset({"orders"}))
    wanted = WantedMetadata(interest, timer, Backoff(0.1, 1.0, lambda: 0.5))

    def answered(*, disputed: bool) -> float:
        """Ask, and how long nothing is asked after an answer that is news."""
        timer.now = max(timer.now, wanted.quiet_until)
        wanted.begin()
        wanted.names()
        wanted.answered(same=False, again=False)
        for _ in range(2 * disputed):  # By whatever is compared with the answer.
            wanted.dispute()
        assert wanted.all == disputed
        return round(wanted.quiet_until - timer.now, 3)

    pauses = [answered(disputed=True) for _ in range(6)]
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert answered(disputed=False) == 0.0
    assert answered(disputed=True) == 0.1

"""`roundrobin`: all partitions of all topics are dealt out like cards.

Where all members subscribe to the same topics, no member has more than one more than
another.

Thread: either.
"""

from collections.abc import Sequence
from itertools import cycle

from prokurist.assignors.assignor import Member, Parts, Topics, in_order, subscribers
from prokurist.types import TopicPartition


class RoundRobinAssignor:
    """Kafka's `roundrobin` assignor."""

    name: str = "roundrobin"
    cooperative: bool = False

    def user_data(self, topics: Sequence[str]) -> bytes | None:  # noqa: ARG002
        """Nothing; see `Assignor.user_data`."""
        return None

    def assign(self, topics: Topics, members: Sequence[Member]) -> Parts:
        """See `Assignor.assign`."""
        parts: Parts = {each.member_id: [] for each in members}
        circle = cycle(in_order(members))
        for topic in subscribers(topics, members):
            for number in sorted(each.partition for each in topics[topic]):
                # A member has subscribed to it, so the search ends.
                reader = next(each for each in circle if topic in each.topics)
                parts[reader.member_id].append(TopicPartition(topic, number))
        return parts

    def assigned(self, partitions: Sequence[TopicPartition], generation: int) -> None:
        """Nothing to remember; see `Assignor.assigned`."""

"""Watches topics for changes that make a classic group rebalance.

Thread: the network thread alone.

Beside the matches of a pattern these are the topics of the leader's assignment, which was made
for their numbers of partitions. The leader watches the topics of all members as long as the
assignment holds, and asks for another round when a number has changed: no other member does
(topics that appear or go included). A move of replicas between racks is no reason: a broker
that is away for a moment would be one.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack

from prokurist.errors import KafkaException
from prokurist.events.assigned import AnyAssigned
from prokurist.events.call import Call
from prokurist.events.cluster import Cluster
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.cluster.topic_interest import can_be_sent
from prokurist.network_thread.membership.classic.leader_assignment import counts_of
from prokurist.network_thread.membership.patterns import Patterns
from prokurist.network_thread.operations.operation import Withdrawn
from prokurist.types import counted


class ClassicTopics(Patterns):
    """The topics that a classic member watches, and why it has to rejoin.

    Args:
        assigned: The assigned partitions.
        metadata: Knows the topics.
        internal: True if patterns match internal topics too.
    """

    def __init__(
        self, assigned: AnyAssigned, metadata: MetadataManager, *, internal: bool
    ) -> None:
        super().__init__(assigned, metadata, internal=internal)
        self._tracking = ExitStack()
        self._rests_on: Mapping[str, int] = {}

    async def of_all_members(self, call: Call, topics: Iterable[str]) -> Cluster:
        """The topics of all members, watched from now on."""
        self.rest()
        own = self.subscribed
        wanted = [each for each in topics if can_be_sent(each)]
        # What is wrong with our own is told to the next poll; theirs is their business.
        interest = self._metadata.interest
        self._tracking.enter_context(
            interest.tracking(each for each in wanted if each not in own)
        )
        if any(each not in self._metadata.cluster.topics for each in wanted):
            try:
                await self._metadata.refreshed(call, "the topics of the group")
            except Withdrawn:
                raise
            except KafkaException as error:
                call.met(error)  # The others wait: what is known has to do.
        self._rests_on = counts_of(self._metadata.cluster, wanted)
        return self._metadata.cluster

    def news(self, joined_as: frozenset[str]) -> str | None:
        """Return the reason for a rebalance; None without one.

        Args:
            joined_as: The topics in the last JoinGroup.
        """
        if self._assigned.subscribed is None:
            return None
        if not self.is_matched:
            # Not matched here: the snapshot at hand may be as old as metadata.max.age.ms, and
            # the round that begins asks for another.
            return "another pattern is subscribed to"
        self.look_again()
        if self.subscribed != joined_as:
            return "other topics are subscribed to"
        now = counts_of(self._metadata.cluster, self._rests_on)
        changed = sorted(each for each, count in self._rests_on.items() if now[each] != count)
        if changed:
            return f"{changed[0]} has {counted(now[changed[0]], 'partition')} by now"
        return None

    def rest(self) -> None:
        """Stop watching the topics of other members."""
        self._tracking.close()
        self._rests_on = {}

    def stop(self) -> None:
        """Stop watching topics."""
        self.rest()
        super().stop()

    def __repr__(self) -> str:
        return f"ClassicTopics({len(self._rests_on)} rested on)"

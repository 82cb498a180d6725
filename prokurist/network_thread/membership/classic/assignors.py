"""Assignors of one member of a classic group, in its order of preference.

Thread: the network thread alone. Kafka's own assignors run here; a user's run on the
application thread, as steps of its next poll, like all of the user's code. An error there, or a
senseless answer, is fatal to the membership.

Members with cooperative assignors only keep their partitions during a rebalance; one that knows
an eager one, too, gives up everything before each (KIP-429), because the group has not chosen
yet.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

from prokurist.assignors import encoding
from prokurist.assignors.assignor import Assignor, Member, Topics
from prokurist.assignors.named import NAMED
from prokurist.errors import ConfigException, InconsistentGroupProtocolException, KafkaException
from prokurist.network_thread.membership.application_steps import ApplicationSteps
from prokurist.network_thread.membership.classic.leader_assignment import checked
from prokurist.network_thread.wire.translation import said
from prokurist.types import TopicPartition

KEY: Final = "partition.assignment.strategy"
SHAPE: Final = ("name", "cooperative", "user_data", "assign", "assigned")


class ClassicAssignors:
    """The assignors of a classic member, in the order of preference that JoinGroup sends.

    Args:
        configured: `partition.assignment.strategy`: names and objects.
        steps: Run the user's own assignors.

    Attributes:
        cooperative: True if the member keeps its partitions during a rebalance.

    Raises:
        ConfigException: An object is no assignor, or two have one name.
    """

    def __init__(self, configured: Sequence[str | object], steps: ApplicationSteps) -> None:
        self._steps = steps
        self._built_in: frozenset[str] = frozenset(
            each for each in configured if isinstance(each, str)
        )
        self._assignors: dict[str, Assignor] = {}
        for each in configured:
            assignor = NAMED[each]() if isinstance(each, str) else assignor_in(each)
            if assignor.name in self._assignors:
                raise ConfigException(
                    f"{KEY} has two assignors of the name {assignor.name!r}: the group tells "
                    f"them apart by their names"
                )
            self._assignors[assignor.name] = assignor
        self.cooperative: bool = all(each.cooperative for each in self._assignors.values())

    async def protocols(self, member: Member) -> tuple[tuple[str, bytes], ...]:
        """The protocols of JoinGroup: each assignor's name with the subscription.

        Raises:
            KafkaException: A user's own assignor has failed.
        """
        told: list[tuple[str, bytes]] = []
        for name, assignor in self._assignors.items():
            data = await self._run(
                name, "user_data", partial(assignor.user_data, member.topics)
            )
            if data is not None and not isinstance(data, bytes):
                raise KafkaException(
                    f"assignor {name!r} of {KEY} has {data!r:.100} for user_data, which is to "
                    f"be bytes or None"
                )
            each = Member(
                member.member_id,
                member.topics,
                member.instance_id,
                member.rack,
                member.owned,
                member.generation,
                data,
            )
            told.append((name, encoding.subscription(each)))
        return tuple(told)

    async def assign(
        self, name: str, topics: Topics, members: Sequence[Member]
    ) -> dict[str, tuple[TopicPartition, ...]]:
        """Assign all partitions, as the group's leader.

        Raises:
            KafkaException: The group has chosen an assignor that we do not know, or a
                user's own has failed, or its answer makes no sense.
        """
        assignor = self.chosen(name)
        parts = await self._run(name, "assign", partial(assignor.assign, topics, members))
        return checked(name, parts, members, topics, cooperative=assignor.cooperative)

    async def assigned(
        self, name: str, partitions: Sequence[TopicPartition], generation: int
    ) -> None:
        """Tell the assignor of this member's assignment.

        Raises:
            KafkaException: A user's own assignor has failed.
        """
        assignor = self.chosen(name)
        await self._run(name, "assigned", partial(assignor.assigned, partitions, generation))

    def chosen(self, name: str | None) -> Assignor:
        """The assignor that the group has chosen.

        Raises:
            InconsistentGroupProtocolException: It is none of ours.
        """
        assignor = self._assignors.get(name or "")
        if assignor is None:
            raise InconsistentGroupProtocolException(
                f"the group uses assignor {said(name)!r}, which is none of {KEY} "
                f"({', '.join(self._assignors)}): add it there"
            )
        return assignor

    async def _run(self, name: str, what: str, work: Callable[[], Any]) -> Any:
        """Call a method of an assignor on its thread.

        Raises:
            KafkaException: It raised the error in the cause.
        """
        if name in self._built_in:
            return work()
        done = await self._steps.run(work)
        if done.error is None:
            return done.answer
        failed = KafkaException(
            f"assignor {name!r} of {KEY} raised {type(done.error).__name__} in {what}: "
            f"{done.error}; this consumer has left the group, so that another can lead it"
        )
        failed.__cause__ = done.error
        raise failed

    def __repr__(self) -> str:
        kind = "cooperative" if self.cooperative else "eager"
        return f"ClassicAssignors({', '.join(self._assignors)}; {kind})"


def assignor_in(given: Any) -> Assignor:
    """Check that a user's object has the methods of an assignor.

    Raises:
        ConfigException: It has not.
    """
    missing = [each for each in SHAPE if not hasattr(given, each)]
    if isinstance(given, type) or missing or not isinstance(given.name, str) or not given.name:
        what = (
            "it is a class, not an object"
            if isinstance(given, type)
            else (f"it has no {', '.join(missing)}" if missing else "its name is no text")
        )
        raise ConfigException(
            f"{KEY} holds {given!r:.100}, which is no assignor: {what}; see "
            f"prokurist.assignors.assignor.Assignor"
        )
    if given.name in NAMED:
        raise ConfigException(
            f"{KEY} holds an assignor of the name {given.name!r}, which is Kafka's own: other "
            f"members would take it for that"
        )
    assignor: Assignor = given
    return assignor

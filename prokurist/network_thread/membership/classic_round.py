"""One rebalance of a classic member: from revoking partitions to taking the assigned ones.

Thread: the network thread alone. It is read from top to bottom, and every way out of it
is an exception at one of its `await`s:

    prepare ─► join ─► sync ─► take
                ▲ └─┘   │
                └───────┘  (the group has begun another round meanwhile)

Cooperative members may have to give up some partitions in `take`; then another round follows,
in which the leader assigns those. The others have given up everything in `prepare`, which
therefore only begins inside a poll.
"""

from typing import Final, Protocol

from prokurist.assignors import encoding
from prokurist.assignors.assignor import Member
from prokurist.errors import InconsistentGroupProtocolException, KafkaException
from prokurist.events.call import Call
from prokurist.events.clock import NEVER
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.membership.classic_assignors import ClassicAssignors
from prokurist.network_thread.membership.classic_exchange import (
    ClassicExchange,
    MemberGeneration,
)
from prokurist.network_thread.membership.classic_state import ClassicState
from prokurist.network_thread.membership.classic_topics import ClassicTopics
from prokurist.network_thread.membership.context import MembershipContext
from prokurist.network_thread.membership.leader_assignment import (
    encoded,
    members_of,
    partitions_of,
    topics_of,
)
from prokurist.network_thread.wire.classic_group import JoinGroupAnswer
from prokurist.types import TopicPartition, counted

PAUSE: Final = "rebalance backoff"

AT_ONCE: Final = 2
"""Most rounds in a row without a pause: one gives partitions up, the next assigns them."""


class Place(Protocol):
    """Interface of the member, for its rounds."""

    who: MemberGeneration

    def move(self, state: ClassicState) -> None:
        """Set the state that the round has come to."""
        ...

    def asking(self) -> None:
        """Stop heartbeats and commits: JoinGroup is about to be sent."""
        ...

    def let_in(self, who: MemberGeneration) -> None:
        """Take the member id and the generation of JoinGroup's answer."""
        ...

    def counted(self) -> None:
        """Allow commits in the new generation: SyncGroup was answered."""
        ...

    def put_out(self, *, forget: bool) -> None:
        """Forget the generation: fenced; with `forget`, the member id too."""
        ...


class ClassicRound:
    """One rebalance of a classic member, as one operation.

    Args:
        place: The member's.
        context: Context of the membership.
        exchange: To speak with the coordinator.
        strategies: The member's assignors.
        topics: Topics it has an eye on.

    Attributes:
        joined_as: The topics in its last JoinGroup.
    """

    def __init__(
        self,
        place: Place,
        context: MembershipContext,
        exchange: ClassicExchange,
        strategies: ClassicAssignors,
        topics: ClassicTopics,
    ) -> None:
        self._place = place
        self._exchange = exchange
        self._strategies = strategies
        self._topics = topics
        self._subscription = context.subscription
        self._transitions = context.transitions
        self._timer = context.timer
        self._attempts = context.attempts
        self._rack = context.rack
        self._is_static = context.instance_id is not None
        self._trace = context.client.trace
        self._generation = -1
        self.joined_as: frozenset[str] = frozenset()

    async def run(self, reason: str, *, lost: bool) -> None:
        """Repeat rounds until no partition is left to be revoked.

        Args:
            reason: For the broker's log.
            lost: True if other members may own the partitions already.

        Raises:
            KafkaException: It is fatal to the membership.
        """
        subscribed = self._subscription.subscribed
        if subscribed is None:
            return
        # By hand, as all loops here: a round is several requests with the user's code between
        # them, and its answers lead to other steps than another attempt.
        why: str | None = reason
        rounds, retries = 0, self._attempts.retries(reason=PAUSE)
        while why is not None:
            rounds += 1
            if rounds > AT_ONCE:
                await retries.pause()
            self._place.move(ClassicState.PREPARING)
            await self._prepare(subscribed.term, lost=lost)
            part = await self._part(subscribed.term, why)
            self._place.move(ClassicState.TAKING)
            why = await self._take(subscribed.term, part)
            lost = False
        self._place.move(ClassicState.STABLE)

    # --- prepare ---------------------------------------------------------------------

    async def _prepare(self, term: int, *, lost: bool) -> None:
        """Revoke partitions that must not be kept during the rebalance."""
        if lost:
            await self._transitions.lose(term)
            return
        owned = self._subscription.owned()
        if self._strategies.cooperative:
            call = Call("rebalance", self._timer.now, NEVER)
            topics = await self._topics.found(call)
            owned = frozenset(tp for tp in owned if tp.topic not in topics)
        if owned:
            await self._give_back(term, owned)

    async def _give_back(self, term: int, partitions: frozenset[TopicPartition]) -> None:
        if not await self._transitions.give_back(term, partitions):
            # The listener has raised, which a poll tells of. The group goes on all the same.
            self._subscription.drop(term, partitions)

    # --- join, and sync --------------------------------------------------------------

    async def _part(self, term: int, reason: str) -> tuple[TopicPartition, ...]:
        """Send JoinGroup and SyncGroup until there is an assignment."""
        known_as = self._place.who.member_id
        retries = self._attempts.retries(reason=PAUSE)
        while True:
            joined = await self._join(term, reason, known_as)
            self._place.move(ClassicState.SYNCING)
            call = Call("rebalance", self._timer.now, NEVER)
            parts = await self._lead(call, joined) if joined.leader == joined.member_id else ()
            said = await self._exchange.sync(
                call, self._place.who, joined.protocol or "", parts
            )
            if said.action is Action.DONE and said.response is not None:
                part = part_in(said.response.assignment, said.response.protocol, joined)
                await self._told(joined, part)
                return part
            if said.action in (Action.RESET, Action.OUTDATED):
                await self._evicted(term, said.action)
            elif said.action is Action.REDISCOVER:
                self._unname(known_as)
            if said.action is Action.ROUND and not retries.count:
                retries.skip()
            else:
                await retries.pause()

    async def _join(self, term: int, reason: str, known_as: str) -> JoinGroupAnswer:
        """Send JoinGroup until the member is in a generation."""
        retries = self._attempts.retries(reason=PAUSE)
        while True:
            # A call for each attempt: one that goes on for days would keep a ledger of all.
            call = Call("rebalance", self._timer.now, NEVER)
            protocols = await self._protocols(call)
            self._place.move(ClassicState.JOINING)
            self._place.asking()
            said = await self._exchange.join(call, self._place.who.member_id, protocols, reason)
            response = said.response
            if said.action is Action.DONE and response is not None:
                self._place.let_in(MemberGeneration(response.member_id, response.generation))
                return response
            had_no_id = self._place.who.member_id == ""
            if said.action is Action.IDENTIFY and response is not None:
                self._place.who = MemberGeneration(response.member_id)
            elif said.action in (Action.RESET, Action.OUTDATED):
                await self._evicted(term, said.action)
            elif said.action is Action.REDISCOVER:
                self._unname(known_as)
            if said.action is Action.IDENTIFY and had_no_id:
                continue
            await retries.pause()

    async def _protocols(self, call: Call) -> tuple[tuple[str, bytes], ...]:
        """The protocols to send, noting the topics that they depend on."""
        self.joined_as = await self._topics.found(call)
        return await self._strategies.protocols(
            Member(
                "",
                tuple(sorted(self.joined_as)),
                rack=self._rack,
                owned=tuple(sorted(self._subscription.owned())),
                generation=self._generation,
            )
        )

    async def _evicted(self, term: int, action: Action) -> None:
        self._place.put_out(forget=action is Action.RESET)
        self._generation = -1
        await self._transitions.lose(term)

    def _unname(self, known_as: str) -> None:
        """Forget a static member's id that the coordinator may not have stored.

        That is one that it was given since it had the one that it was last known as.

        A broker that was frozen takes itself for the coordinator when it wakes, and gives it
        a new one. The coordinator that there is knows the instance by the old id, and would
        take us for another client. Without any id it takes us for the instance, come again.
        """
        if self._is_static and self._place.who.member_id != known_as:
            self._place.put_out(forget=True)
            self._generation = -1

    async def _lead(self, call: Call, joined: JoinGroupAnswer) -> tuple[tuple[str, bytes], ...]:
        """Assign as the leader, unless it came back to a group that keeps its assignment."""
        members = members_of(joined.members, self._trace)
        names = topics_of(members)
        cluster = await self._topics.of_all_members(call, names)
        if joined.skip_assignment:
            return ()
        there = partitions_of(cluster, names)
        return encoded(await self._strategies.assign(joined.protocol or "", there, members))

    async def _told(self, joined: JoinGroupAnswer, part: tuple[TopicPartition, ...]) -> None:
        if joined.leader != joined.member_id:
            self._topics.rest()
        self._generation = joined.generation
        self._place.counted()
        await self._strategies.assigned(joined.protocol or "", part, joined.generation)

    # --- take ------------------------------------------------------------------------

    async def _take(self, term: int, part: tuple[TopicPartition, ...]) -> str | None:
        """Take newly assigned partitions, and revoke missing ones.

        Returns:
            Why another round has to follow; None if it need not.
        """
        wanted = self._topics.subscribed | self.joined_as
        strange = sorted(tp for tp in part if tp.topic not in wanted)
        if strange:
            return (
                f"the assignment contains {strange[0]}, which this member has not subscribed to"
            )
        mine, owned = frozenset(part), self._subscription.owned()
        gone = owned - mine
        if gone:
            await self._give_back(term, gone)
        new = mine - owned
        if not await self._transitions.take(term, new, commit=not gone):
            # As above: what the group has given us is ours, even if the listener raises.
            self._transitions.begin(term, new)
        if not gone:
            return None
        verb = "was" if len(gone) == 1 else "were"
        return f"{counted(len(gone), 'partition')} {verb} given up for other members"

    def __repr__(self) -> str:
        return f"ClassicRound(generation {self._generation}, {len(self.joined_as)} topics)"


def part_in(
    data: bytes, protocol: str | None, joined: JoinGroupAnswer
) -> tuple[TopicPartition, ...]:
    """Decode this member's assignment.

    Raises:
        InconsistentGroupProtocolException: The coordinator speaks of another assignor.
        KafkaException: It cannot be read.
    """
    if protocol is not None and protocol != joined.protocol:
        raise InconsistentGroupProtocolException(
            f"the coordinator let this member join under assignor {joined.protocol!r} and gave "
            f"it its part under {protocol!r}"
        )
    try:
        return encoding.assigned(data)
    except encoding.MalformedMessage as error:
        raise KafkaException(
            f"the group's leader ({joined.leader}) has sent an assignment that cannot be "
            f"read: {error}"
        ) from error

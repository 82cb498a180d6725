"""Steps that the membership has `poll` make, such as calling a listener, as awaitables.

Thread: the network thread alone.

A step waits until a poll makes it, for as long as that takes: the application may be
computing. Anything that ends the wait, such as a fence, calls it off; if a poll has taken it
by then, its end is ignored.
"""

from collections.abc import Callable

from prokurist.errors import KafkaException
from prokurist.events.application_events import AutoCommit, StepDone
from prokurist.events.assigned import AnyAssigned
from prokurist.events.background_events import BackgroundEvents, Step, StepKind
from prokurist.events.member_identity import MemberIdentity, PollActivity
from prokurist.network_thread.operations.operation import Promise
from prokurist.types import TopicPartition


class ApplicationSteps:
    """Posts steps to `poll` and awaits their ends.

    Args:
        background: Where polls look.
        assigned: The assigned partitions.
        poll_activity: Has an iteration look there.
        member_identity: The membership in which the listener is called.
    """

    def __init__(
        self,
        background: BackgroundEvents,
        assigned: AnyAssigned,
        poll_activity: PollActivity,
        member_identity: MemberIdentity,
    ) -> None:
        self._background = background
        self._member_identity = member_identity
        self._assigned = assigned
        self._poll_activity = poll_activity
        self._awaited: dict[Step, Promise[StepDone]] = {}

    @property
    def is_heard(self) -> bool:
        """True if there is a listener."""
        subscribed = self._assigned.subscribed
        return subscribed is not None and subscribed.listens

    async def tell(self, kind: StepKind, partitions: frozenset[TopicPartition]) -> bool:
        """Have the listener called, if there is one; return True unless it raised."""
        if not self.is_heard:
            return True
        return (await self.heard(kind, partitions)).error is None

    async def heard(self, kind: StepKind, partitions: frozenset[TopicPartition]) -> StepDone:
        """Have the listener called, and return its end."""
        incarnation = self._member_identity.identity.incarnation
        owned_in = None if kind is StepKind.LOST else incarnation
        return await self.made(Step(kind, partitions, incarnation=owned_in))

    async def run(self, work: Callable[[], object]) -> StepDone:
        """Run a function on the application thread."""
        return await self.made(Step(StepKind.ASSIGN, work=work))

    def done(self, done: StepDone) -> None:
        """Take the end of a step; that of a cancelled one is ignored."""
        promise = self._awaited.get(done.step)
        if promise is not None:
            promise.keep(done)
        elif isinstance(done.answer, AutoCommit):
            done.answer.call.fail(KafkaException("the membership was over first"))

    async def made(self, step: Step) -> StepDone:
        """Have a poll make a step, and return its end."""
        promise = self._awaited[step] = Promise[StepDone]()
        self._background.post_step(step)
        self._poll_activity.summon()
        try:
            return await promise
        finally:
            del self._awaited[step]
            if not promise.is_kept:
                self._background.call_off()

    def __repr__(self) -> str:
        return f"ApplicationSteps({len(self._awaited)} awaited)"

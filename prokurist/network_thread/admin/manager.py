"""Does administrative work: finds its brokers, asks them, and settles it item by item.

Thread: the network thread alone.

    prepare ─► place ─► a request for each broker ─► each item: settled, or asked for again
                 ▲                                        │
                 └──────────────── a pause ◄──────────────┘   … echoes are judged ─► finish

- The requests of one job go on beside each other: a silent broker holds up its own items.
- The call's deadline ends all of it, and what is settled by then stands.
- An error that is no item's, such as refused credentials, ends the call as a whole if no
  request was written for it; else the items that are left.
"""

from collections.abc import Hashable, Sequence

from prokurist.errors import (
    BrokerNotAvailableException,
    KafkaException,
    UnsupportedVersionException,
)
from prokurist.events.admin.items_call import ItemsCall
from prokurist.events.admin.work import Work
from prokurist.events.application_events import Administer
from prokurist.network_thread.admin.job import AdminJob, AdminTools, Groups, Place
from prokurist.network_thread.admin.operations import operation_of
from prokurist.network_thread.admin.places import Placed, every_broker
from prokurist.network_thread.admin.question import AdminQuestion
from prokurist.network_thread.cluster.attempts import Route
from prokurist.network_thread.operations.dispatch import Handlers
from prokurist.network_thread.operations.dispatch import Work as Coroutine
from prokurist.network_thread.operations.operation import Withdrawn, all_of, begin
from prokurist.network_thread.wire.failures import UnsendableRequest


class AdminManager:
    """Takes `Administer`.

    Args:
        tools: The client core.
    """

    def __init__(self, tools: AdminTools) -> None:
        self._tools = tools

    def handlers(self) -> Handlers:
        """Return the event that it takes."""
        return {Administer: self._administer}

    def _administer(self, event: Administer) -> Coroutine:
        return self.run(event.call, event.work)

    async def run(self, call: ItemsCall, work: Work) -> None:
        """Do some work, until each of its items has an outcome.

        Raises:
            KafkaException: Nothing could be asked, of any item.
        """
        job = AdminJob(self._tools, call, work, operation_of(work))
        if not self._tools.metadata.cluster.version:
            # Where only bootstrap addresses are known, none could be passed over for another.
            await self._tools.metadata.refreshed(call, "the brokers of the cluster")
        if job.operation.prepare is not None:
            await job.operation.prepare(job)
        await self._settle(job, job.unsettled(work.items))
        if job.fault is not None and not call.attempts:
            raise job.fault
        for item, error in job.echoes.items():
            await judge_echo(job, item, error)
        if job.operation.finish is not None:
            await job.operation.finish(job)

    async def _settle(
        self,
        job: AdminJob,
        items: Sequence[Hashable],
        route: Route | None = None,
        *,
        pause: bool = False,
    ) -> None:
        """Settle items; those of each broker by themselves.

        Args:
            job: The job.
            items: Its items.
            route: Their broker; None to look it up.
            pause: True to pause first, since no broker was known.
        """
        # By hand: between two attempts the items may part, each with a broker of its own.
        retries = job.tools.attempts.retries(job.call)
        left = list(items)
        while True:
            if pause:
                await retries.pause()
            if route is None:
                apart = job.operation.apart
                parts = [] if apart is None else await self._place(job, left, apart)
                if len(parts) > 1:
                    await all_of(
                        begin(self._settle(job, part, pause=each is None), str(each))
                        for each, part in parts
                    )
                    return
                left = job.unsettled(left)
                groups = await self._place(job, left, job.operation.place)
                if len(groups) != 1:
                    await all_of(
                        begin(self._settle(job, part, each, pause=each is None), str(each))
                        for each, part in groups
                    )
                    return
                route, left = groups[0]
            if route is not None:
                left = await self._ask(job, route, left)
            if not left:
                return
            route, pause = None, True

    async def _place(
        self, job: AdminJob, items: Sequence[Hashable], place: Place
    ) -> list[tuple[Route | None, list[Hashable]]]:
        """Find the brokers of items; None for those whose broker is not known at present."""
        try:
            groups: Groups = await place(job, items)
        except Withdrawn:
            raise
        except KafkaException as error:
            job.give_up(items, error)
            return []
        placed = {item for _, part in groups for item in part}
        unknown = [item for item in job.unsettled(items) if item not in placed]
        return [*groups, *([(None, unknown)] if unknown else [])]

    async def _ask(
        self, job: AdminJob, route: Route, items: Sequence[Hashable]
    ) -> list[Hashable]:
        """Ask about some items; return those that have to be asked about elsewhere."""
        operation = job.operation
        question = AdminQuestion(job, operation, route, items)
        try:
            await job.tools.attempts.ask(route, question)
        except Withdrawn:
            raise
        except KafkaException as error:
            left = list(question.left)
            if isinstance(error, UnsendableRequest) and len(left) > 1:
                # One item has a value that cannot be written: the others go without it.
                half = len(left) // 2
                again = route.again() if isinstance(route, Placed) else route
                return [
                    *await self._ask(job, again, left[:half]),
                    *await self._ask(
                        job, again.again() if isinstance(again, Placed) else again, left[half:]
                    ),
                ]
            if isinstance(error, UnsupportedVersionException) and operation.older is not None:
                job.operation = operation.older
                return left
            gone = isinstance(error, BrokerNotAvailableException)
            if gone and operation.place is every_broker and not job.work.items:
                for item in left:
                    job.call.drop(item)
            else:
                job.give_up(left, error)
            return []
        return list(question.left)

    def __repr__(self) -> str:
        return f"AdminManager({self._tools.metadata})"


async def judge_echo(job: AdminJob, item: Hashable, error: KafkaException) -> None:
    """Find out whether an earlier attempt of this call has done what a repetition found done.

    Args:
        job: The job.
        item: The item.
        error: The error of the repetition, such as TopicExistsException.
    """
    check, echoed = job.operation.check, job.operation.echoed
    try:
        if check is not None:
            job.call.settle(item, await check(job, item, error))
        elif echoed is not None:
            job.call.settle(item, echoed(job, item))
        else:
            job.call.refuse(item, error)
    except Withdrawn:
        raise
    except KafkaException as other:
        job.call.refuse(item, other)

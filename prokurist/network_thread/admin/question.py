"""One request for some items of a job, until each has an outcome or another broker.

Thread: the network thread alone.
"""

from collections.abc import Hashable, Sequence
from typing import Any, Final

from prokurist.errors import (
    KafkaException,
    RetriableException,
    ThrottlingQuotaExceededException,
)
from prokurist.errors.timeout import seconds
from prokurist.events.admin.items_call import ItemsCall
from prokurist.network_thread.admin.job import UNCERTAIN, AdminJob, AdminOperation, Again
from prokurist.network_thread.admin.patience import Patience
from prokurist.network_thread.admin.places import Placed
from prokurist.network_thread.cluster.attempts import AGAIN, Question, Route, Verdict
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer, Lane
from prokurist.network_thread.error_actions import Action
from prokurist.network_thread.operations.operation import Promise
from prokurist.network_thread.wire.admin.answers import ItemAnswer, ItemsAnswer
from prokurist.types import Node

DONE: Final = Verdict(Action.DONE)


class AdminQuestion(Question[Any]):
    """The request for some items of a job.

    Args:
        job: The job.
        operation: How it is done.
        route: Its destination.
        items: The items.

    Attributes:
        left: The items without an outcome.
    """

    def __init__(
        self,
        job: AdminJob,
        operation: AdminOperation,
        route: Route,
        items: Sequence[Hashable],
    ) -> None:
        self.call: ItemsCall = job.call
        self.left: dict[Hashable, None] = dict.fromkeys(items)
        self._job = job
        self._operation = operation
        self._route = route
        self._patience = Patience(job.tools, job.call)
        self._throttle = 0.0

    @property
    def is_over(self) -> bool:
        """See `Question`; what is left of one broker's items is looked up again."""
        return not self.left or (isinstance(self._route, Placed) and self._route.is_used)

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[Any]]:
        """See `Question`."""
        job, again = self._job, self._operation.again
        lane = self._route.lane
        if again is not Again.QUESTION and lane is Lane.GENERAL:
            # It waits at the broker for the controller, or for followers: on the connection of
            # the questions it would keep them waiting, also once this call has ended.
            lane = Lane.JOIN
        answer = client.send(
            node,
            self._operation.message(job, job.items_of(self.left), job.seconds),
            call=job.call.about(self.left),
            lane=lane,
            effect=again is not Again.QUESTION,
            any_broker=self._route.is_any,
        )
        if again is Again.QUESTION and self._route.is_any:
            return self._patience.bound(node, answer)
        return answer

    def judge(self, answer: Answer[Any]) -> Verdict:
        """See `Question`: item by item."""
        job = self._job
        rows = self._operation.rows
        reply = answer.response if rows is None else rows(job, answer.response)
        verdict = DONE
        for item in tuple(self.left):
            mine = self._judge_item(item, row_of(reply, item), answer)
            if mine.error is not None and (verdict is DONE or mine.action is not Action.RETRY):
                verdict = mine
            if isinstance(mine.error, ThrottlingQuotaExceededException):
                self._throttle = max(self._throttle, reply.throttle)
        return verdict

    def _judge_item(
        self, item: Hashable, row: ItemAnswer | None, answer: Answer[Any]
    ) -> Verdict:
        """Settle an item, or return why it is asked for again."""
        job, operation = self._job, self._operation
        if row is None:
            error: KafkaException = RetriableException(
                f"{answer.node} left {item} out of its answer"
            )
            return self._again(item, Verdict(Action.RETRY, error), certain=False)
        action = operation.table.of(row.error)
        if action is Action.DONE:
            job.call.settle(item, row.value)
            del self.left[item]
            return DONE
        certain = row.error not in UNCERTAIN
        if certain:
            job.call.note_undone(answer.attempt, item)
        error = job.error(item, row.error, row.message, operation.table)
        if action in AGAIN:
            if action is not Action.RETRY:
                job.stale.add(item)
            return self._again(item, Verdict(action, error), certain=certain)
        if action is Action.ECHO and job.call.may_have_happened_to(item):
            job.echoes[item] = error
        else:
            job.call.refuse(item, error)
        del self.left[item]
        return DONE

    def _again(self, item: Hashable, verdict: Verdict, *, certain: bool) -> Verdict:
        """Return the verdict of an item that is asked for again, if it may be."""
        if certain or self._operation.again is not Again.NEVER or verdict.error is None:
            return verdict
        self._job.call.refuse(item, verdict.error)
        del self.left[item]
        return DONE

    def note(self, error: KafkaException) -> None:
        """See `Question`: some requests are not repeated once one was written."""
        if self._operation.again is not Again.NEVER:
            return
        for item in tuple(self.left):
            if self._job.call.may_have_happened_to(item):
                self._job.refuse_all([item], error)
                del self.left[item]

    async def recover(self, verdict: Verdict) -> None:
        """See `Question`: a quota that is used up is waited for, if it fits."""
        throttle, self._throttle = self._throttle, 0.0
        if not throttle or verdict.error is None:
            return
        timer, call = self._job.tools.timer, self._job.call
        if timer.now + throttle >= call.deadline.at:
            late = ThrottlingQuotaExceededException(
                f"{verdict.error}; the quota allows it again in {seconds(throttle)}, which is "
                f"later than this call's deadline"
            )
            self._job.refuse_all(self.left, late)
            self.left.clear()
            return
        call.wait_begins("the quota of changes", timer.now)
        await timer.sleep(throttle, f"quota of {call.operation}")
        call.wait_ends(timer.now)

    def __repr__(self) -> str:
        return f"AdminQuestion({self._operation.table.api}, {len(self.left)} items left)"


def row_of(reply: ItemsAnswer, item: Hashable) -> ItemAnswer | None:
    """The answer about an item; that about all items where it has none of its own."""
    row = reply.items.get(item)
    if row is None and reply.error:
        return ItemAnswer(reply.error, reply.message)
    return row

"""Waits until a change of topics is visible at all live brokers.

Thread: the network thread alone. The outcome of each topic stands before: when the call's
deadline comes first, it says `visible=False`, and is no error.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Final

from prokurist.errors import (
    BrokerNotAvailableException,
    KafkaException,
    RetriableException,
)
from prokurist.events.admin.items_call import ItemsCall
from prokurist.network_thread.admin.job import AdminJob
from prokurist.network_thread.cluster.attempts import Question, Route, Verdict
from prokurist.network_thread.cluster.routes import each_broker
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer
from prokurist.network_thread.error_actions import METADATA, Action
from prokurist.network_thread.operations.operation import Promise, Withdrawn, all_of, begin
from prokurist.network_thread.wire.metadata import Metadata, MetadataAnswer, TopicMetadata
from prokurist.types import Node

BY_NAME: Final[Mapping[Hashable, str]] = MappingProxyType({})
"""Items are names."""


class Sight(Question[MetadataAnswer]):
    """Asks one broker about topics until it knows of their change.

    Args:
        job: The job.
        names: The topics by name.
        is_seen: Judges the broker's metadata of a topic, or None where it knows none.
        seen: Called with the name of each topic whose change it knows.
    """

    def __init__(
        self,
        job: AdminJob,
        names: Iterable[str],
        is_seen: Callable[[str, TopicMetadata | None], bool],
        seen: Callable[[str], None],
    ) -> None:
        self.call: ItemsCall = job.call
        self._left = dict.fromkeys(names)
        self._is_seen = is_seen
        self._seen = seen

    @property
    def is_over(self) -> bool:
        """See `Question`."""
        return not self._left

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[MetadataAnswer]]:
        """See `Question`."""
        return client.send(node, Metadata(tuple(self._left)), call=self.call)

    def judge(self, answer: Answer[MetadataAnswer]) -> Verdict:
        """See `Question`."""
        code = answer.response.error
        if code:
            return Verdict(Action.RETRY, METADATA.error(code))
        topics = {each.name: each for each in answer.response.topics}
        for name in tuple(self._left):
            topic = topics.get(name)
            known = topic if topic is not None and topic.partitions else None
            if self._is_seen(name, known):
                del self._left[name]
                self._seen(name)
        if not self._left:
            return Verdict(Action.DONE)
        shown = ", ".join(self._left)
        return Verdict(
            Action.RETRY,
            RetriableException(f"{answer.node} does not know yet of the change of {shown}"),
        )


async def await_everywhere(
    job: AdminJob,
    is_seen: Callable[[str, TopicMetadata | None], bool],
    names: Mapping[Hashable, str] = BY_NAME,
) -> None:
    """Wait until all live brokers know of the change of each topic that has succeeded.

    Args:
        job: The job.
        is_seen: Judges a broker's metadata of a topic, or None where it knows none.
        names: The names of items that are ids.
    """
    call = job.call
    items: dict[str, list[Hashable]] = {}
    for item, value in call.values().items():
        call.settle(item, replace(value, visible=False))
        name = names.get(item, item)
        if isinstance(name, str):
            items.setdefault(name, []).append(item)
    if not items:
        return
    values: dict[Any, Any] = call.values()
    brokers = await each_broker(job.tools.metadata, call)
    unseen = dict.fromkeys(items, len(brokers))

    def seen(name: str) -> None:
        unseen[name] -= 1
        if not unseen[name]:
            for item in items[name]:
                call.settle(item, replace(values[item], visible=True))

    async def look(route: Route) -> None:
        left: dict[str, None] = dict.fromkeys(items)

        def note(name: str) -> None:
            left.pop(name, None)
            seen(name)

        try:
            await job.tools.attempts.ask(route, Sight(job, items, is_seen, note))
        except Withdrawn:
            raise
        except KafkaException as error:
            # It has left, and need not know; or it cannot be asked, and may not know.
            call.met(error)
            if isinstance(error, BrokerNotAvailableException):
                for name in tuple(left):
                    seen(name)

    await all_of(begin(look(route), "visibility") for route in brokers)

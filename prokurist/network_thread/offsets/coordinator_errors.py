"""Handling of a coordinator's error codes, for commits and look-ups of committed offsets.

Thread: the network thread alone. The tables of `error_actions` give the action for each code;
here it is taken.
"""

from collections.abc import Callable, Mapping
from typing import Final

from prokurist.errors import KafkaException
from prokurist.events.call import Call, Try
from prokurist.network_thread.broker_errors import offsets_error
from prokurist.network_thread.cluster.coordinators import Coordinator
from prokurist.network_thread.cluster.metadata_manager import MetadataManager
from prokurist.network_thread.error_actions import (
    OFFSET_COMMIT,
    OFFSET_FETCH,
    Action,
    ErrorTable,
)
from prokurist.network_thread.operations.timer import Timer
from prokurist.types import Node, TopicPartition

WORST_FIRST: Final = (
    Action.FATAL,
    Action.COMMIT_FAILED,
    Action.RENEW,
    Action.REDISCOVER,
    Action.REFRESH,
    Action.RETRY,
)
"""Precedence of actions within one answer."""


def as_it_is(error: KafkaException) -> KafkaException:
    """Return the coordinator's error unchanged."""
    return error


class CoordinatorErrors:
    """Takes the actions for error codes: look the coordinator up, wait, or raise.

    Args:
        group_id: The group, for an error's text.
        coordinator: Notes if the broker serves the group.
        metadata: Are asked for where a code says that they are old.
        timer: The Timer.
    """

    def __init__(
        self,
        group_id: str,
        coordinator: Coordinator,
        metadata: MetadataManager,
        timer: Timer,
    ) -> None:
        self._group_id = group_id
        self._coordinator = coordinator
        self._metadata = metadata
        self._timer = timer

    def heard_after_commit(
        self, node: Node, failed: Mapping[TopicPartition, int]
    ) -> tuple[Action, KafkaException | None]:
        """Note a commit's answer, as evidence about the coordinator."""
        if not failed:
            self._coordinator.served(node, wrote=True)
            return Action.DONE, None
        action, error = self._worst(OFFSET_COMMIT, failed)
        if action is Action.REDISCOVER:
            self._coordinator.forget(node, error)
        else:
            self._coordinator.served(node)
        return action, error

    def unreachable(self, call: Call, node: Node, error: KafkaException) -> None:
        """Handle a coordinator that did not answer, or cannot be asked this.

        Raises:
            KafkaException: It cannot be asked this, however often one tries.
        """
        if not error.retriable:
            raise error
        call.met(error)
        self._coordinator.forget(node, error)

    async def recover(
        self,
        call: Call,
        table: ErrorTable,
        failed: Mapping[TopicPartition, int],
        node: Node,
        attempt: Try | None,
        *,
        renews: Callable[[], bool],
        refusal: Callable[[KafkaException], KafkaException] = as_it_is,
        undone: bool = True,
    ) -> Action:
        """Take the action of the worst code; return if another attempt may help.

        Args:
            call: The call, for entries in its ledger.
            table: Actions by error code.
            failed: The codes.
            node: Who sent them.
            attempt: The attempt that they answer.
            renews: Returns True if it may go on with a newer epoch.
            refusal: Makes the error to raise where it may not.
            undone: True if they prove that nothing was done.

        Returns:
            The action.

        Raises:
            KafkaException: It is fatal to the call.
        """
        if not failed:
            self._coordinator.served(node, wrote=table is not OFFSET_FETCH)
            return Action.DONE
        action, error = self._worst(table, failed)
        if action is not Action.REDISCOVER:
            self._coordinator.served(node)
        if attempt is not None:
            call.ended(attempt, self._timer.now, type(error).__name__, error, undone=undone)
        if action in (Action.FATAL, Action.COMMIT_FAILED):
            raise error
        if action is Action.RENEW and not renews():
            raise refusal(error)
        if action is Action.REDISCOVER:
            self._coordinator.forget(node, error)
        elif action is Action.REFRESH:
            await self._metadata.refreshed(call, "fresh metadata")
        return action

    def _worst(
        self, table: ErrorTable, failed: Mapping[TopicPartition, int]
    ) -> tuple[Action, KafkaException]:
        """The code that decides, of several, and its error."""
        action = next(
            each
            for each in WORST_FIRST
            if any(table.of(code) is each for code in failed.values())
        )
        code = next(code for code in failed.values() if table.of(code) is action)
        return action, offsets_error(table, code, failed, self._group_id)

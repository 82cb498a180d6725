"""Topic ids of the assigned partitions: detects topics that were deleted and created again.

Thread: the network thread, under the lock of the `Assigned` with these rows.

A topic that was deleted and created again under its name is another one: how far the old one
was read says nothing about it. When the cluster's metadata tell that a name stands for
another id, the former one has ended:

- A partition held by name (assigned by hand, or by a classic group) starts again under the new
  id, as if nothing of it had been read, by the reset policy. After a placement without an
  answered fetch it is placed once more: at the user's seek, or at the group's committed offset.
  The topic of such a place is unknown: offsets are looked up, and validated, by the topic's
  name, and brokers knew the new topic before our metadata did.
- A partition held by id (KIP-848) is given up: the group assigns the new one when its
  coordinator knows of it, perhaps to another member. Brokers that lag behind the coordinator
  name the former topic for a while: metadata are requested again until they name the assigned
  topic, and reading goes on after the last returned record, or until the group has revoked it.

From then on no commit takes the old place for granted (`Committable.snapshot`). A partition
held by name does not go back to a former id: the broker that names it lags behind. Brokers
before 2.8 send no ids, and nothing of this happens.
"""

from collections.abc import Collection, Mapping
from typing import NamedTuple
from uuid import UUID

from prokurist.config import OffsetReset
from prokurist.events.position_state import FetchState, PositionState
from prokurist.events.positions import PositionRequest, Positions
from prokurist.types import TopicPartition


class Name(NamedTuple):
    """The topic id that a name stands for.

    Attributes:
        id: The topic's id.
        former: The id of the topic that it stood for before; None where that is not known.
    """

    id: UUID
    former: UUID | None = None


class Recreated(NamedTuple):
    """Partitions whose topic was deleted and created again.

    Attributes:
        begun: Those that are read from where the policy says.
        unplaced: Those of them that had a place, and no policy: the positions to look up
            instead, with the next offset before.
        given_up: Those that the group has to give again.
        absent: Others, of topics that do not exist at present.
        disputed: Those assigned by id for which the metadata name another topic: metadata are
            requested again until one of both has changed.
        kept: Those without any record read: they are placed once more, as they were.
    """

    begun: tuple[TopicPartition, ...]
    unplaced: tuple[tuple[PositionRequest, int], ...]
    given_up: tuple[TopicPartition, ...]
    absent: tuple[TopicPartition, ...]
    disputed: tuple[TopicPartition, ...]
    kept: tuple[TopicPartition, ...]


class TopicIds:
    """Compares topic ids with the assignment.

    Args:
        positions: The positions.

    Attributes:
        absent: Topics of assigned partitions that do not exist at present.
    """

    def __init__(self, positions: Positions) -> None:
        self.absent: frozenset[str] = frozenset()
        self.positions: Positions = positions
        self._assigned = positions.assigned
        self._lock = positions.assigned.lock
        self._names: dict[str, Name] = {}

    # --- the network thread ----------------------------------------------------------

    def topics_are(self, ids: Mapping[str, UUID], absent: Collection[str]) -> Recreated:
        """Compare the topic ids of new metadata with those of assigned partitions.

        Args:
            ids: The ids of topics, by name.
            absent: Names that stand for nothing just now, as far as is known.

        Returns:
            The affected partitions.
        """
        with self._lock:
            self._assigned.steady.off()
            assigned = {tp.topic for tp in self._assigned.rows}
            self.absent = frozenset(assigned.intersection(absent))
            self._names = {each: at for each, at in self._names.items() if each in assigned}
            for tp, state in self._assigned.rows.items():
                if state.topic is not None and tp.topic not in self._names:
                    # By its id, since the last metadata: what differs now is another topic.
                    self._names[tp.topic] = Name(state.topic)
                topic = ids.get(tp.topic)
                if topic is not None and state.replaced and topic == state.topic:
                    self._names[tp.topic] = Name(topic)
                    self._read_on(state)
            for name in assigned & ids.keys():
                self._note(name, ids[name])
            begun, given_up, kept = [], [], []
            unplaced: list[tuple[PositionRequest, int]] = []
            for tp, state in tuple(self._assigned.rows.items()):
                if state.topic is None:
                    known = self._names.get(tp.topic)
                    state.topic = None if known is None else known.id
                elif not self.has_ended(tp, state):
                    continue
                elif state.by_id:
                    if not state.giving_up:
                        state.giving_up = state.replaced = True
                        given_up.append(tp)
                elif state.unread and state.stop is None:
                    kept.append(tp)
                    self._place_again(tp, state)
                else:
                    begun.append(tp)
                    unplaced += self._restart(tp, state)
            gone = tuple(tp for tp in self._assigned.rows if tp.topic in self.absent)
            disputed = tuple(tp for tp, state in self._assigned.rows.items() if state.replaced)
            return Recreated(
                tuple(begun), tuple(unplaced), tuple(given_up), gone, disputed, tuple(kept)
            )

    def fetched_as(self, ids: Mapping[str, UUID]) -> None:
        """Note the topic ids of a fetch that is about to be sent.

        A place that the user has sought is of no known topic before that.
        """
        with self._lock:
            for tp, state in self._assigned.rows.items():
                if state.topic is None and tp.topic in ids:
                    self._note(tp.topic, ids[tp.topic])
                    state.topic = ids[tp.topic]

    def is_disputed(self, tp: TopicPartition) -> bool:
        """True if metadata give another id to the topic of a partition assigned by id."""
        with self._lock:
            state = self._assigned.rows.get(tp)
            return state is not None and state.replaced

    # --- for those that share the rows: the lock is held -----------------------------

    def has_ended(self, tp: TopicPartition, state: PositionState) -> bool:
        """True if the partition's topic was deleted and its name used again."""
        name = self._names.get(tp.topic)
        return name is not None and state.topic is not None and state.topic == name.former

    # --- inside: the lock is held ----------------------------------------------------

    def _note(self, name: str, topic: UUID) -> None:
        known = self._names.get(name)
        if known is None:
            self._names[name] = Name(topic)
        elif topic not in known:
            self._names[name] = Name(topic, known.id)

    def _read_on(self, state: PositionState) -> None:
        """Undo that a topic counts as recreated; its fetched records have been dropped."""
        state.giving_up = state.replaced = False
        self.positions.renew(state)
        self.positions.settled += 1
        if state.standing is FetchState.VALID and state.returned is not None:
            state.settle(state.returned, state.confirmed_in)

    def _replace(self, tp: TopicPartition, state: PositionState) -> PositionState:
        """Replace a partition's state by one for the new topic; returns that."""
        self.positions.renew(state)
        self.positions.settled += 1
        fresh = state.recreated(self._names[tp.topic].id)
        self._assigned.rows[tp] = fresh
        return fresh

    def _place_again(self, tp: TopicPartition, state: PositionState) -> None:
        """Replace a partition's state, and place it as it was placed; nothing was read."""
        fresh, sought = self._replace(tp, state), state.sought
        if isinstance(sought, OffsetReset):
            fresh.need_reset(sought)
        elif sought is not None:
            fresh.seek(sought)

    def _restart(
        self, tp: TopicPartition, state: PositionState
    ) -> list[tuple[PositionRequest, int]]:
        """Replace a partition's state, and begin where the reset policy says.

        Returns:
            The position to look up, with the former offset, where there is no policy.
        """
        fresh = self._replace(tp, state)
        place = state.returned or state.position
        policy = self.positions.policy_by(state)
        if place is not None:
            if policy.kind == "none":
                return [(PositionRequest(tp, fresh.ticket, None), place.offset)]
            fresh.need_reset(policy)
        return []

    def __repr__(self) -> str:
        return f"TopicIds({len(self._names)} names)"

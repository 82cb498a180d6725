"""Topics of a workload: what was written to each of their lives, and what is due of them.

Most partitions are quiet: one is written all the time, some now and then, some never. A
topic may grow, be deleted and be created again under its name. Values say which life of a
topic they were written in, so that a record of a former one is told apart.
"""

from typing import Final

from prokurist.testing.cluster.control import Control
from prokurist.types import TopicPartition
from tests.simulation.book import Book, WrongRecord

TOPICS: Final = {"orders": 2, "orders-rare": 2, "audit-idle": 1}
"""By name, and how many partitions each has at first."""

MOST_PARTITIONS: Final = 4


class Topics:
    """What the brokers have, as plain lists.

    Args:
        control: The brokers'.
        read_committed: What the reader asks for.
    """

    def __init__(self, control: Control, *, read_committed: bool) -> None:
        self._control = control
        self._read_committed = read_committed
        self.lives: dict[str, int] = {}
        self.books: dict[TopicPartition, Book] = {}
        self._producers = 0
        for name, partitions in TOPICS.items():
            self._begin(name, partitions)

    def _begin(self, name: str, partitions: int) -> None:
        self.lives[name] = self.lives.get(name, 0) + 1
        for number in range(partitions):
            self.books[TopicPartition(name, number)] = Book(self._read_committed)

    def partitions(self, name: str | None = None) -> list[TopicPartition]:
        """Those that there are, of one topic or of all."""
        return sorted(tp for tp in self.books if name in (None, tp.topic))

    def existing(self) -> list[str]:
        """The topics that there are."""
        return sorted({tp.topic for tp in self.books})

    # --- writing ---------------------------------------------------------------------

    def write(self, tp: TopicPartition, count: int, *, producer: int | None = None) -> None:
        """Append a batch."""
        book = self.books[tp]
        life = self.lives[tp.topic]
        values = [b"%d %d" % (life, book.end + nth) for nth in range(count)]
        base = self._control.append(tp, *values, producer=producer)
        book.wrote(base, values, producer)

    def begin_transaction(self, tp: TopicPartition, count: int) -> None:
        """Append a batch in a transaction that stays open."""
        self._producers += 1
        self.write(tp, count, producer=self._producers)

    def end_transaction(self, tp: TopicPartition, *, committed: bool) -> bool:
        """End the oldest transaction of a partition; False if there is none."""
        book = self.books[tp]
        if not book.open():
            return False
        producer = min(book.open())
        self._control.end_transaction(tp, producer, committed=committed)
        book.ended(producer, committed=committed)
        return True

    # --- lives of topics -------------------------------------------------------------

    def grow(self, name: str) -> TopicPartition | None:
        """Add a partition; None where there are enough."""
        count = len(self.partitions(name))
        if not 0 < count < MOST_PARTITIONS:
            return None
        self._control.add_partitions(name, count + 1)
        added = TopicPartition(name, count)
        self.books[added] = Book(self._read_committed)
        return added

    def delete(self, name: str) -> None:
        """Delete a topic."""
        self._control.delete_topic(name)
        for tp in self.partitions(name):
            del self.books[tp]

    def create(self, name: str) -> None:
        """Create a topic, or create it again: empty, and another one than before."""
        self._control.create_topic(name, TOPICS.get(name, 1))
        self._begin(name, TOPICS.get(name, 1))

    # --- reading ---------------------------------------------------------------------

    def came(self, tp: TopicPartition, offset: int, value: bytes) -> bool:
        """A record was returned: whether it is one of the topic's present life.

        Raises:
            WrongRecord: It was not due.
        """
        life = int(value.split()[0])
        if tp not in self.books or life < self.lives[tp.topic]:
            return False
        if life > self.lives[tp.topic]:
            raise WrongRecord(f"{tp}: {value!r} was never written")
        self.books[tp].returned(offset, value)
        return True

"""A reader's life by lot beside an oracle: what is written, done and broken, by seed."""

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING, Any, Final

from prokurist import errors
from prokurist.network_thread.wire.versions import Versions
from prokurist.testing.cluster.apis import ApiName
from prokurist.testing.cluster.steering import Fault
from prokurist.types import TopicPartition
from tests.simulation.book import Book, WrongRecord
from tests.simulation.slow_brokers import least_end, let_brokers_lag
from tests.simulation.world import World

if TYPE_CHECKING:
    from collections.abc import Callable

RETRIED: Final = (-1, 3, 5, 6, 9, 56, 70, 71, 74, 75, 78, 100, 103, 106)
RAISED: Final = {
    2: errors.CorruptRecordException,
    29: errors.TopicAuthorizationException,
    32000: errors.UnknownServerException,
}
APIS: Final[tuple[ApiName | None, ...]] = ("Fetch", "Fetch", "Metadata", "ListOffsets", None)
LONG: Final = 60.0


class ReaderByLot:
    """One life.

    Args:
        seed: Everything comes of it.

    Attributes:
        log: What happened, for the report of a failure.
        returned: How many records came.
        in_hand: The record that an iteration has handed out last, where nothing has been
            asked for since; and `asked_on`, whether a call has tried to.
    """

    def __init__(self, seed: int) -> None:
        self.lot = Random(seed)  # noqa: S311 - a replayable seed
        self.world = World(self.lot.choice((1, 2, 3)), {"orders": 3}, seed)
        let_brokers_lag(self.world, seed)
        self.all = [TopicPartition("orders", number) for number in range(3)]
        committed = self.lot.random() < 0.5
        self.books = {tp: Book(committed) for tp in self.all}
        self.most = self.lot.choice((1, 3, 10, 500))
        self.log: list[str] = []
        self.returned = 0
        self.highest = dict.fromkeys(self.all, 0)
        self.assigned: set[TopicPartition] = set()
        self.paused: set[TopicPartition] = set()
        self.woken = False
        self.in_hand: tuple[TopicPartition, int] | None = None
        self.asked_on = False
        self._allowed: set[type[BaseException]] = set()
        self._undo: list[Callable[[], None]] = []
        self._producers = 0
        pick = self.lot.choice
        release = pick((None, None, "2.4", "2.8", "3.5", "3.9"))
        self.consumer = self.world.consumer(
            None if release is None else Versions.of_kafka(release),
            auto_offset_reset="earliest",
            isolation_level="read_committed" if committed else "read_uncommitted",
            max_poll_records=self.most,
            max_partition_fetch_bytes=pick((100, 2_000, 1_048_576)),
            fetch_buffer_max_bytes=pick((8_000, 134_217_728)),
            fetch_min_bytes=pick((1, 1, 400)),
            fetch_max_wait_ms=pick((10, 500)),
            request_timeout_ms=pick((700, 30_000)),
            enable_auto_commit=pick((True, False)),
            auto_commit_interval_ms=pick((100, 1_000)),
            metadata_max_age_ms=pick((1_000, 300_000)),
        )
        self._reassign(set(self.all))

    # --- living ----------------------------------------------------------------------

    def live(self) -> None:
        """Do things by lot, mend everything, and read what is left."""
        for _ in range(self.lot.randint(10, 60)):
            chance = self.lot.random()
            if chance < 0.3:
                self._write()
            elif chance < 0.62:
                self._read()
            elif chance < 0.85:
                self.lot.choice(
                    (
                        self._seek,
                        self._seek,
                        self._pause,
                        self._assign,
                        self._commit,
                        self._ask_position,
                        self._wake,
                        self._delete,
                    )
                )()
            elif chance < 0.93:
                self._break()
            elif self._undo:
                self._undo.pop(self.lot.randrange(len(self._undo)))()
            else:
                self.world.clock.sleep(self.lot.choice((0.0, 0.01, 0.3, 6.0)))
        self._end()

    def _end(self) -> None:
        for undo in self._undo:
            undo()
        self.world.control.heal()
        self.world.control.thaw()
        for tp, book in self.books.items():
            for producer in book.open():
                self._end_transaction(tp, producer)
        if self.paused:
            self.consumer.resume(sorted(self.paused))
            self.paused = set()
        self._reassign(set(self.all))
        # What went wrong before may be raised yet, and a broker found again.
        until = self.world.clock.time + LONG
        while any(book.left() for book in self.books.values()):
            if self.world.clock.time > until:
                left = {tp.partition: book.left() for tp, book in self.books.items()}
                raise WrongRecord(f"after {LONG} s these have not come: {left}")
            self._poll(1.0)
        self._poll(0.5)
        self.consumer.close()

    def _say(self, what: str) -> None:
        self.log.append(f"{self.world.clock.time:.4f} {what}")

    # --- writing ---------------------------------------------------------------------

    def _write(self) -> None:
        tp = self.lot.choice(self.all)
        book = self.books[tp]
        chance = self.lot.random()
        if chance < 0.2 and book.open():
            self._end_transaction(tp, self.lot.choice(sorted(book.open())))
            return
        producer = None
        if chance < 0.4:
            self._producers += 1
            producer = self._producers
        size = self.lot.choice((5, 20, 300))
        count = self.lot.choice((1, 1, 2, 7, 40))
        values = [b"%0*d" % (size, book.end + nth) for nth in range(count)]
        base = self.world.control.append(tp, *values, producer=producer)
        book.wrote(base, values, producer)
        self._say(f"{count} records of {size} at {base} of {tp}, producer {producer}")

    def _end_transaction(self, tp: TopicPartition, producer: int) -> None:
        committed = self.lot.random() < 0.5
        self._say(f"producer {producer} of {tp}: committed={committed}")
        self.world.control.end_transaction(tp, producer, committed=committed)
        self.books[tp].ended(producer, committed=committed)

    def _delete(self) -> None:
        tp = self.lot.choice(self.all)
        book = self.books[tp]
        before = self.lot.randint(book.start, book.stable_end())
        self._say(f"delete what is below {before} of {tp}")
        self.world.control.delete_records(tp, before)
        book.start = before

    # --- reading ---------------------------------------------------------------------

    def _read(self) -> None:
        if not self.assigned:
            self._reassign(set(self.all))
        if self.lot.random() < 0.25:
            self._iterate()
        else:
            self._poll(self.lot.choice((0.0, 0.0, 0.01, 0.3, 1.5)))

    def _poll(self, timeout: float) -> None:
        began = self.world.clock.time
        records = self._tried("poll", lambda: self.consumer.poll(timeout))
        assert self.world.clock.time <= began + timeout, "a poll that was late"
        if records is None:
            self.asked_on = True
            return
        self.in_hand = None
        assert len(records) <= self.most
        for tp in records.partitions():
            self._say(f"poll({timeout}): {[each.offset for each in records.records(tp)]}")
            for record in records.records(tp):
                self._came(tp, record)
        for tp, offset in records.next_offsets().items():
            self.books[tp].stands_at(offset.offset)
            self.highest[tp] = max(self.highest[tp], offset.offset)

    def _iterate(self) -> None:
        most = self.lot.choice((1, 2, 5, 30))
        taken: list[int] = []

        def go() -> bool:
            for record in self.consumer.records(idle_timeout=0.05):
                tp = TopicPartition(record.topic, record.partition)
                taken.append(record.offset)
                self._came(tp, record)
                self.in_hand, self.asked_on = (tp, record.offset), False
                if len(taken) == most:
                    return True
            self.in_hand = None
            return True

        if self._tried("records", go) is None:
            self.asked_on = True
        self._say(f"iterated over {taken}")

    def _came(self, tp: TopicPartition, record: Any) -> None:
        if tp not in self.assigned or tp in self.paused:
            raise WrongRecord(f"{record} came of what is paused or not assigned")
        self.books[tp].returned(record.offset, record.value)
        self.highest[tp] = max(self.highest[tp], record.offset + 1)
        self.returned += 1

    def _tried(self, what: str, call: "Callable[[], Any]") -> Any:
        """Make a call; None if it raised what it may."""
        try:
            result = call()
        except errors.WakeupException:
            assert self.woken, "not woken by any call"
            self.woken = False
        except errors.TimeoutException:
            assert what not in {"poll", "records"}
        except tuple(self._allowed) as error:
            self._say(f"{what}: {error}")
        else:
            return result
        return None

    # --- what else a user does -------------------------------------------------------

    def _seek(self) -> None:
        tps = sorted(self.assigned)
        if not tps:
            return
        tp = self.lot.choice(tps)
        book = self.books[tp]
        match self.lot.randrange(6):
            case 0:
                self._say(f"seek to the beginning of {tp}")
                self.consumer.seek_to_beginning(tp)
                book.moved_to(0)
            case 1:
                self._say(f"seek to the end of {tp}")
                self.consumer.seek_to_end(tp)
                book.moved_to_the_end(least_end(self.world, tp, committed=book.read_committed))
            case 2:
                far = book.end + 200
                self._say(f"seek to {far} of {tp}, past its end")
                self.consumer.seek(tp, far)
                book.moved_to(far)
            case _:
                offset = self.lot.randint(max(0, book.start - 3), book.end)
                self._say(f"seek to {offset} of {tp}")
                self.consumer.seek(tp, offset)
                book.moved_to(offset)
        self.highest[tp] = max(self.highest[tp], book.end + 200)
        if self.in_hand and self.in_hand[0] == tp:
            self.in_hand = None

    def _pause(self) -> None:
        if not self.assigned:
            return
        chosen = set(
            self.lot.sample(sorted(self.assigned), self.lot.randint(1, len(self.assigned)))
        )
        if self.lot.random() < 0.6:
            self._say(f"resume {sorted(chosen)}")
            self.consumer.resume(sorted(chosen))
            self.paused -= chosen
        else:
            self._say(f"pause {sorted(chosen)}")
            self.consumer.pause(sorted(chosen))
            self.paused |= chosen

    def _assign(self) -> None:
        self._reassign(set(self.lot.sample(self.all, self.lot.randint(1, 3))))

    def _reassign(self, wanted: set[TopicPartition]) -> None:
        self._say(f"assign {sorted(wanted)}")
        self.consumer.assign(sorted(wanted))
        for tp in sorted(wanted - self.assigned):
            offset = self.lot.randint(0, self.books[tp].end)
            self.consumer.seek(tp, offset)
            self.books[tp].moved_to(offset)
            self._say(f"and seek to {offset} of {tp}")
            self.highest[tp] = max(self.highest[tp], offset)
        self.assigned = wanted
        self.paused &= wanted
        if self.in_hand and self.in_hand[0] not in wanted:
            self.in_hand = None

    def _commit(self) -> None:
        timeout = self.lot.choice((0.0, 0.1, 2.0))
        self._say(f"commit_sync({timeout})")
        began = self.world.clock.time
        self._tried("commit_sync", lambda: self.consumer.commit_sync(timeout=timeout))
        assert self.world.clock.time <= began + timeout, "a commit that was late"
        for tp, kept in self.world.control.committed("g").items():
            # Behind what was returned there may be records that are not returned.
            late = self.books[tp].due(self.highest[tp], before=kept.offset)
            assert not late, f"{kept} of {tp}, and {late} was not returned"

    def _ask_position(self) -> None:
        if not self.assigned:
            return
        tp = self.lot.choice(sorted(self.assigned))
        position = self._tried("position", lambda: self.consumer.position(tp, 0.5))
        if position is None:
            return
        self._say(f"position of {tp}: {position}")
        if self.in_hand and self.in_hand[0] == tp and not self.asked_on:
            # Between what he has done with and what he has in hand nothing is due.
            assert position <= self.in_hand[1], "the record in hand counts as returned"
            assert not self.books[tp].due(position, before=self.in_hand[1])
        elif not self.in_hand or self.in_hand[0] != tp or position > self.in_hand[1]:
            # Else a call has asked for more and was called off: before or after that
            # counted, is not known.
            self.books[tp].stands_at(position)

    def _wake(self) -> None:
        def wake() -> None:
            self.woken = True
            self.consumer.wakeup()

        self._say("wakeup")
        moment = self.world.clock.time + self.lot.choice((0.0, 0.005, 0.2))
        self.world.at(moment, wake)

    # --- what goes wrong -------------------------------------------------------------

    def _keep(self, what: str, fault: Fault) -> None:
        self._say(f"{what}: {fault!r}")
        self._undo.append(fault.undo)

    def _break(self) -> None:
        control, lot = self.world.control, self.lot
        number = lot.choice(list(self.world.cluster.state.brokers))
        times = lot.choice((1, 1, 3, None))
        match lot.randrange(10):
            case 0:
                self._keep("freeze", control.freeze(number))
            case 1:
                if self.world.cluster.state.broker(number).running:
                    self._keep("kill", control.kill(number, missed=lot.random() < 0.5))
            case 2:
                self._say(f"disconnect {number}")
                control.disconnect(number, reset=lot.random() < 0.5)
            case 3 | 4:
                tp = lot.choice(self.all)
                # Where no other broker is in sync there is no broker to move to.
                with suppress(ValueError):
                    self._say(f"move {tp} to {control.move_leader(tp)}")
            case 5:
                self._say("forget sessions")
                control.forget_fetch_sessions(number)
            case 6:
                code, part = lot.choice(RETRIED), lot.choice((None, 0, 1))
                self._keep("refuse", control.fail("Fetch", code, times=times, partition=part))
            case 7:
                code = lot.choice(tuple(RAISED))
                self._allowed.add(RAISED[code])
                fault = control.fail("Fetch", code, times=1, partition=lot.choice((0, 1, 2)))
                self._keep("refuse for good", fault)
            case 8:
                api = lot.choice(APIS)
                slow = lot.choice((control.delay, control.answer_late, control.throttle))
                self._keep("slow", slow(api, lot.choice((0.01, 0.3, 1.2)), times=times))
            case _:
                api = lot.choice(APIS)
                lose = lot.choice((control.drop, control.cut))
                self._keep("lose", lose(api, times=times, applied=lot.random() < 0.5))

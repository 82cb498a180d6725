"""Bugs of hand-overs, each as a few words of the source and what stands there instead.

They are what the scenes are for. A scene that finds none of them any more, or words
that are not in the source any more, fail a test.
"""

from dataclasses import dataclass
from typing import Final

from tests.simulation.lockstep import (
    accumulating,
    awaiting,
    clients,
    hand_overs,
    polls,
    transactions,
)
from tests.simulation.lockstep.exploring import Scene

LOCKED: Final = "        with self._lock:\n"
CLOSED: Final = """            if self._closed is not None:
                raise self._closed()
"""
TAKE: Final = """            taken, self._events = self._events, []
            self._woken = False
            self.drained = self._since
"""
OPEN: Final = "            if self._stand is not Stand.OPEN:\n"
REFUSE: Final = OPEN + "                return False\n"
FINISH: Final = "            self._stand, self._answer = Stand.FINISHED, answer\n"
EXPIRE: Final = (
    "            self._stand, self._error = Stand.FINISHED, self._out_of_time(now)\n"
)
LEAVE: Final = "            self._stand = Stand.LEFT\n"
OPENING: Final = '        self._end(CALL_FINISHED, "answered")\n'
SHOW: Final = "                waiter = self._waiting_at = call.watch(self.new_waiter())\n"
WAIT: Final = "                if not (yield from self._wait_at(waiter, call, until)):\n"
WATCH: Final = "        self._background.watch(call)\n"
COLLECT: Final = "        result = collect(call.deadline)\n"
READ: Final = """        with suppress(BlockingIOError):
            os.read(self._reading, DRAINED_AT_ONCE)
"""
QUEUE: Final = "        self._opened.append(waiter)\n"
QUIET: Final = "        self._asked = False\n"
WAKER: Final = """        self.woken = True
        self.steady.off()
        waiter = self._waiting_at
        if waiter is not None:
            waiter.open()
"""


@dataclass(frozen=True)
class Bug:
    """One bug.

    Attributes:
        what: In words.
        module: Where.
        edits: What stands there, and what instead.
        found_by: The scene that is to find it.
    """

    what: str
    module: str
    edits: tuple[tuple[str, str], ...]
    found_by: Scene

    def __str__(self) -> str:
        return self.what.replace(" ", "-")


BUGS: Final = (
    Bug(
        "a post does not look whether the mailbox is closed",
        "events.mailbox",
        ((CLOSED, ""),),
        hand_overs.close_races_a_post,
    ),
    Bug(
        "a post takes no lock",
        "events.mailbox",
        ((LOCKED + CLOSED, "        if True:\n" + CLOSED),),
        hand_overs.close_races_a_post,
    ),
    Bug(
        "the wake is sent before the event is there",
        "events.mailbox",
        (
            (
                LOCKED + CLOSED,
                "        if not self._woken:\n            self._wake()\n" + LOCKED + CLOSED,
            ),
            ("        if wake:\n            self._wake()\n", ""),
        ),
        hand_overs.answers_come_at_once,
    ),
    Bug(
        "a drain leaves the wake flag up",
        "events.mailbox",
        ((TAKE, TAKE.replace("            self._woken = False\n", "")),),
        hand_overs.answers_come_at_once,
    ),
    Bug(
        "a drain takes no lock",
        "events.mailbox",
        (
            (
                LOCKED + TAKE,
                """        taken = list(self._events)
        self._events = []
        self._woken = False
""",
            ),
        ),
        hand_overs.two_posts_at_once,
    ),
    Bug(
        "a drain lowers the flag when it has taken",
        "events.mailbox",
        (
            (
                LOCKED + TAKE,
                """        with self._lock:
            taken, self._events = self._events, []
        self._woken = False
""",
            ),
        ),
        hand_overs.two_posts_at_once,
    ),
    Bug(
        "a claim does not look whether the caller has left",
        "events.call",
        ((OPEN + "                return None\n", ""),),
        hand_overs.claim_just_before_the_deadline,
    ),
    Bug(
        "a claim looks before it takes the lock",
        "events.call",
        (
            (
                LOCKED + OPEN + "                return None\n",
                "        if self._stand is not Stand.OPEN:\n            return None\n" + LOCKED,
            ),
        ),
        hand_overs.claim_just_before_the_deadline,
    ),
    Bug(
        "an answer does not look whether the call has ended",
        "events.call",
        ((REFUSE + FINISH, FINISH),),
        hand_overs.answer_just_before_the_deadline,
    ),
    Bug(
        "an answer looks before it takes the lock",
        "events.call",
        (
            (
                LOCKED + REFUSE + FINISH,
                "        if self._stand is not Stand.OPEN:\n            return False\n"
                + LOCKED
                + FINISH,
            ),
        ),
        hand_overs.answer_just_before_the_deadline,
    ),
    Bug(
        "the waiter is opened before the answer is there",
        "events.call",
        ((LOCKED + REFUSE + FINISH + OPENING, OPENING + LOCKED + REFUSE + FINISH),),
        hand_overs.answers_come_at_once,
    ),
    Bug(
        "the waiter is not opened for an answer",
        "events.call",
        ((FINISH + OPENING, FINISH),),
        hand_overs.answers_come_at_once,
    ),
    Bug(
        "the deadline does not look whether the call has ended",
        "events.call",
        ((REFUSE + EXPIRE, EXPIRE),),
        hand_overs.claim_just_before_the_deadline,
    ),
    Bug(
        "a caller leaves a call that has ended",
        "events.call",
        ((REFUSE + LEAVE, LEAVE),),
        hand_overs.answer_at_the_deadline,
    ),
    Bug(
        "a wait does not look whether the call has ended before it",
        "events.call",
        (
            (
                "            is_over = self._stand is not Stand.OPEN\n",
                "            is_over = False\n",
            ),
        ),
        hand_overs.answers_are_waited_for_late,
    ),
    Bug(
        "a wait looks for a wake-up before it shows its waiter",
        "application.call_runner",
        (
            (SHOW, "                waiter = call.watch(self.new_waiter())\n"),
            (WAIT, "                self._waiting_at = waiter\n" + WAIT),
        ),
        hand_overs.wakeup_without_an_answer,
    ),
    Bug(
        "a wake-up opens the waiter before it sets its flag",
        "application.call_runner",
        (
            (
                WAKER,
                """        waiter = self._waiting_at
        if waiter is not None:
            waiter.open()
        self.woken = True
        self.steady.off()
""",
            ),
        ),
        hand_overs.wakeup_without_an_answer,
    ),
    Bug(
        "a wait keeps a waiter that a late wake-up has opened",
        "application.call_runner",
        (
            (
                SHOW,
                """                if self._waiting_at is None:
                    self._waiting_at = call.watch()
                waiter = self._waiting_at
""",
            ),
        ),
        hand_overs.wakeup_from_a_thread,
    ),
    Bug(
        "a call that was interrupted is not withdrawn",
        "application.call_runner",
        (
            (
                "        if not call.leave(self._clock.now(), why):\n",
                "        if not call.is_open:\n",
            ),
        ),
        hand_overs.interrupt_in_a_wait,
    ),
    Bug(
        "a poll looks for errors before it is watched",
        "consumer.polling",
        ((WATCH, ""), (COLLECT, WATCH + COLLECT)),
        polls.an_error_while_polls_pass,
    ),
    Bug(
        "a poll that waits does not hear of the end of the thread",
        "events.background_events",
        (
            (
                """                self._closed = why
            waiting = self._waiting
""",
                """                self._closed = why
            waiting = None
""",
            ),
        ),
        polls.death_races_a_poll,
    ),
    Bug(
        "the wake flag is cleared before the byte is taken",
        "network_thread.io.wakeup",
        ((READ + QUIET, QUIET + READ),),
        hand_overs.two_posts_at_once,
    ),
    Bug(
        "the network thread takes it that no seek comes while it looks",
        "network_thread.offsets.positions_manager",
        (
            (
                "next((wanted for wanted in missing if wanted.partition == tp), None)",
                "next(wanted for wanted in missing if wanted.partition == tp)",
            ),
        ),
        clients.leave_and_seek,
    ),
    Bug(
        "an answer is settled in spite of a seek meanwhile",
        "events.positions",
        ((" and state.ticket == ticket", ""),),
        clients.seek_races_a_settle,
    ),
    Bug(
        "the ledger forgets what is on the wire",
        "events.call",
        (("            self._tries.append(attempt)\n", ""),),
        clients.commit_at_the_deadline,
    ),
    Bug(
        "a batch begins in the place of one that is open",
        "events.accumulator.accumulator",
        (("            while queue.open_batch is not None:\n", "            while False:\n"),),
        accumulating.two_senders_begin,
    ),
    Bug(
        "a batch begins in a queue that was forgotten",
        "events.accumulator.accumulator",
        (("self._queue_at(queue.tp.topic, queue.partition) is not queue", "False"),),
        accumulating.a_topic_is_forgotten_while_a_batch_begins,
    ),
    Bug(
        "a batch grows that was taken or has grown meanwhile",
        "events.accumulator.accumulator",
        (
            (
                "if queue.open_batch is batch and batch.room == before:",
                "if batch is not None:",
            ),
        ),
        accumulating.a_batch_grows_while_it_is_taken,
    ),
    Bug(
        "what is due is looked at before the wake flag is lowered",
        "events.accumulator.accumulator",
        (
            ("            self._is_woken = False\n            hurries", "            hurries"),
            (
                "            self._due.clear()\n            return found\n",
                """            self._due.clear()
        self._is_woken = False
        return found
""",
            ),
        ),
        accumulating.two_partitions_have_something,
    ),
    Bug(
        "a batch begins after the close",
        "events.accumulator.accumulator",
        (
            (
                """            if self.appender.refusal is not None:
                self.appender.refusal()
""",
                "",
            ),
        ),
        accumulating.an_append_races_a_close,
    ),
    Bug(
        "room that comes back wakes none that waits",
        "events.accumulator.buffer_memory",
        (
            (
                "            self.free += size\n            granted = self._grant()\n",
                "            self.free += size\n            granted: list[Claim] = []\n",
            ),
        ),
        accumulating.a_sender_waits_for_memory,
    ),
    Bug(
        "an event is put without the lock",
        "events.log_event_queue",
        (
            (
                "        with self._lock:\n            if len(self._events) == self._most:\n",
                "        if True:\n            if len(self._events) == self._most:\n",
            ),
        ),
        accumulating.events_race_the_polls_that_tell_them,
    ),
    Bug(
        "the flag of a loop's wake is looked at before the waiter is queued",
        "events.loop_wakes",
        (
            (
                QUEUE + "        if self._woken:\n",
                "        if self._woken:\n    " + QUEUE,
            ),
            ("        self._woken = True\n", QUEUE + "        self._woken = True\n"),
        ),
        awaiting.batches_end_while_the_loop_takes_others,
    ),
    Bug(
        "the flag of a loop's wake is cleared after the waiters were taken",
        "events.loop_wakes",
        (
            (
                "        self._woken = False\n        while self._opened:\n",
                "        while self._opened:\n",
            ),
            (
                "                opened()\n",
                "                opened()\n        self._woken = False\n",
            ),
        ),
        awaiting.batches_end_while_the_loop_takes_others,
    ),
    Bug(
        "a closed loop raises in the network thread",
        "events.loop_wakes",
        (
            (
                "        except Exception:  # noqa: BLE001",
                "        except KeyError:  # noqa: BLE001",
            ),
        ),
        awaiting.a_loop_closes_while_a_batch_ends,
    ),
    Bug(
        "records of the next transaction fail with those of an abort",
        "network_thread.produce.transactions.manager",
        (
            (
                "        if not unsent or self._transaction.writes_records:\n",
                "        if not unsent:\n",
            ),
        ),
        transactions.an_abort_at_the_deadline,
    ),
    Bug(
        "a commit that is out of time is open whatever was written",
        "producer.transacting",
        (("written=call.may_have_happened", "written=False"),),
        transactions.a_commit_at_the_deadline,
    ),
    Bug(
        "the end of a call overrules an error",
        "events.transaction_state",
        (
            (
                "                return  # Rule B: an error came first.\n",
                "                pass\n",
            ),
        ),
        transactions.a_fence_at_the_deadline,
    ),
    Bug(
        "a commit does not wait for its records",
        "network_thread.produce.transactions.manager",
        (("        await self._drain(call, is_commit=True)\n", ""),),
        transactions.a_send_races_a_commit,
    ),
)

"""The loop of attempts: actions by code, pauses, the ledger, and the end of a call."""

from itertools import pairwise
from typing import ClassVar

import pytest

from prokurist.errors import (
    CoordinatorLoadInProgressException,
    DisconnectException,
    KafkaException,
    TimeoutException,
    TopicAuthorizationException,
    UnsupportedVersionException,
)
from prokurist.events.call import Call
from prokurist.network_thread.cluster.attempts import Question, Verdict
from prokurist.network_thread.cluster.routes import AnyBroker, Leader
from prokurist.network_thread.connections.network_client import NetworkClient
from prokurist.network_thread.connections.requests import Answer
from prokurist.network_thread.error_actions import Action, table
from prokurist.network_thread.operations.operation import Operation, Promise
from prokurist.network_thread.operations.retries import Retries
from prokurist.network_thread.wire.group_listing import ListGroups, ListGroupsAnswer
from prokurist.types import Node, TopicPartition
from tests.simulation.attempting import LIST_GROUPS, Worked, answered_by, asked
from tests.simulation.world import Member, World


def started() -> tuple[World, Member, AnyBroker]:
    """A world of one broker, a client that knows it, and the route to it."""
    world = World()
    member = world.client(fetches=False)
    route = AnyBroker(member.side.metadata.brokers)
    asked(world, member, route).result()
    return world, member, route


def moments(world: World) -> list[float]:
    """When the broker was asked."""
    return [each.at for each in world.cluster.journal.entries("ListGroups")]


def test_a_code_to_retry_is_asked_again_after_growing_pauses() -> None:
    """Each pause is longer than the last, and the call ends with the answer."""
    world, member, route = started()
    world.control.fail("ListGroups", 14, times=4)
    assert asked(world, member, route).result().error == 0
    at = moments(world)[1:]
    pauses = [later - earlier for earlier, later in pairwise(at)]
    assert len(pauses) == 4
    assert pauses == sorted(pauses)
    assert pauses[0] < 0.2 < pauses[-1]


def test_a_fatal_code_is_raised_at_once() -> None:
    """Nothing is asked again."""
    world, member, route = started()
    world.control.fail("ListGroups", 29, times=None)
    assert isinstance(asked(world, member, route).error(), TopicAuthorizationException)
    assert len(moments(world)) == 2


def test_a_code_without_a_row_is_judged_by_its_class() -> None:
    """A code that is newer than we are is fatal, with its number."""
    world, member, route = started()
    world.control.fail("ListGroups", 2999, times=None)
    error = asked(world, member, route).error()
    assert "2999" in str(error)
    assert len(moments(world)) == 2


def test_an_action_of_one_manager_alone_ends_a_plain_request() -> None:
    """It is no reason for another attempt: nothing would have changed."""
    world, member, route = started()
    odd = table("ListGroups", {14: (Action.SPLIT, "an action of batches")})
    world.control.fail("ListGroups", 14, times=None)
    error = asked(world, member, route, codes=odd).error()
    assert isinstance(error, CoordinatorLoadInProgressException)
    assert len(moments(world)) == 2


def test_the_ledger_has_each_attempt_the_pauses_and_the_last_error() -> None:
    """A TimeoutException tells all of them."""
    world, member, route = started()
    world.control.fail("ListGroups", 14, times=None)
    error = asked(world, member, route, timeout=2.0).error()
    assert isinstance(error, TimeoutException)
    assert len(error.attempts) == len(moments(world)) - 1 > 3
    assert {each.outcome for each in error.attempts} == {"CoordinatorLoadInProgressException"}
    assert "retry backoff" in {each.reason for each in error.waits}
    assert isinstance(error.last_error, CoordinatorLoadInProgressException)


def test_an_attempt_without_an_answer_is_repeated() -> None:
    """A broker hangs up; another connection has the answer."""
    world, member, route = started()
    world.control.cut("ListGroups", times=2)
    assert asked(world, member, route).result().error == 0
    world.control.cut("ListGroups", times=None)
    error = asked(world, member, route, timeout=3.0).error()
    assert isinstance(error, TimeoutException)
    assert isinstance(error.last_error, DisconnectException)


def test_the_error_of_a_route_is_the_last_error() -> None:
    """Of bootstrap addresses that all refuse, it names each of them."""
    world = World(nodes=2)
    for number in (1, 2):
        world.control.kill(number)
    member = world.client(fetches=False)
    route = AnyBroker(member.side.metadata.brokers)
    error = asked(world, member, route, timeout=5.0).error()
    assert isinstance(error, TimeoutException)
    assert "none of the 2 addresses in bootstrap.servers" in str(error.last_error)


def test_a_request_that_no_version_carries_is_raised_at_once() -> None:
    """No pause would mend that."""
    world, member, _ = started()
    world.control.withdraw("ListGroups")
    world.control.disconnect()
    route = Leader(member.side.metadata, TopicPartition("orders", 0))
    assert isinstance(asked(world, member, route).error(), UnsupportedVersionException)


@pytest.mark.parametrize("undone", [False, True])
def test_a_refusal_that_proves_that_nothing_was_done_is_told(*, undone: bool) -> None:
    """Without that word, a request with an effect may have happened."""
    world, member, route = started()

    class Write(Once):
        def judge(self, answer: Answer[ListGroupsAnswer]) -> Verdict:
            del answer
            error = CoordinatorLoadInProgressException("loading")
            return Verdict(Action.RETRY, error, undone=undone)

    work = Worked(world, member, 2.0)
    error = work.start(member.side.attempts.ask(route, Write(work))).error()
    assert isinstance(error, TimeoutException)
    assert error.may_have_happened is not undone


def test_background_work_goes_on_without_a_call() -> None:
    """Its errors are noted by its owner, and its pauses have a name of their own."""
    world, member, route = started()
    world.control.fail("ListGroups", 14, times=2)
    world.control.cut("ListGroups", times=1)
    met: list[KafkaException] = []
    ends: list[object] = []
    member.side.timer.now = world.clock.time
    Operation(
        member.side.attempts.request(route, ListGroups(), LIST_GROUPS, note=met.append),
        "a test",
        lambda answer, error: ends.append(error or answer),
    )
    member.network.wake()
    world.clock.sleep(5.0)
    assert len(met) == 3
    assert isinstance(ends[0], ListGroupsAnswer)


def test_background_work_keeps_no_ledger_of_all_attempts() -> None:
    """It may go on for days: each attempt notes its waits in a call of its own."""
    world, member, _ = started()

    class Watched(AnyBroker):
        calls: ClassVar[list[Call]] = []

        async def find(self, call: Call) -> Node | None:
            self.calls.append(call)
            return await super().find(call)

    world.control.fail("ListGroups", 14, times=3)
    route = Watched(member.side.metadata.brokers)
    member.side.timer.now = world.clock.time
    work = member.side.attempts.request(route, ListGroups(), LIST_GROUPS)
    operation = Operation(work, "a test", lambda _answer, _error: None)
    member.network.wake()
    world.clock.sleep(5.0)
    assert operation.ended
    assert len(Watched.calls) == len(set(map(id, Watched.calls))) == 4


def test_work_that_is_over_asks_nothing() -> None:
    """A question of which nothing is left ends before a broker is looked for."""
    world, member, route = started()
    work = Worked(world, member, 5.0)
    question = Once(work)
    question.left = 0
    assert work.start(member.side.attempts.ask(route, question)).result() is None
    assert len(answered_by(world)) == 1


def test_the_rest_is_asked_for_without_a_loss() -> None:
    """What an answer leaves is asked for again, until nothing of it is left."""
    world, member, route = started()
    work = Worked(world, member, 5.0)
    question = Once(work)
    question.left = 3
    work.start(member.side.attempts.ask(route, question)).result()
    assert len(answered_by(world)) == 4


def test_a_success_makes_the_next_pause_the_shortest() -> None:
    """Failures count in a row; one that is skipped counts as well."""
    _, member, _ = started()
    side = member.side
    retries: Retries = side.attempts.retries()
    first = retries.next
    assert retries.skip() == first
    assert retries.count == 1
    assert retries.next > first
    assert "1 failures" in repr(retries)
    retries.reset()
    assert retries.count == 0
    assert retries.next < 0.13


class Once(Question[ListGroupsAnswer]):
    """A request for so many answers."""

    def __init__(self, work: Worked) -> None:
        self.call = work.call
        self.left = 1

    @property
    def is_over(self) -> bool:
        """Whether all answers have come."""
        return not self.left

    def send(self, client: NetworkClient, node: Node) -> Promise[Answer[ListGroupsAnswer]]:
        """Send it as a write."""
        return client.send(node, ListGroups(), call=self.call, effect=True)

    def judge(self, answer: Answer[ListGroupsAnswer]) -> Verdict:
        """One answer less to wait for."""
        del answer
        self.left -= 1
        return Verdict(Action.DONE)

"""A request on its way: what each stage keeps of it."""

from prokurist.network_thread.connections.requests import Lane, Sent, Unsent
from prokurist.network_thread.wire.metadata import CoordinatorOf, FindCoordinator


def test_a_request_begins_unwritten_and_unclaimed() -> None:
    """Without a call and without effect unless it says so."""
    request = FindCoordinator("g", CoordinatorOf.GROUP)
    unsent = Unsent(request, None, effect=False)
    assert (unsent.request, unsent.call, unsent.effect, unsent.due) == (
        request,
        None,
        False,
        None,
    )
    assert not unsent.promise.is_kept


def test_on_the_wire_it_has_a_number_and_a_version() -> None:
    """What its answer is recognised by, and read in."""
    unsent = Unsent(FindCoordinator("g", CoordinatorOf.GROUP), None, effect=True)
    sent = Sent(unsent, 7, 3, 30, None, 0.0)
    assert (sent.correlation, sent.version, sent.abandoned, sent.due) == (7, 3, False, None)


def test_what_a_broker_may_park_has_a_lane_of_its_own() -> None:
    """B217: fetches, joins, produce and coordinator traffic, each apart from all else."""
    assert {lane.value for lane in Lane} == {
        "general",
        "coordinator",
        "fetch",
        "join",
        "produce",
    }

"""Groups of the newer protocols, as their coordinator describes them."""

from prokurist.network_thread.wire.admin.group_descriptions import REQUEST_BY_KIND
from prokurist.types.groups import Group, GroupKind
from tests.unit.network_thread.wire.admin_group_exchanges import EXCHANGES
from tests.unit.network_thread.wire.exchange import Exchange


def described(kind: GroupKind) -> Group:
    """The group in the exchange of a kind."""
    request = REQUEST_BY_KIND[kind](("g", "h"))
    exchange: Exchange = next(
        each for each in EXCHANGES if each.module == f"{kind.value}_group_describe"
    )
    answer = request.answer(exchange.answered)
    assert answer.items["h"].error == 69
    group = answer.items["g"].value
    assert isinstance(group, Group)
    return group


def test_a_share_group_has_members_with_their_partitions() -> None:
    """B637: several members may have the same partition; there is no target."""
    (member,) = described(GroupKind.SHARE).members
    assert {each.partition for each in member.assignment} == {0, 3}
    assert member.target is None
    assert member.process is None


def test_a_streams_group_has_a_topology_and_tasks() -> None:
    """B637: the topology, and the tasks of each process."""
    group = described(GroupKind.STREAMS)
    assert group.topology is not None
    assert group.topology.epoch == 2
    process = group.members[0].process
    assert process is not None
    assert process.tasks.active[0].partitions == (0,)
    assert process.target.active[0].partitions == (0, 1)
    assert not group.members[0].assignment

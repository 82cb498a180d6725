"""The model answers as real brokers do, field by field, but for what is accepted."""

from pathlib import Path

import pytest

from prokurist.testing.cluster.apis import ApiName
from tests.conformance.accepted import ACCEPTED
from tests.conformance.catalogue import (
    AT_TRANSACTION_VERSION_1,
    MODELLED_AS_4,
    OF_SHARE_GROUPS,
    OF_THE_CONSUMER_PROTOCOL,
    ON_A_GUARDED_NODE,
    ON_A_NODE_OF_ITS_OWN,
    ON_A_NODE_THAT_FORGETS,
    ON_NODES_OF_THEIR_OWN,
    ON_NODES_THAT_COORDINATE_ALONE,
    ON_ONE_NODE,
    ON_PATIENT_NODES,
    ON_THREE_NODES,
)
from tests.conformance.comparing import Difference
from tests.conformance.random_sequences import GRAMMARS
from tests.conformance.stage import Pair, Scenario

pytestmark = pytest.mark.kafka


def report(differences: list[Difference]) -> str:
    """The first differences in full, and how many there are."""
    shown = "\n\n".join(map(str, differences[:10]))
    return f"{len(differences)} differences\n\n{shown}"


PLAYS = 3
"""Plays of a scenario in which a difference has to repeat."""


def differences_of(
    pair: Pair, version: str, scenario: Scenario, vintage: int
) -> list[Difference]:
    """Play a scenario; keep the differences that repeat.

    A broker tells of a change before all of its parts know it: on a busy machine it may answer
    from the state before. A difference of the model is there in each play.
    """
    found = pair.play(scenario, vintage)
    for _ in range(PLAYS - 1):
        if not left_of(found, version, scenario):
            break
        again = {(each.step.number, each.path) for each in pair.play(scenario, vintage)}
        found = [each for each in found if (each.step.number, each.path) in again]
    return found


def left_of(found: list[Difference], version: str, scenario: Scenario) -> list[Difference]:
    """The differences that are not accepted."""
    name = scenario.__name__
    return [
        one for one in found if not any(each.covers(one, version, name) for each in ACCEPTED)
    ]


def hold(pair: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]) -> None:
    """Play a scenario in all versions of its APIs; fail for what is not accepted or stale."""
    found = [
        each
        for vintage in pair.vintages(*apis)
        for each in differences_of(pair, version, scenario, vintage)
    ]
    played = scenario.__name__
    left = left_of(found, version, scenario)
    assert not left, report(left)
    stale = [words for each in ACCEPTED for words in each.stale(found, version, played)]
    assert not stale, f"no difference any more, so take it from the list: {stale}"


EVERYTHING = [*ON_ONE_NODE, *OF_THE_CONSUMER_PROTOCOL, *OF_SHARE_GROUPS]


def skip_other_kinds_of_39(version: str, scenario: Scenario) -> None:
    """Skip a scenario whose answers the model has as Kafka 4.3 gives them."""
    if version == "3.9.2" and scenario in MODELLED_AS_4:
        pytest.skip("the model answers as Kafka 4.3 alone does")


@pytest.mark.parametrize(
    ("scenario", "apis"), EVERYTHING, ids=[each.__name__ for each, _ in EVERYTHING]
)
def test_one_node(
    pair: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]
) -> None:
    """The requests of a scenario, sent to one node."""
    if (scenario, apis) in OF_THE_CONSUMER_PROTOCOL and version == "3.9.2":
        pytest.skip("Kafka 3.9 had the consumer protocol in early access: other epochs")
    if (scenario, apis) in OF_SHARE_GROUPS and version == "3.9.2":
        pytest.skip("Kafka has share groups since 4.1")
    skip_other_kinds_of_39(version, scenario)
    hold(pair, version, scenario, apis)


@pytest.mark.parametrize(
    ("scenario", "apis"),
    ON_A_GUARDED_NODE,
    ids=[each.__name__ for each, _ in ON_A_GUARDED_NODE],
)
def test_a_guarded_node(
    guarded_pair: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]
) -> None:
    """The requests of a scenario, sent to a node with an authorizer."""
    hold(guarded_pair, version, scenario, apis)


@pytest.mark.minutes
@pytest.mark.parametrize(
    ("scenario", "apis"),
    ON_A_NODE_OF_ITS_OWN,
    ids=[each.__name__ for each, _ in ON_A_NODE_OF_ITS_OWN],
)
def test_a_node_of_its_own(
    own_pair: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]
) -> None:
    """The requests of a scenario that kills the node and starts it again."""
    hold(own_pair, version, scenario, apis)


@pytest.mark.minutes
@pytest.mark.parametrize(
    ("scenario", "apis"),
    ON_NODES_OF_THEIR_OWN,
    ids=[each.__name__ for each, _ in ON_NODES_OF_THEIR_OWN],
)
def test_nodes_of_their_own(
    own_pair_of_three: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]
) -> None:
    """The requests of a scenario that kills one of three nodes."""
    hold(own_pair_of_three, version, scenario, apis)


@pytest.mark.minutes
@pytest.mark.parametrize(
    ("scenario", "apis"), ON_PATIENT_NODES, ids=[each.__name__ for each, _ in ON_PATIENT_NODES]
)
def test_patient_nodes(
    patient_pair_of_three: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]
) -> None:
    """The requests of a scenario that freezes one of three nodes in sync."""
    hold(patient_pair_of_three, version, scenario, apis)


@pytest.mark.minutes
@pytest.mark.parametrize(
    ("scenario", "apis"),
    ON_NODES_THAT_COORDINATE_ALONE,
    ids=[each.__name__ for each, _ in ON_NODES_THAT_COORDINATE_ALONE],
)
def test_nodes_that_coordinate_alone(
    lone_pair_of_three: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]
) -> None:
    """The requests of a scenario that freezes one of three nodes that lead."""
    hold(lone_pair_of_three, version, scenario, apis)


@pytest.mark.minutes
@pytest.mark.parametrize(
    ("scenario", "apis"),
    ON_A_NODE_THAT_FORGETS,
    ids=[each.__name__ for each, _ in ON_A_NODE_THAT_FORGETS],
)
def test_a_node_that_forgets(
    forgetful_pair: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]
) -> None:
    """The requests of a scenario that waits until a transactional id is forgotten."""
    hold(forgetful_pair, version, scenario, apis)


@pytest.mark.minutes
def test_transaction_version_1(own_pair: Pair, version: str) -> None:
    """Scenarios of transactions on a node of 4.x that is not at version 2 yet."""
    if version == "3.9.2":
        pytest.skip("Kafka 3.9 has no feature transaction.version")
    for side in (own_pair.model, own_pair.real):
        side.finalize("transaction.version", 1)
    for scenario, apis in AT_TRANSACTION_VERSION_1:
        hold(own_pair, version, scenario, apis)


def test_every_accepted_difference_is_documented() -> None:
    """docs/testing.md names it, with its reason."""
    page = (Path(__file__).parents[2] / "docs" / "testing.md").read_text(encoding="utf-8")
    assert [each.name for each in ACCEPTED if f"| {each.name} |" not in page] == []


def test_every_accepted_difference_names_scenarios_that_there_are() -> None:
    """So that each is looked for somewhere."""
    several = [*ON_THREE_NODES, *ON_NODES_OF_THEIR_OWN, *ON_PATIENT_NODES]
    several += ON_A_GUARDED_NODE
    several += [*ON_NODES_THAT_COORDINATE_ALONE, *ON_A_NODE_THAT_FORGETS]
    names = {each.__name__ for each, _ in [*EVERYTHING, *ON_A_NODE_OF_ITS_OWN, *several]}
    names |= {each.__name__ for each in GRAMMARS}
    assert {name for each in ACCEPTED for name in each.scenarios} <= names


@pytest.mark.parametrize(
    ("scenario", "apis"), ON_THREE_NODES, ids=[each.__name__ for each, _ in ON_THREE_NODES]
)
def test_three_nodes(
    pair_of_three: Pair, version: str, scenario: Scenario, apis: tuple[ApiName, ...]
) -> None:
    """The requests of a scenario, sent to three nodes."""
    skip_other_kinds_of_39(version, scenario)
    hold(pair_of_three, version, scenario, apis)

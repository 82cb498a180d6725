"""Wrong arguments, and what is not assigned: confluent-kafka's face beside confluent-kafka.

Each call is made on both, without a broker, and has to end in the same way.
"""

import copy
import pickle
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count
from typing import Any

import confluent_kafka as theirs
import pytest

from prokurist.compat import confluent_kafka as face

NOWHERE = {"bootstrap.servers": "localhost:1"}
QUIET = {"log_level": 0}


def outcome(call: Callable[[], Any]) -> object:
    """The class of what a call raises, and confluent-kafka's number; else what it returns."""
    try:
        return call()
    except (theirs.KafkaException, face.KafkaException) as error:
        return "KafkaException", error.args[0].code()
    except (TypeError, ValueError, OverflowError, RuntimeError) as error:
        return type(error).__name__


def named(given: object) -> str:
    """Its name as a case, which is the same in each process: without addresses."""
    return re.sub(" at 0x[0-9a-f]+", "", str(given))


def both(call: Callable[[Any, Any], Any], **keys: Any) -> tuple[object, object]:
    """What a call ends with on a consumer of theirs and on one of ours."""
    group = {**NOWHERE, "group.id": "billing", **keys}
    found = []
    for kind, package, more in ((theirs, theirs, QUIET), (face, face, {})):
        with closing(kind.Consumer({**group, **more})) as consumer:
            found.append(outcome(lambda: call(consumer, package)))  # noqa: B023 - called here
    return found[0], found[1]


@pytest.mark.parametrize(
    "arguments",
    [
        ("a", "1"),
        ("a", 1.0),
        ("a", None),
        ("a", 2**31),
        ("a", -(2**31) - 1),
        (1,),
        (None,),
        (b"a",),
        ("a", 0, "1"),
        ("a", 0, 1.5),
        ("a", 0, None),
        ("a", 0, 2**63),
        ("a", 0, 2**70),
        ("a", 0, -(2**63) - 1),
        ("a", 0, 1, 1),
        ("a", 0, 1, b"m"),
        ("a", 0, 1, "m", "1"),
        ("a", 0, 1, "m", 2**31),
    ],
)
def test_a_partition_is_of_the_right_types(arguments: tuple[Any, ...]) -> None:
    """B398: `TopicPartition("a", "1")` would be refused somewhere else, or nowhere."""
    expected = outcome(lambda: theirs.TopicPartition(*arguments))
    assert expected in ("TypeError", "OverflowError")
    assert outcome(lambda: face.TopicPartition(*arguments)) == expected


@pytest.mark.parametrize("number", ["3", None, 2**70])
@pytest.mark.parametrize("name", ["partition", "offset"])
def test_a_partitions_numbers_may_be_changed(name: str, number: Any) -> None:
    """B398: to what they may be."""
    found = []
    ours: Any = face.TopicPartition("a", True, 2**63 - 1, "m", -1)
    for tp in (theirs.TopicPartition("a", True, 2**63 - 1, "m", -1), ours):
        assert (tp.partition, tp.offset, tp.leader_epoch) == (1, 2**63 - 1, None)
        setattr(tp, name, 3)
        assert getattr(tp, name) == 3
        found.append(outcome(lambda: setattr(tp, name, number)))  # noqa: B023 - called here
    assert getattr(ours, name) == 3
    assert found[0] == found[1]


def test_partitions_are_in_an_order_of_their_own() -> None:
    """Beside what else there is they are in none."""
    with pytest.raises(TypeError, match="not supported"):
        assert face.TopicPartition("a", 1) < 3
    assert face.TopicPartition("a", 1) < face.TopicPartition("a", 2)


@pytest.mark.parametrize("topics", [[], [""], ["a", ""], (), ("a",), {"a"}, None, "a"])
def test_a_subscription_is_to_a_list_of_topics(topics: Any) -> None:
    """B398: an empty one ended it."""
    expected, found = both(lambda consumer, _: consumer.subscribe(topics))
    assert found == expected != None  # noqa: E711 - that would be no refusal


@pytest.mark.parametrize("arguments", [(), (None,), ({},), (NOWHERE,), (1,), ("a",)])
def test_a_consumer_has_a_configuration_and_a_group(arguments: tuple[Any, ...]) -> None:
    """B398: the error says which is missing."""
    expected = outcome(lambda: theirs.Consumer(*arguments))
    assert expected in ("TypeError", "ValueError")
    assert outcome(lambda: face.Consumer(*arguments)) == expected


@pytest.mark.parametrize("arguments", [(), (None,), (1,)])
def test_a_producer_has_a_configuration(arguments: tuple[Any, ...]) -> None:
    """B398: and not another thing in its place."""
    assert outcome(lambda: theirs.Producer(*arguments)) == "TypeError"
    assert outcome(lambda: face.Producer(*arguments)) == "TypeError"


def test_a_group_is_named_in_any_spelling() -> None:
    """As keys of the face are; one that is None is none."""
    with closing(face.Consumer(NOWHERE, group_id="billing")) as consumer:
        assert b"billing" in consumer.consumer_group_metadata()
    with pytest.raises(ValueError, match=r"group\.id must be set"):
        face.Consumer({**NOWHERE, "group.id": None})


@pytest.mark.parametrize(
    ("stores", "offsets"),
    [
        (True, []),
        (True, [("a", 0, 1)]),
        (True, [("a", 1, 1)]),
        (False, []),
        (False, [("a", 1, 1)]),
        (False, [("a", 0)]),
    ],
)
def test_what_is_stored(stores: Any, offsets: list[tuple[Any, ...]]) -> None:
    """B398: `_INVALID_ARG` where all that is returned counts as done."""

    def call(consumer: Any, package: Any) -> object:
        consumer.assign([package.TopicPartition("a", 0)])
        return consumer.store_offsets(
            offsets=[package.TopicPartition(*each) for each in offsets]
        )

    expected, found = both(call, **{"enable.auto.offset.store": stores})
    assert found == expected


@pytest.mark.parametrize(
    "calls",
    [
        [("incremental_assign", [0]), ("incremental_assign", [0])],
        [("incremental_assign", [1, 1])],
        [("incremental_assign", [0]), ("incremental_assign", [1, 0])],
        [("incremental_assign", [0]), ("incremental_unassign", [1])],
        [("incremental_assign", [0]), ("incremental_unassign", [0, 1])],
        [("incremental_assign", [0, 1]), ("incremental_unassign", [0])],
        [("incremental_unassign", [0])],
        [("incremental_unassign", [])],
        [("incremental_assign", [])],
        [("assign", [0, 0])],
        [("assign", [0, 1]), ("assign", [1])],
        [("seek", None)],
    ],
    ids=named,
)
def test_what_is_assigned_twice_or_not_at_all(calls: list[tuple[str, Any]]) -> None:
    """B398: it is refused whole, with confluent-kafka's number."""

    def call(consumer: Any, package: Any) -> object:
        ended: list[object] = []
        for name, numbers in calls:
            given = numbers and [package.TopicPartition("a", each) for each in numbers]
            ended.append(outcome(lambda: getattr(consumer, name)(given)))  # noqa: B023
        return ended, [each.partition for each in consumer.assignment()]

    expected, found = both(call)
    assert found == expected


@pytest.mark.parametrize("name", ["assign", "incremental_assign", "incremental_unassign"])
@pytest.mark.parametrize("given", [None, (), "a", ["a"]])
def test_what_is_assigned_is_a_list(name: str, given: Any) -> None:
    """B398: of partitions."""
    expected, found = both(lambda consumer, _: getattr(consumer, name)(given))
    assert found == expected == "TypeError"


@pytest.mark.parametrize("instance", [None, "first"])
def test_a_place_in_a_group_is_librdkafkas_bytes(instance: str | None) -> None:
    """B398: a transaction of confluent-kafka's own producer takes them."""
    keys = {} if instance is None else {"group.instance.id": instance}
    expected, found = both(lambda consumer, _: consumer.consumer_group_metadata(), **keys)
    assert isinstance(found, bytes)
    assert found == expected


@pytest.fixture(name="producers")
def both_producers() -> Iterator[list[Any]]:
    """One of theirs and one of ours."""
    with closing(face.Producer({**NOWHERE, "max.block.ms": 0})) as ours:
        their_own = theirs.Producer({**NOWHERE, **QUIET})
        yield [their_own, ours]
        their_own.purge()
        ours.purge()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            their_own.flush(1)


@pytest.mark.parametrize(
    "headers",
    [
        [("a", 1)],
        [("a", 1.5)],
        [("a", True)],
        [("a", [])],
        [("a", bytearray(b"x"))],
        [("a", memoryview(b"x"))],
        {"a": 1},
        {"a": ["x"]},
        [("a",)],
        [("a", "b", "c")],
        ["ab"],
        [["a", b"b"]],
        "ab",
        5,
        (("a", b"1"),),
        iter([("a", b"1")]),
    ],
    ids=named,
)
def test_headers_of_wrong_types(producers: list[Any], headers: Any) -> None:
    """B398: among them `["ab"]`, which went as `a: b`."""
    for producer in producers:
        with pytest.raises(TypeError):
            producer.produce("orders", b"v", headers=headers)
    assert len(producers[1]) == 0


@pytest.mark.parametrize(
    "headers",
    [None, [], {}, [("a", "s")], [("a", b"b")], [("a", None)], {"a": None}, [(1, b"b")]],
    ids=named,
)
def test_headers_that_are_taken(producers: list[Any], headers: Any) -> None:
    """B398: text, bytes and None."""
    for producer in producers:
        producer.produce("orders", b"v", headers=headers)


@pytest.mark.parametrize(
    "arguments",
    [
        {"value": 1},
        {"value": []},
        {"key": 1},
        {"key": 1.5},
        {"timestamp": 2**63},
        {"timestamp": 2**70},
        {"timestamp": "1"},
        {"timestamp": 1.5},
        {"timestamp": None},
        {"partition": 2**31},
        {"partition": 2**63},
        {"partition": "1"},
        {"partition": None},
    ],
    ids=named,
)
def test_other_arguments_of_produce(producers: list[Any], arguments: dict[str, Any]) -> None:
    """B398: they end as there, and nothing is on its way."""
    expected, found = (
        outcome(lambda: producer.produce("orders", **arguments))  # noqa: B023 - called here
        for producer in producers
    )
    assert found == expected != None  # noqa: E711 - that would be no refusal
    assert len(producers[1]) == 0


@pytest.mark.parametrize(
    "call",
    [
        lambda kind: str(kind(-185)).partition(",str=")[0],
        lambda kind: str(kind(3, "reason")),
        lambda kind: repr(kind(-150, "reason", fatal=True)),
        lambda kind: f"{kind(3, 'reason')}|{kind(3, 'reason')!r}",
        lambda kind: (kind(3, "reason").code(), kind(3).name(), kind(3, "").str()),
        lambda kind: kind(9999).name(),
        lambda kind: (kind(3) == 3, kind(3) == kind(3, "other"), kind(3) != 4),
        lambda kind: (kind(3) < 4, kind(3) > kind(2), kind(3) <= 3, kind(3) >= 4),
        lambda kind: (hash(kind(-185)), kind(-185) in {-185: 0}),
        lambda kind: str(pickle.loads(pickle.dumps(kind(3, "reason", retriable=True)))),
        lambda kind: pickle.loads(pickle.dumps(kind(3, "r", True))).fatal(),
        lambda kind: str(copy.deepcopy(kind(3, "reason"))),
        lambda kind: kind(),
        lambda kind: kind("3"),
        lambda kind: kind(code=3),
    ],
    ids=count(),
)
def test_an_error_is_a_value(call: Callable[[Any], object]) -> None:
    """B457: with its number, its text and an order, as there."""
    expected = outcome(lambda: call(theirs.KafkaError))
    assert outcome(lambda: call(face.KafkaError)) == expected


def raised_past(package: Any, error: Exception) -> None:
    """Raise an error past an `except` that names what it is not, besides what it is."""
    try:
        raise error
    except package.KafkaError as caught:
        raise AssertionError("it is no KafkaError") from caught


@pytest.mark.parametrize("package", [theirs, face], ids=["theirs", "ours"])
def test_both_classes_of_errors_stand_in_one_except(package: Any) -> None:
    """B457: where an error of another class comes by, too."""
    error = package.KafkaException(package.KafkaError(-185))
    for each in (error, LookupError("mine")):
        with pytest.raises(type(each)) as caught:
            raised_past(package, each)
        assert caught.value is each
    assert str(error) == str(error.args[0])


@pytest.mark.parametrize(
    "servers",
    [
        "localhost",
        "localhost:1",
        "PLAINTEXT://localhost:1",
        "plaintext://localhost",
        "localhost:1,",
        " localhost:1 , localhost:2",
        "localhost:1/",
        "",
        ",",
    ],
)
def test_a_broker_is_named_in_librdkafkas_spellings(servers: str) -> None:
    """B458: without a port, behind a protocol, with a comma too many."""
    found = []
    for package, more in ((theirs, QUIET), (face, {})):
        given = {"bootstrap.servers": servers, "group.id": "billing", **more}
        found.append(outcome(lambda: package.Consumer(given).close()))  # noqa: B023
    assert found[0] == found[1] or not servers.strip(",")

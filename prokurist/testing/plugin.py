"""The pytest plugin: a real Kafka, an embedded one, and virtual time as fixtures.

    def test_my_pipeline(prokurist_kafka, prokurist_topic):
        run(bootstrap_servers=prokurist_kafka.bootstrap, topic=prokurist_topic)

| fixture | scope | what it is |
| --- | --- | --- |
| `prokurist_kafka` | session | one node, shared |
| `prokurist_cluster` | session | three nodes, shared |
| `prokurist_own_kafka` | function | one node, to kill and to reconfigure |
| `prokurist_own_cluster` | function | three nodes, likewise |
| `prokurist_topic` | function | a new topic of one partition on `prokurist_kafka` |
| `prokurist_broker` | function | the embedded broker, scriptable, with a topic `orders` |
| `prokurist_clock` | function | virtual time: such a broker and consumers, and their clock |

`@pytest.mark.prokurist_broker(version="3.9.2", properties={...}, security=...)` says
what the two of one's own shall be; `security` is a `SecuredListener`. A Kafka given by
`PROKURIST_TEST_BOOTSTRAP` serves `prokurist_kafka` only: the others need nodes that can
be frozen, killed and put behind a proxy, and get them further down the ladder.

Thread: pytest's.
Invariants: imported in each of our users' test runs, so nothing but pytest is
imported here before a fixture is used, nothing is started, and no fixture is
autouse. After each test the shared Kafkas are as they were before it: wires
healed, frozen nodes thawed, dead ones restarted.
"""

from collections.abc import Generator, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

if TYPE_CHECKING:
    from prokurist.testing.broker import EmbeddedBroker
    from prokurist.testing.kafka import RealKafka
    from prokurist.testing.virtual_time.clock import VirtualClock

_SHARED: Final = pytest.StashKey[list["RealKafka"]]()
_MARKER: Final = "prokurist_broker"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options, all of them prefixed."""
    parser.getgroup("prokurist", "prokurist: a real Kafka for tests").addoption(
        "--prokurist-kafka-version",
        metavar="VERSION",
        help="version of Apache Kafka that the fixtures start, such as 3.9.2",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.stash[_SHARED] = []
    config.addinivalue_line(
        "markers",
        f"{_MARKER}(version, properties, security): the Kafka that prokurist_own_kafka and "
        "prokurist_own_cluster start for this test",
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Heal the shared Kafkas after the test.

    Once before the fixtures of the test end, so that a client closed by one of them finds a
    working broker; and again after them, should one have done more.
    """
    try:
        _heal_shared(item.config)
    finally:
        result = yield
    _heal_shared(item.config)
    return result


@pytest.fixture(scope="session")
def prokurist_kafka(pytestconfig: pytest.Config) -> Iterator["RealKafka"]:
    """One node of a real Kafka, shared by the whole session.

    A test may freeze it and put faults on its wire; they are undone after the test.
    """
    yield from _shared(pytestconfig, nodes=1)


@pytest.fixture(scope="session")
def prokurist_cluster(pytestconfig: pytest.Config) -> Iterator["RealKafka"]:
    """Three nodes of a real Kafka, shared by the whole session."""
    yield from _shared(pytestconfig, nodes=3)


@pytest.fixture
def prokurist_own_kafka(request: pytest.FixtureRequest) -> Iterator["RealKafka"]:
    """One node of a real Kafka for this test alone; see the marker `prokurist_broker`."""
    yield from _own(request, nodes=1)


@pytest.fixture
def prokurist_own_cluster(request: pytest.FixtureRequest) -> Iterator["RealKafka"]:
    """Three nodes of a real Kafka for this test alone."""
    yield from _own(request, nodes=3)


@pytest.fixture
def prokurist_broker() -> Iterator["EmbeddedBroker"]:
    """The embedded broker, with a topic `orders` of three partitions; no Kafka is needed."""
    from prokurist.testing.broker import EmbeddedBroker  # noqa: PLC0415 - see the top

    with EmbeddedBroker(1, {"orders": 3}) as broker:
        yield broker


@pytest.fixture
def prokurist_clock() -> Iterator["VirtualClock"]:
    """Virtual time: consumers, and a broker with a topic `orders` of three partitions."""
    from prokurist.testing.virtual_time.clock import VirtualClock  # noqa: PLC0415 - see the top

    clock = VirtualClock(1, {"orders": 3})
    yield clock
    clock.close()


@pytest.fixture
def prokurist_topic(prokurist_kafka: "RealKafka") -> Iterator[str]:
    """The name of a new topic of one partition; it is deleted after the test."""
    from prokurist.testing.kafka import AdminFailed  # noqa: PLC0415 - see the top

    topic = prokurist_kafka.unique_topic()
    yield topic
    prokurist_kafka.heal()
    try:
        prokurist_kafka.delete_topic(topic)
    except AdminFailed as error:
        # The test may have deleted it, and that is its right.
        if error.code != "UNKNOWN_TOPIC_OR_PARTITION":
            raise


def _shared(config: pytest.Config, *, nodes: int) -> Iterator["RealKafka"]:
    kafka = _started(config, nodes=nodes, controls=False, wanted={})
    shared = config.stash[_SHARED]
    shared.append(kafka)
    try:
        yield kafka
    finally:
        shared.remove(kafka)
        kafka.close()


def _own(request: pytest.FixtureRequest, *, nodes: int) -> Iterator["RealKafka"]:
    wanted: Mapping[str, Any] = {}
    if marker := request.node.get_closest_marker(_MARKER):
        wanted = marker.kwargs
        if marker.args or set(wanted) - {"version", "properties", "security"}:
            raise pytest.UsageError(
                f"@pytest.mark.{_MARKER} takes version=, properties= and security=, by name"
            )
    kafka = _started(request.config, nodes=nodes, controls=True, wanted=wanted)
    try:
        yield kafka
    finally:
        kafka.close()


def _started(
    config: pytest.Config, *, nodes: int, controls: bool, wanted: Mapping[str, Any]
) -> "RealKafka":
    """A Kafka that is ready; or the test is skipped, or failed where Kafka is required."""
    from prokurist.testing.kafka import (  # noqa: PLC0415 - see the top
        DEFAULT_VERSION,
        KafkaFailed,
        KafkaUnavailable,
        RealKafka,
        is_required,
    )

    asked = config.getoption("--prokurist-kafka-version") or DEFAULT_VERSION
    kafka = RealKafka(
        nodes,
        wanted.get("version", asked),
        properties=wanted.get("properties"),
        controls=controls,
        security=wanted.get("security"),
    )
    try:
        kafka.start()
    except KafkaUnavailable as error:
        if is_required():
            _fail(f"PROKURIST_REQUIRE_KAFKA is set, and there is {error}")
        pytest.skip(error.reason)
    except KafkaFailed as error:
        _fail(str(error))
    return kafka


def _fail(text: str) -> NoReturn:
    # The text says what to do; a traceback through the harness would only hide it.
    pytest.fail(text, pytrace=False)


def _heal_shared(config: pytest.Config) -> None:
    for kafka in config.stash[_SHARED]:
        kafka.heal()

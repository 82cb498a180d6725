"""Names become addresses off the thread, and a stuck look-up delays no other."""

import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from prokurist.errors import IllegalStateException, NetworkException
from prokurist.network_thread.io.network import SocketAddress
from prokurist.network_thread.io.resolver import (
    Lookup,
    Resolver,
    SystemNames,
    canonical_names,
    literal,
)

ONE, TWO, SIX = (
    SocketAddress("10.0.0.1", 0),
    SocketAddress("10.0.0.2", 0),
    SocketAddress("::6", 0),
)


class Names:
    """A name service out of two tables, which can get stuck."""

    def __init__(self) -> None:
        self.forward: dict[str, Sequence[SocketAddress] | Exception] = {}
        self.backward: dict[SocketAddress, str] = {}
        self.asked: list[str] = []
        self.free = threading.Event()
        self.free.set()

    def addresses(self, host: str) -> Sequence[SocketAddress]:
        """What the table says, once it is free to."""
        self.asked.append(host)
        assert self.free.wait(10)
        found = self.forward.get(host, socket.gaierror(socket.EAI_NONAME, "unknown"))
        if isinstance(found, Exception):
            raise found
        return found

    def name(self, address: SocketAddress) -> str:
        """What the table says."""
        if address not in self.backward:
            raise socket.herror(1, "Unknown host")
        return self.backward[address]


class Collector:
    """A resolver, and the wake that a network would be."""

    def __init__(self, names: Names) -> None:
        self.woken = threading.Semaphore(0)
        self.resolver = Resolver(self.woken.release, names)

    def next(self) -> list[Lookup]:
        """Wait for a wake, then collect."""
        assert self.woken.acquire(timeout=10)
        return self.resolver.collect()


def threads() -> list[threading.Thread]:
    """The look-ups that run."""
    return [each for each in threading.enumerate() if "resolver" in each.name]


@pytest.fixture
def names() -> Iterator[Names]:
    """A name service; no thread of a look-up is left in it afterwards."""
    made = Names()
    yield made
    made.free.set()
    for each in threads():
        each.join(10)
        assert not each.is_alive()


@pytest.fixture
def collector(names: Names) -> Iterator[Collector]:
    """A resolver that is closed in the end."""
    made = Collector(names)
    yield made
    made.resolver.close()


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "2001:db8::7"])
def test_an_address_in_digits_is_answered_at_once(
    collector: Collector, names: Names, host: str
) -> None:
    """The system is not asked, no thread is started, and nothing is collected."""
    lookup = collector.resolver.resolve(host, 9092)
    assert lookup.done
    assert lookup.addresses == (SocketAddress(host, 9092),)
    assert (names.asked, collector.resolver.threads, collector.resolver.collect()) == (
        [],
        0,
        [],
    )


def test_a_name_is_not_taken_for_digits() -> None:
    """What the system would have to ask for is no literal, even if it looks like one."""
    for host in ("localhost", "", "10.0.0.1:9092", "x" * 300, "a\0b", "kafka..example"):
        assert literal(host) == []


def test_a_host_with_several_addresses(collector: Collector, names: Names) -> None:
    """B206: all of them, of both families, in the system's order, none twice."""
    names.forward["broker"] = [TWO, SIX, TWO, ONE]
    lookup = collector.resolver.resolve("broker", 9092)
    assert not lookup.done
    assert collector.next() == [lookup]
    assert [str(each) for each in lookup.addresses] == [
        "10.0.0.2:9092",
        "[::6]:9092",
        "10.0.0.1:9092",
    ]
    assert collector.resolver.collect() == [], "each is told of once"


def test_an_idle_resolver_has_no_thread(collector: Collector, names: Names) -> None:
    """The thread ends with its look-up, and the next one gets its own."""
    names.forward["broker"] = [ONE]
    for count in (1, 2):
        collector.resolver.resolve("broker", 1)
        collector.next()
        for each in threads():
            each.join(10)
        assert threads() == []
        assert collector.resolver.threads == count


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (UnicodeError("label too long"), "label too long"),
        ([], "no address was found"),
    ],
)
def test_a_failure_is_an_answer(
    collector: Collector, names: Names, answer: Exception | list[SocketAddress], says: str
) -> None:
    """A retriable error that says what was asked and what came, cause included."""
    names.forward["broker"] = answer
    lookup = collector.resolver.resolve("broker", 1)
    assert collector.next() == [lookup]
    assert isinstance(lookup.error, NetworkException)
    assert str(lookup.error).startswith("the host name 'broker' cannot be resolved: ")
    assert says in str(lookup.error)
    if isinstance(answer, Exception):
        assert lookup.error.__cause__ is answer
    assert lookup.addresses == ()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_name_service_with_a_bug_is_an_answer_too(collector: Collector, names: Names) -> None:
    """No look-up waits for ever for a thread that died."""
    names.forward["broker"] = KeyError("bug")
    lookup = collector.resolver.resolve("broker", 1)
    assert collector.next() == [lookup]
    assert lookup.error is not None


def test_who_asks_for_a_host_that_is_asked_about_joins(
    collector: Collector, names: Names
) -> None:
    """One thread for a host, however many ask, each with his own port."""
    names.forward |= {"broker": [ONE], "other": [TWO]}
    names.free.clear()
    lookups = [collector.resolver.resolve("broker", port) for port in range(50)]
    collector.resolver.resolve("other", 1)
    assert collector.resolver.threads == 2
    assert repr(collector.resolver) == (
        "<Resolver open: 2 hosts asked about, 51 look-ups waiting, 2 threads started>"
    )
    names.free.set()
    done = collector.next()
    done += collector.next()
    assert set(done) > set(lookups)
    assert [each.addresses[0].port for each in lookups] == list(range(50))


def test_a_stuck_look_up_is_abandoned(collector: Collector, names: Names) -> None:
    """B205's ground: the caller's deadline ends it; its late answer is dropped."""
    names.forward["broker"] = [ONE]
    names.free.clear()
    stuck = collector.resolver.resolve("broker", 1)
    collector.resolver.abandon(stuck)
    later = collector.resolver.resolve("broker", 2)
    assert collector.resolver.threads == 1, "a hundred retries are not a hundred threads"
    collector.resolver.abandon(stuck)
    names.free.set()
    assert collector.next() == [later]
    assert not stuck.done


def test_all_of_them_abandoned(collector: Collector, names: Names) -> None:
    """The answer has no receiver, and the host can be asked about again."""
    names.forward["broker"] = [ONE]
    collector.resolver.abandon(collector.resolver.resolve("broker", 1))
    assert collector.next() == []
    again = collector.resolver.resolve("broker", 1)
    assert collector.next() == [again]


def test_close_abandons_everything(names: Names) -> None:
    """A look-up that comes back after it wakes no thread; a second close does nothing."""
    collector = Collector(names)
    names.free.clear()
    lookup = collector.resolver.resolve("broker", 1)
    (thread,) = threads()
    assert thread.daemon, "one that is stuck ends with the process"
    collector.resolver.close()
    collector.resolver.close()
    names.free.set()
    thread.join(10)
    assert not collector.woken.acquire(blocking=False)
    assert collector.resolver._mailbox.answers == []
    assert collector.resolver.collect() == []
    assert not lookup.done
    for ask in (collector.resolver.resolve, collector.resolver.canonical):
        with pytest.raises(IllegalStateException, match="closed"):
            ask("broker", 1)


def test_no_thread_to_be_had(collector: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process at its limit gets an error at once, and the next try is a new one."""

    def none(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", none)
        lookup = collector.resolver.resolve("broker", 1)
    assert lookup.done
    assert "can't start new thread" in repr(lookup)
    assert not collector.resolver.resolve("broker", 1).done
    collector.next()


def test_canonical_names(names: Names) -> None:
    """KIP-235: a name for each address; digits where none leads back to it."""
    three = SocketAddress("10.0.0.3", 0)
    names.forward = {
        "alias": [ONE, TWO, SIX, three],
        "a.example": [ONE, SIX],
        "claimed.example": [SocketAddress("10.9.9.9", 0)],
    }
    names.backward = {ONE: "a.example", TWO: "claimed.example", SIX: "a.example"}
    assert canonical_names("alias", names) == ("a.example", "10.0.0.2", "10.0.0.3")


def test_canonical_names_are_looked_up_off_the_thread(
    collector: Collector, names: Names
) -> None:
    """Even for an address in digits, whose name has to be asked for."""
    names.forward = {"10.0.0.1": [ONE], "a.example": [ONE], "alias": [ONE], "empty": []}
    names.backward = {ONE: "a.example"}
    for host in ("10.0.0.1", "alias"):
        lookup = collector.resolver.canonical(host, 9092)
        assert not lookup.done
        assert collector.next() == [lookup]
        assert (lookup.names, lookup.addresses) == (("a.example",), ())
    for host in ("nowhere", "empty"):
        lookup = collector.resolver.canonical(host, 9092)
        assert collector.next() == [lookup]
        assert lookup.error is not None


def test_addresses_and_canonical_names_are_two_questions(
    collector: Collector, names: Names
) -> None:
    """One does not join the other."""
    names.forward = {"alias": [ONE]}
    names.free.clear()
    plain = collector.resolver.resolve("alias", 1)
    canonical = collector.resolver.canonical("alias", 1)
    assert collector.resolver.threads == 2
    names.free.set()
    done = [*collector.next(), *collector.next()]
    assert set(done) == {plain, canonical}
    assert (plain.addresses, canonical.names) == (
        (SocketAddress("10.0.0.1", 1),),
        ("10.0.0.1",),
    )


def test_the_system_knows_this_machine() -> None:
    """What the hosts file says of localhost, through the real resolver."""
    system = SystemNames()
    found = system.addresses("localhost")
    assert {each.host for each in found} <= {"127.0.0.1", "::1"}
    assert len(found) == len(set(found)) >= 1
    assert all(each.port == 0 for each in found)
    assert canonical_names("localhost", system)


def test_the_system_is_asked_for_streams_of_both_families(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Other families are left out, a scope is kept as its number."""
    stream = socket.SOCK_STREAM

    def answers(host: str, _: None, **asked: int) -> list[tuple[object, ...]]:
        assert (host, asked) == ("broker", {"family": 0, "type": stream, "flags": 0})
        return [
            (socket.AF_INET6, stream, 6, "", ("fe80::1%eth0", 0, 0, 3)),
            (socket.AF_UNIX, stream, 0, "", "/nowhere"),
            (socket.AF_INET, stream, 6, "", ("10.0.0.1", 0)),
            (socket.AF_INET, stream, 6, "", ("10.0.0.1", 0)),
        ]

    monkeypatch.setattr(socket, "getaddrinfo", answers)
    assert SystemNames().addresses("broker") == [SocketAddress("fe80::1", 0, scope=3), ONE]


@pytest.mark.parametrize(
    ("family", "host", "found"),
    [
        ("any", "127.0.0.1", "127.0.0.1"),
        ("any", "::1", "::1"),
        ("v4", "127.0.0.1", "127.0.0.1"),
        ("v6", "::1", "::1"),
        ("v4", "::1", None),
        ("v6", "127.0.0.1", None),
    ],
)
def test_an_address_of_another_family_is_not_used(
    family: str, host: str, found: str | None
) -> None:
    """`broker.address.family`: an address in digits is refused with the key's name."""
    lookup = Resolver(lambda: None, family=family).resolve(host, 1)
    assert lookup.done
    if found is None:
        assert f"broker.address.family={family}" in str(lookup.error)
    else:
        assert [each.host for each in lookup.addresses] == [found]


@pytest.mark.parametrize(
    ("family", "asked"),
    [("any", socket.AF_UNSPEC), ("v4", socket.AF_INET), ("v6", socket.AF_INET6)],
)
def test_the_system_is_asked_for_the_configured_family(
    monkeypatch: pytest.MonkeyPatch, family: str, asked: int
) -> None:
    """B303, `broker.address.family`: a name's other addresses are not even asked for."""
    families: list[int] = []

    def answers(_host: str, _port: None, **keys: int) -> list[tuple[object, ...]]:
        families.append(keys["family"])
        return []

    monkeypatch.setattr(socket, "getaddrinfo", answers)
    SystemNames(family).addresses("broker")
    assert families == [asked]


def test_a_name_without_an_address_of_the_family_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Elsewhere it may resolve, and the system's own words would not tell why not here."""

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    with pytest.raises(OSError, match=r"not known \(broker\.address\.family=v6\)"):
        SystemNames("v6").addresses("broker")


def test_reprs_show_state(collector: Collector, names: Names) -> None:
    """One line each."""
    names.forward["broker"] = [ONE]
    lookup = collector.resolver.resolve("broker", 1)
    assert repr(lookup) == "<Lookup of broker:1 waiting>"
    collector.next()
    assert repr(lookup) == "<Lookup of broker:1 1 addresses, 0 names>"
    collector.resolver.close()
    assert repr(collector.resolver).startswith("<Resolver closed: 0 hosts asked about, 0 look")

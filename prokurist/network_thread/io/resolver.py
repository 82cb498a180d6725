"""Host names to addresses, off the network thread.

The system's look-up cannot be given a deadline, nor be interrupted. So it runs
in a daemon thread that lives as long as the look-up: an idle client has none,
and one that is stuck in the system ends with the process.

Thread: the network thread, except `_Mailbox.deliver`, which look-up threads call.
Invariants: at most one thread for each host (and one for its canonical names);
a request made while it runs joins it. A look-up ends once: done at once, in one
`collect`, or never because it was abandoned. No thread is joined, here or at
the end; one that comes back after `close` is dropped and wakes no thread.
"""

import socket
import threading
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import Final, Protocol, TypeAlias

from prokurist.errors import IllegalStateException, NetworkException
from prokurist.lazy_dataclasses import dataclass
from prokurist.network_thread.io.network import SocketAddress

FAMILIES: Final = {"any": socket.AF_UNSPEC, "v4": socket.AF_INET, "v6": socket.AF_INET6}
"""The values of `broker.address.family`."""


class NameService(Protocol):
    """Blocking name service, called on short-lived threads."""

    def addresses(self, host: str) -> Sequence[SocketAddress]:
        """All addresses of a host, in the system's order; their port is 0.

        Raises:
            OSError: There is none, or no name server could be asked.
            ValueError: The name cannot be one.
        """
        ...

    def name(self, address: SocketAddress) -> str:
        """The name of an address.

        Raises:
            OSError: It has none, or no name server could be asked.
        """
        ...


class SystemNames:
    """The system's resolver: hosts file, DNS, and its other configured sources.

    Args:
        family: `broker.address.family`: any, v4 or v6.
    """

    __slots__ = ("_family", "_word")

    def __init__(self, family: str = "any") -> None:
        self._word: Final = family
        self._family: Final = FAMILIES[family]

    def addresses(self, host: str) -> Sequence[SocketAddress]:
        """All addresses of a host; see `NameService.addresses`."""
        try:
            return looked_up(host, family=self._family)
        except OSError as error:
            if self._family == socket.AF_UNSPEC:
                raise
            raise OSError(f"{error} (broker.address.family={self._word})") from error

    def name(self, address: SocketAddress) -> str:
        """The name of an address; see `NameService.name`."""
        target = (
            (address.host, 0, 0, address.scope) if ":" in address.host else (address.host, 0)
        )
        return socket.getnameinfo(target, socket.NI_NAMEREQD)[0]

    def __repr__(self) -> str:
        return f"SystemNames({self._word})"


def looked_up(
    host: str | bytes, flags: int = 0, *, family: int = socket.AF_UNSPEC
) -> list[SocketAddress]:
    """Return the addresses of `getaddrinfo`, without duplicates and in its order."""
    found: dict[SocketAddress, None] = {}
    for kind, _, _, _, target in socket.getaddrinfo(
        host, None, family=family, type=socket.SOCK_STREAM, flags=flags
    ):
        if kind in {socket.AF_INET, socket.AF_INET6}:
            # A link-local one may bear its scope in the text, too.
            number = str(target[0]).partition("%")[0]
            scope = int(target[3]) if len(target) == 4 else 0
            found[SocketAddress(number, 0, scope)] = None
    return list(found)


def literal(host: str, family: int = socket.AF_UNSPEC) -> list[SocketAddress]:
    """The address that a host's text already is; empty for a name, or of another family."""
    try:
        # A text would have a codec for names in other scripts imported: this is the network
        # thread, and an address in digits needs none.
        return looked_up(host.encode("ascii"), socket.AI_NUMERICHOST, family=family)
    except (OSError, ValueError):
        return []


def canonical_names(host: str, names: NameService) -> tuple[str, ...]:
    """The canonical names of a host, for `resolve_canonical_bootstrap_servers_only`.

    For each address of the host its own name, as certificates and Kerberos
    know it, without duplicates. As in Kafka's own client an address stands
    for itself in digits if it has no name, or if its name does not lead back to
    it: the owner of the reverse zone could claim any name.

    Raises:
        OSError: The host has no address.
        ValueError: The name cannot be one.
    """
    found: dict[str, None] = {}
    for address in names.addresses(host):
        try:
            name = names.name(address)
            leads_back = address in names.addresses(name)
        except (OSError, ValueError):
            name, leads_back = "", False
        found[name if leads_back else address.host] = None
    return tuple(found)


@dataclass(slots=True, eq=False)
class Lookup:
    """A look-up, and its answer once it is `done`; the network thread's.

    Attributes:
        host: The host.
        port: The port of the addresses.
        done: An answer is here: `error`, or else one of the two below.
        addresses: Result of `Resolver.resolve`.
        names: Result of `Resolver.canonical`.
        error: Why there is neither.
    """

    host: str
    port: int
    done: bool = False
    addresses: tuple[SocketAddress, ...] = ()
    names: tuple[str, ...] = ()
    error: NetworkException | None = None

    def answer(self, outcome: "Outcome") -> None:
        """Set the answer that a look-up's thread has brought."""
        self.done = True
        match outcome:
            case NetworkException():
                self.error = outcome
            case Names():
                self.names = outcome.names
            case _:
                self.addresses = tuple(replace(each, port=self.port) for each in outcome)

    def __repr__(self) -> str:
        if not self.done:
            state = "waiting"
        elif self.error is not None:
            state = f"failed: {self.error}"
        else:
            state = f"{len(self.addresses)} addresses, {len(self.names)} names"
        return f"<Lookup of {self.host}:{self.port} {state}>"


class HostLookups(Protocol):
    """The interface of a resolver: `Resolver`, or a simulation's."""

    def resolve(self, host: str, port: int) -> Lookup:
        """Look up all addresses of a host; it may be done at once."""
        ...

    def canonical(self, host: str, port: int) -> Lookup:
        """Look up the canonical names of a bootstrap host."""
        ...

    def collect(self) -> Sequence[Lookup]:
        """The look-ups that have been answered since; each is returned once."""
        ...

    def abandon(self, lookup: Lookup) -> None:
        """Forget a look-up: its answer is dropped."""
        ...

    def close(self) -> None:
        """Abandon all look-ups; their answers are dropped."""
        ...


@dataclass(frozen=True, slots=True)
class Names:
    """The answer to a look-up of canonical names."""

    names: tuple[str, ...]


Outcome: TypeAlias = tuple[SocketAddress, ...] | Names | NetworkException


@dataclass(frozen=True, slots=True)
class Question:
    """Key of a look-up thread; equal look-ups share it."""

    host: str
    canonical: bool = False


@dataclass(slots=True)
class _Mailbox:
    """Answers of look-up threads, without any reference to the rest of the client.

    Attributes:
        lock: Guards the other two.
        wake: Tells the network thread; None once answers are no longer collected.
        answers: Left and not collected.
    """

    wake: Callable[[], None] | None
    lock: threading.Lock = field(default_factory=threading.Lock)
    answers: list[tuple[Question, Outcome]] = field(default_factory=list)

    def deliver(self, question: Question, outcome: Outcome) -> None:
        """Add an answer and wake the network thread, from the look-up's thread."""
        with self.lock:
            wake = self.wake
            if wake is not None:
                self.answers.append((question, outcome))
        # After the answer, and outside the lock: `wake` is the caller's code.
        if wake is not None:
            wake()

    def emptied(self) -> list[tuple[Question, Outcome]]:
        """Take all answers that were left."""
        with self.lock:
            answers, self.answers = self.answers, []
        return answers

    def shut(self) -> None:
        """Close the mailbox: later answers are dropped."""
        with self.lock:
            self.wake = None
            self.answers.clear()


class Resolver:
    """Looks host names up on daemon threads.

    Args:
        wake: Called from a look-up's thread when it has left its answer.
        names: Whom to ask; None for the system.
        family: `broker.address.family`: any, v4 or v6.

    Attributes:
        threads: How many were started since the beginning.
    """

    def __init__(
        self,
        wake: Callable[[], None],
        names: NameService | None = None,
        family: str = "any",
    ) -> None:
        self.threads: int = 0
        self._family = family
        self._names: NameService = names or SystemNames(family)
        self._mailbox = _Mailbox(wake)
        self._waiting: dict[Question, list[Lookup]] = {}
        self._closed = False

    def resolve(self, host: str, port: int) -> Lookup:
        """Look up all addresses of a host.

        Returns:
            A look-up that is done already if the host is an address in digits
            or no thread could be started; then `collect` does not tell of it.

        Raises:
            IllegalStateException: The resolver is closed.
        """
        lookup = Lookup(host, port)
        if literal(host):
            self._check_open()
            found = literal(host, FAMILIES[self._family])
            lookup.answer(
                tuple(found)
                or NetworkException(
                    f"the address {host} is not used: broker.address.family={self._family}"
                )
            )
            return lookup
        return self._asked(Question(host), lookup)

    def canonical(self, host: str, port: int) -> Lookup:
        """Look up the canonical names of a bootstrap host; see `canonical_names`.

        Raises:
            IllegalStateException: The resolver is closed.
        """
        return self._asked(Question(host, canonical=True), Lookup(host, port))

    def collect(self) -> list[Lookup]:
        """The look-ups that have been answered since; each is returned once."""
        done: list[Lookup] = []
        for question, outcome in self._mailbox.emptied():
            for each in self._waiting.pop(question, ()):
                each.answer(outcome)
                done.append(each)
        return done

    def abandon(self, lookup: Lookup) -> None:
        """Forget a look-up: its answer is dropped. One that is done is left alone.

        Its thread goes on, as nothing can stop it; a request for the same
        host meanwhile joins it.
        """
        for waiting in self._waiting.values():
            if lookup in waiting:
                waiting.remove(lookup)

    def close(self) -> None:
        """Abandon all look-ups; a second time has no effect."""
        self._closed = True
        self._mailbox.shut()
        self._waiting.clear()

    def _asked(self, question: Question, lookup: Lookup) -> Lookup:
        self._check_open()
        waiting = self._waiting.get(question)
        if waiting is None:
            try:
                self._start(question)
            except RuntimeError as error:  # no more threads for this process
                lookup.answer(_unresolved(question, error))
                return lookup
            waiting = self._waiting[question] = []
        waiting.append(lookup)
        return lookup

    def _start(self, question: Question) -> None:
        threading.Thread(
            target=_find,
            args=(question, self._names, self._mailbox),
            name=f"prokurist-resolver-{question.host}",
            daemon=True,
        ).start()
        self.threads += 1

    def _check_open(self) -> None:
        if self._closed:
            raise IllegalStateException("the resolver is closed")

    def __repr__(self) -> str:
        lookups = sum(len(each) for each in self._waiting.values())
        return (
            f"<Resolver {'closed' if self._closed else 'open'}: {len(self._waiting)} hosts "
            f"asked about, {lookups} look-ups waiting, {self.threads} threads started>"
        )


def _find(question: Question, names: NameService, mailbox: _Mailbox) -> None:
    """The function of a look-up's thread."""
    # Also the answer if the name service raises what it may not: that is a bug,
    # loud by way of the thread's excepthook, and no caller waits for ever for it.
    outcome: Outcome = _unresolved(question, None)
    try:
        if question.canonical:
            if found_names := canonical_names(question.host, names):
                outcome = Names(found_names)
        elif found := tuple(dict.fromkeys(names.addresses(question.host))):
            outcome = found
    except (OSError, ValueError) as error:
        outcome = _unresolved(question, error)
    finally:
        mailbox.deliver(question, outcome)


def _unresolved(question: Question, error: Exception | None) -> NetworkException:
    why = "no address was found" if error is None else str(error)
    made = NetworkException(f"the host name {question.host!r} cannot be resolved: {why}")
    if error is not None:
        made.__cause__ = error.with_traceback(None)
    return made

"""The client of a schema registry on loopback: deadlines, caches, credentials and TLS."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import UUID

import pytest

from prokurist.config.secret import Secret
from prokurist.errors import (
    ConfigException,
    SchemaNotFoundException,
    SchemaRefusedException,
    SchemaRegistryException,
    SchemaRegistryUnavailableException,
)
from prokurist.registry import OAuthClient, RegisteredSchema, Schema, SchemaRegistry
from prokurist.registry.asking import Answer, Question
from prokurist.testing.schema_registry import EmbeddedSchemaRegistry
from tests.unit.security.conftest import Certificates, certificates
from tests.unit.security.test_secrets_in_tracebacks import PLANTED, check_clean

__all__ = ["certificates"]

LONG = Schema('"long"')
TEXT = Schema('"string"')


@pytest.fixture
def kept() -> Iterator[EmbeddedSchemaRegistry]:
    """A registry of the test's own."""
    with EmbeddedSchemaRegistry() as registry:
        yield registry


@contextmanager
def server(answer: Callable[[socket.socket], object]) -> Iterator[str]:
    """The URL of a server that answers each connection in its own way."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        held: list[socket.socket] = []

        def serve() -> None:
            with suppress(OSError):
                while True:
                    client, _ = listener.accept()
                    held.append(client)
                    with suppress(OSError):
                        answer(client)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        listener.shutdown(socket.SHUT_RDWR)
        for each in held:
            each.close()
        thread.join(30)


def drip(client: socket.socket) -> None:
    """A byte at a time."""
    client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n")
    for _ in range(100):
        client.sendall(b" ")
        time.sleep(0.05)


def flood(client: socket.socket) -> None:
    """Without end."""
    client.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(1000):
        client.sendall(b" " * 65536)


BAD: dict[str, Callable[[socket.socket], object]] = {
    "silent": lambda _client: None,
    "dripping": drip,
    "without end": flood,
    "cut off": lambda client: client.close(),
    "no HTTP": lambda client: client.sendall(b"SSH-2.0-x\r\n\r\n"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_call_ends_by_its_time(what: str) -> None:
    """B884: whatever a server does; the text says what it was."""
    with server(BAD[what]) as url:
        registry = SchemaRegistry(url)
        began = time.monotonic()
        with pytest.raises(SchemaRegistryUnavailableException, match="schema 7"):
            registry.schema(7, timeout=0.5)
        assert time.monotonic() - began < 5.0


def test_a_name_that_is_not_resolved_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """B884: the resolver hangs, and the call does not."""
    ends = threading.Event()

    def hangs(*_given: Any, **_named: Any) -> Any:
        ends.wait(60)
        raise OSError("over")

    monkeypatch.setattr(socket, "getaddrinfo", hangs)
    registry = SchemaRegistry("http://registry.example:8081", timeout=0.2)
    for _ in range(6):  # More than there are helpers.
        began = time.monotonic()
        with pytest.raises(SchemaRegistryUnavailableException, match="in time"):
            registry.schema(7)
        assert time.monotonic() - began < 5.0
    assert sum(each.name == "prokurist-schema-registry" for each in threading.enumerate()) <= 4
    ends.set()


def test_one_look_up_serves_all(kept: EmbeddedSchemaRegistry) -> None:
    """B885: threads that ask for the same schema at once, and later ones, cost one request."""
    SchemaRegistry(kept.url, timeout=60.0).register("s", LONG)
    registry = SchemaRegistry(kept.url, timeout=60.0)
    kept.asked.clear()
    found: list[Schema] = []
    threads = [
        threading.Thread(target=lambda: found.append(registry.schema(1))) for _ in range(8)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join(60)
    assert registry.schema(1) == LONG
    assert found == [LONG] * 8
    assert len(kept.asked) == 1


class Script:
    """Answers of a server, and a clock that the test moves."""

    def __init__(self) -> None:
        self.at = 0.0
        self.asked: list[str] = []
        self.answers: dict[str, tuple[int, bytes]] = {}

    def now(self) -> float:
        """The clock's reading."""
        return self.at

    def sleep(self, seconds: float) -> None:
        """Move the clock."""
        self.at += seconds

    def send(self, url: str, question: Question, seconds: float) -> Answer:
        """See `Send`."""
        del url, seconds
        self.asked.append(question.path)
        return Answer(*self.answers.get(question.path, (404, b'{"message": "no"}')))

    def registry(self, **more: Any) -> SchemaRegistry:
        """A client of them."""
        return SchemaRegistry.wired("http://a", self.send, self, **more)


def test_that_there_is_none_is_believed_briefly() -> None:
    """B885: for five seconds; what is there counts for good, and the latest for a minute."""
    script = Script()
    registry = script.registry()
    for _ in range(3):
        with pytest.raises(SchemaNotFoundException, match="schema 7"):
            registry.schema(7)
    assert len(script.asked) == 1
    script.at = 5.1
    script.answers["/schemas/ids/7"] = 200, b'{"schema": "\\"long\\""}'
    assert registry.schema(7) == LONG
    script.at = 1e6
    assert registry.schema(7) == LONG
    assert len(script.asked) == 2
    script.answers["/subjects/s/versions/latest"] = (
        200,
        b'{"id": 7, "version": 2, "schema": "\\"long\\""}',
    )
    for later in (0.0, 59.0, 2.0):
        script.at += later
        assert registry.version("s").version == 2
    assert len(script.asked) == 4


def test_caches_are_bounded() -> None:
    """B885: what was used longest ago goes."""
    script = Script()
    registry = script.registry(most_cached=10)
    for number in range(100):
        script.answers[f"/schemas/ids/{number}"] = 200, b'{"schema": "\\"long\\""}'
        registry.schema(number)
    assert "10 schemas held" in repr(registry)
    registry.schema(99)
    assert len(script.asked) == 100


@pytest.mark.parametrize(
    "told", ["[]", "{}", '{"schema": 5}', '{"schema": "x", "schemaType": "XML"}', "null"]
)
def test_answers_of_another_form(told: str) -> None:
    """B889: they are refused in one sentence."""
    script = Script()
    script.answers["/schemas/ids/7"] = 200, told.encode()
    with pytest.raises(SchemaRegistryException, match="about schema 7 has"):
        script.registry().schema(7)


def test_the_calls(kept: EmbeddedSchemaRegistry) -> None:
    """Each call once, with a subject whose name has a slash."""
    registry = SchemaRegistry(kept.url, timeout=60.0)
    first = registry.register("a/b", LONG)
    assert first == RegisteredSchema(LONG, 1, kept.schemas[0].guid, "a/b", 1)
    assert registry.register("a/b", TEXT, normalize=True).version == 2
    assert registry.find("a/b", LONG) == first
    assert registry.version("a/b").schema == TEXT
    assert registry.version("a/b", 1).schema == LONG
    assert registry.subjects() == ["a/b"]
    assert registry.versions("a/b") == [1, 2]
    assert registry.is_compatible("a/b", TEXT)
    assert registry.schema(kept.schemas[1].guid) == TEXT
    kept.incompatible.add("a/b")
    assert not registry.is_compatible("a/b", TEXT)
    with pytest.raises(SchemaRefusedException, match="incompatible"):
        registry.register("a/b", Schema('"int"'))
    with pytest.raises(SchemaNotFoundException):
        registry.find("a/b", Schema('"int"'))
    with pytest.raises(SchemaNotFoundException):
        registry.schema(UUID(int=1))
    with pytest.raises(SchemaRefusedException, match="Invalid schema"):
        registry.register("a/b", Schema("no JSON"))
    assert "normalize=true" in str(kept.asked)


def test_a_registration_ends_what_was_believed(kept: EmbeddedSchemaRegistry) -> None:
    """B885: that there is no such subject, and which version is the latest."""
    registry = SchemaRegistry(kept.url, timeout=60.0)
    with pytest.raises(SchemaNotFoundException):
        registry.version("s")
    registry.register("s", LONG)
    assert registry.version("s").version == 1
    registry.register("s", TEXT)
    assert registry.version("s").version == 2


def test_basic_credentials() -> None:
    """B886: a wrong password is refused at once, and is in no text."""
    with EmbeddedSchemaRegistry(basic=("anna", PLANTED)) as kept:
        registry = SchemaRegistry(kept.url, basic=("anna", PLANTED), timeout=60.0)
        assert registry.subjects() == []
        assert PLANTED not in repr(registry)
        wrong = SchemaRegistry(kept.url, basic=("anna", Secret(f"{PLANTED}x")), timeout=60.0)
        with pytest.raises(SchemaRefusedException, match="check the credentials") as caught:
            wrong.subjects()
        check_clean(caught.value)


def test_tokens(kept: EmbeddedSchemaRegistry) -> None:
    """B886: a callable is asked once, and again where the registry refuses its token."""
    kept.tokens = {"one"}
    given = iter(["one", "two", "three"])
    registry = SchemaRegistry(
        kept.url, bearer=lambda _config: (next(given), time.time() + 3600), timeout=60.0
    )
    assert registry.subjects() == []
    assert registry.subjects() == []
    kept.tokens = {"two"}
    assert registry.subjects() == []
    kept.tokens = set()
    with pytest.raises(SchemaRefusedException):
        registry.subjects()


def test_client_credentials(kept: EmbeddedSchemaRegistry) -> None:
    """B886: the project's own token client fetches them."""
    body = b'{"access_token": "granted", "expires_in": 3600}'
    asked: list[bytes] = []

    def grant(client: socket.socket) -> None:
        got = b""
        while b"scope=" not in got:
            got += client.recv(65536)
        asked.append(got)
        head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode()
        client.sendall(head + body)

    kept.tokens = {"granted"}
    with server(grant) as url:
        client = OAuthClient(f"{url}/token", "id", PLANTED, scope="registry")
        assert PLANTED not in repr(client)
        registry = SchemaRegistry(kept.url, oauth=client, timeout=60.0)
        assert registry.subjects() == registry.subjects() == []
    assert len(asked) == 1
    assert b"scope=registry" in asked[0]


def test_a_token_endpoint_that_is_away(kept: EmbeddedSchemaRegistry) -> None:
    """B884, B890: the call ends by its time, and shows no secret."""
    with server(lambda _client: None) as url:
        client = OAuthClient(f"{url}/token", "id", PLANTED)
        registry = SchemaRegistry(kept.url, oauth=client)
        began = time.monotonic()
        with pytest.raises(SchemaRegistryException) as caught:
            registry.subjects(timeout=0.3)
        assert time.monotonic() - began < 5.0
        check_clean(caught.value)


@pytest.mark.parametrize("what", BAD)
def test_a_server_in_trouble_shows_no_secret(what: str) -> None:
    """B890: nor do the local variables of our frames."""
    with server(BAD[what]) as url:
        registry = SchemaRegistry(url, basic=("anna", PLANTED))
        with pytest.raises(SchemaRegistryUnavailableException) as caught:
            registry.schema(7, timeout=0.3)
        check_clean(caught.value)


def test_tls(certificates: Certificates) -> None:
    """B886: with a certificate of the client's; one of another authority is refused."""
    trusting = {"ssl.ca.location": str(certificates.ours.location)}
    ours = {**trusting, "ssl.certificate.location": str(certificates.client)}
    with EmbeddedSchemaRegistry(
        certificate=certificates.broker, client_authority=certificates.ours.location
    ) as kept:
        assert SchemaRegistry(kept.url, tls=ours, timeout=60.0).subjects() == []
        with pytest.raises(SchemaRegistryUnavailableException):
            SchemaRegistry(kept.url, tls=trusting).subjects(timeout=1.0)
        other = SchemaRegistry(
            kept.url, tls={**ours, "ssl.ca.location": str(certificates.other.location)}
        )
        with pytest.raises(SchemaRegistryUnavailableException, match=r"see ssl\.ca\.location"):
            other.subjects(timeout=1.0)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"urls": ""}, "no URL"),
        ({"urls": "localhost:8081"}, "expected http://HOST:PORT"),
        ({"urls": f"http://anna:{PLANTED}@a:1"}, "give them as basic"),
        ({"urls": "http://[a:1"}, "no URL"),
        ({"urls": "http://a:1", "basic": ("a", PLANTED), "bearer": PLANTED}, "leave all but"),
        ({"urls": "http://a:1", "tls": {"sasl.password": PLANTED}}, "expected keys of ssl"),
        ({"urls": "http://a:1", "tls": {"ssl.ca.location": "/nowhere"}}, "cannot be read"),
        ({"urls": "http://a:1", "headers": {"a b": "c"}}, "name of an HTTP header"),
        ({"urls": "http://a:1", "headers": {"a": "c\r\nd"}}, "not printable"),
        ({"urls": "http://a:1", "headers": {"Authorization": PLANTED}}, "give basic"),
    ],
)
def test_arguments_that_cannot_be_used(given: dict[str, Any], text: str) -> None:
    """B890: they are told where the client is built, and no secret with them."""
    with pytest.raises(ConfigException, match=text) as caught:
        SchemaRegistry(**given)
    check_clean(caught.value)

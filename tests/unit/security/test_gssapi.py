"""GSSAPI by a stand-in of its package: no ticket is needed to see what is said to a broker."""

from types import SimpleNamespace
from typing import Any

import pytest

from prokurist.errors import NetworkException, SaslAuthenticationException
from prokurist.security.gssapi import CODES, MINDED, PASSING, Gssapi
from prokurist.security.mechanism import printable


def test_quotes_are_short_and_printable() -> None:
    """A broker's text cannot move a terminal's cursor, nor fill a log."""
    assert printable("a\x1b[2Jb\nc") == "a [2Jb c"
    assert len(printable("x" * 10_000)) == 501


class Kerberos:
    """Stands in for the package `gssapi`."""

    NameType = SimpleNamespace(hostbased_service="host", kerberos_principal="principal")
    MechType = SimpleNamespace(kerberos="krb5")

    def __init__(self, offer: bytes = b"\x07\x00\xff\xff", error: str = "") -> None:
        self.offer = offer
        self.error = error
        self.wrapped: list[bytes] = []
        self.complete = False
        self.made: dict[str, Any] = {}

    def Name(self, *parts: str) -> tuple[str, ...]:  # noqa: N802 - the package's name
        """A name, as its parts."""
        return parts

    def Credentials(self, **named: Any) -> dict[str, Any]:  # noqa: N802
        """Credentials, as they were asked for."""
        return named

    def SecurityContext(self, **named: Any) -> "Kerberos":  # noqa: N802
        """The context: itself."""
        self.made = named
        return self

    def step(self, token: bytes | None = None) -> bytes | None:
        """The context's next token."""
        if self.error:
            raise RuntimeError(self.error)
        if token is None:
            return b"ticket"
        self.complete = True
        return None

    def unwrap(self, _: bytes) -> SimpleNamespace:
        """What the broker offers."""
        return SimpleNamespace(message=self.offer)

    def wrap(self, message: bytes, _: bool) -> SimpleNamespace:  # noqa: FBT001
        """What the client chooses."""
        self.wrapped.append(message)
        return SimpleNamespace(message=b"wrapped")


def test_gssapi() -> None:
    """B359, RFC 4752: the context, then no security layer and an empty authorization id."""
    package = Kerberos()
    client = Gssapi("kafka", "b1", principal="anna", keytab="/k", module=package)
    assert client.first() == b"ticket"
    assert package.made["name"] == ("kafka@b1", "host")
    store = package.made["creds"]["store"]
    assert store["client_keytab"] == "/k"
    assert store["ccache"].startswith("MEMORY:")
    assert client.answer(b"ap-rep") == b""
    assert client.answer(b"offer") == b"wrapped"
    assert package.wrapped == [b"\x01\0\0\0"]
    assert client.answer(b"") is None


@pytest.mark.parametrize(
    ("package", "why"),
    [
        (Kerberos(offer=b"\x06\0\0\0"), "insists on a security layer"),
        (Kerberos(offer=b"\x01"), "insists on a security layer"),
        (Kerberos(error="No Kerberos credentials available"), "No Kerberos credentials"),
    ],
)
def test_gssapi_that_fails(package: Kerberos, why: str) -> None:
    """The error names the service that a ticket was asked for."""
    client = Gssapi("kafka", "b1", module=package)
    with pytest.raises(SaslAuthenticationException, match=f"{why}.*kafka@b1"):  # noqa: PT012
        client.first()
        client.answer(b"ap-rep")
        client.answer(b"offer")


class KerberosError(Exception):
    """What the package raises, with the library's code as it has it: of 32 bits, unsigned."""

    def __init__(self, code: int) -> None:
        super().__init__(f"Major (851968): Unspecified GSS failure, Minor ({code}): why")
        self.min_code = (code + CODES) % (1 << 32)


class Failing(Kerberos):
    """A package whose context cannot be begun."""

    def __init__(self, code: int) -> None:
        super().__init__()
        self.code = code

    def step(self, token: bytes | None = None) -> bytes | None:  # noqa: ARG002
        """Fail."""
        raise KerberosError(self.code)


@pytest.mark.parametrize("code", PASSING)
def test_what_may_be_over_in_a_moment(code: int) -> None:
    """B359: a KDC that cannot be reached is no refusal: that is tried again."""
    with pytest.raises(NetworkException, match=r"no Kerberos ticket for kafka@b1: .*\(why\)"):
        Gssapi("kafka", "b1", module=Failing(code)).first()


@pytest.mark.parametrize("code", MINDED)
def test_what_is_to_be_done(code: int) -> None:
    """B359: the error ends the call, and says what to do, without the library's preamble."""
    with pytest.raises(SaslAuthenticationException) as refused:
        Gssapi("kafka", "b1", module=Failing(code)).first()
    assert f"failed: why: {MINDED[code]}; the service" in str(refused.value)

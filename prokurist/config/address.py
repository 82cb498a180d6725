"""Addresses of brokers, as `bootstrap.servers` spells them.

Invariants: an `Address` that `Servers` made has a host without brackets and a port from
1 to 65535. Nothing here resolves a name. Errors name the entry and how it should look,
without a password that may stand in it.
"""

import re
from ipaddress import AddressValueError, IPv6Address

from prokurist.config.kinds import Rejected, kind_of, split
from prokurist.lazy_dataclasses import dataclass

_FORBIDDEN_IN_HOST = re.compile(r"""[\s/\\@?#"'<>\[\]{}()|^`=;&]""")
_PORT = re.compile(r"[0-9]{1,5}")
_EXAMPLE = "write host:port, for example kafka1.example.org:9092"
_SRV = re.compile(r"_[^.]+\._(tcp|udp|tls)(\..*)?", re.IGNORECASE)
USUAL_PORT = 9092
"""The port of an address that names none: Kafka's own default, and other clients'."""


@dataclass(frozen=True, slots=True)
class Address:
    """A host and a port.

    Attributes:
        host: A name, an IPv4 address or an IPv6 address without brackets.
        port: From 1 to 65535.
    """

    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class Servers:
    """The kind of `bootstrap.servers`: addresses, each at most once, in the user's order."""

    name: str = "list"
    unit: str = ""
    valid: str = "host:port, [IPv6]:port; 9092 without a port"
    accepts: str = "str | Sequence[str | Address]"

    def read(self, value: object) -> tuple[Address, ...]:
        """Read one or more addresses, without repetitions."""
        if isinstance(value, Address):
            value = [value]
        entries = split(value)
        if not entries:
            raise Rejected(f"must name at least one broker; {_EXAMPLE}")
        # One broker named twice is still one place to ask.
        return tuple(
            dict.fromkeys(_address(entry, place) for place, entry in enumerate(entries, 1))
        )


def _address(entry: object, place: int) -> Address:
    if isinstance(entry, Address):
        entry = str(entry)
    if not isinstance(entry, str):
        raise Rejected(
            f"entry {place} is an object of type {kind_of(entry)}, not a string; {_EXAMPLE}"
        )
    text = entry.strip()
    if not text:
        raise Rejected(f"entry {place} is empty; take out the extra comma, or {_EXAMPLE}")
    shown = repr(shown_without_credentials(text))
    if "://" in text:
        raise Rejected(
            f"entry {place}, {shown}, begins with a scheme; write host:port without it and "
            "choose the transport with security.protocol"
        )
    if len(text.split()) > 1:
        raise Rejected(
            f"entry {place}, {shown}, has a space inside; separate brokers with commas"
        )
    if ";" in text:
        raise Rejected(f"entry {place}, {shown}, has a semicolon; separate brokers with commas")
    if text.startswith("["):
        return _bracketed(text, shown, place)
    if text.count(":") > 1:
        raise Rejected(
            f"entry {place}, {shown}, looks like an IPv6 address without brackets; "
            "write [address]:port, for example [2001:db8::1]:9092"
        )
    if _SRV.fullmatch(text):
        raise Rejected(
            f"entry {place}, {shown}, is the name of an SRV record, which is not looked up; "
            f"{_EXAMPLE}"
        )
    host, colon, port = text.partition(":")
    if not host:
        raise Rejected(f"entry {place}, {shown}, has no host; {_EXAMPLE}")
    if found := _FORBIDDEN_IN_HOST.search(host):
        raise Rejected(
            f"entry {place}, {shown}, has {found[0]!r} in its host, which no host name has; "
            f"{_EXAMPLE}"
        )
    return Address(host, _port(port, shown, place) if colon else USUAL_PORT)


def _bracketed(text: str, shown: str, place: int) -> Address:
    host, closed, rest = text[1:].partition("]")
    try:
        IPv6Address(host)
    except AddressValueError:
        closed = ""
    if not closed or (rest and not rest.startswith(":")):
        raise Rejected(
            f"entry {place}, {shown}, has brackets but is not an IPv6 address in them; "
            "write [address]:port, for example [2001:db8::1]:9092"
        )
    return Address(host, _port(rest[1:], shown, place) if rest else USUAL_PORT)


def _port(port: str, shown: str, place: int) -> int:
    if not port:
        raise Rejected(
            f"entry {place}, {shown}, has no port behind its colon; {_EXAMPLE}, or leave the "
            f"colon out for {USUAL_PORT}"
        )
    if not _PORT.fullmatch(port) or not 1 <= int(port) <= 65535:
        raise Rejected(
            f"entry {place}, {shown}, has a bad port; a port is a number from 1 to 65535"
        )
    return int(port)


def shown_without_credentials(text: str) -> str:
    """Mask the part of an address that may hold a user's name and password.

    Args:
        text: The user's text.

    Returns:
        The text, with what stands before an "@" masked.
    """
    if "@" not in text:
        return text  # Nearly always, and the pattern need not be compiled then.
    return re.sub(r"((?:^|,)\s*(?:\w+://)?)[^,]*@", r"\1***@", text)

"""`bootstrap.servers`."""

import pytest

from prokurist.config import Address
from prokurist.config.address import Servers
from prokurist.config.kinds import Rejected


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("kafka1:9092", ["kafka1:9092"]),
        ("kafka1:9092, kafka2:9093", ["kafka1:9092", "kafka2:9093"]),
        (["kafka1:9092", Address("kafka2", 1)], ["kafka1:9092", "kafka2:1"]),
        (Address("kafka1", 9092), ["kafka1:9092"]),
        (("10.0.0.1:65535",), ["10.0.0.1:65535"]),
        ("[2001:db8::1]:9092", ["[2001:db8::1]:9092"]),
        ("[fe80::1%eth0]:9092", ["[fe80::1%eth0]:9092"]),
        ("kafka1:9092,kafka1:9092", ["kafka1:9092"]),
        ("kafka_1.example.org.:9092", ["kafka_1.example.org.:9092"]),
    ],
)
def test_reads(given: object, read: list[str]) -> None:
    """Addresses keep the user's order, each once, and print as they are written."""
    assert [str(address) for address in Servers().read(given)] == read


def test_an_address_without_a_port_has_the_usual_one() -> None:
    """B458: 9092, in every spelling of a host."""
    read = Servers().read("kafka1, [::1], 10.0.0.1, kafka2:9093, kafka1:9092")
    assert read == (
        Address("kafka1", 9092),
        Address("::1", 9092),
        Address("10.0.0.1", 9092),
        Address("kafka2", 9093),
    )


def test_an_address_has_no_brackets_in_its_host() -> None:
    """Brackets are a spelling; the host is what a resolver takes."""
    assert Servers().read("[::1]:9092") == (Address("::1", 9092),)


@pytest.mark.parametrize(
    ("given", "wrong"),
    [
        ("", "at least one broker"),
        ([], "at least one broker"),
        (9092, "list"),
        ([9092], "entry 1 is an object of type int"),
        ("kafka1:9092,", "entry 2 is empty; take out the extra comma"),
        ("kafka1:9092,,kafka2:9092", "entry 2 is empty"),
        ("kafka1:", "'kafka1:', has no port.*9092"),
        ("_kafka._tcp.example.org", "an SRV record, which is not looked up"),
        (":9092", "':9092', has no host"),
        ("kafka1:9092;kafka2:9092", "has a semicolon; separate brokers with commas"),
        ("kafka1:0", "bad port.*1 to 65535"),
        ("kafka1:65536", "bad port"),
        ("kafka1:http", "bad port"),
        ("kafka1:-1", "bad port"),
        ("kafka1:٩٠٩٢", "bad port"),
        ("kafka1:9092 kafka2:9092", "space inside"),
        ("kafka 1:9092", "space inside; separate brokers with commas"),
        ("kafka://kafka1:9092", "scheme.*without it.*security.protocol"),
        ("SASL_SSL://kafka1:9092", "begins with a scheme"),
        ("kafka1/topic:9092", "'/' in its host"),
        ("user@kafka1:9092", "'@' in its host"),
        ("2001:db8::1:9092", r"without brackets.*\[2001:db8::1\]:9092"),
        ("::1", "without brackets"),
        ("[::1]:", "has no port"),
        ("[::1]9092", "brackets"),
        ("[::1:9092", "brackets"),
        ("[kafka1]:9092", "not an IPv6 address"),
    ],
)
def test_rejects(given: object, wrong: str) -> None:
    """The error names the entry, what is wrong with it, and how it should look."""
    with pytest.raises(Rejected, match=wrong):
        Servers().read(given)

"""SCRAM against the vectors of its RFCs, and against brokers that do not keep to them."""

import hashlib
import hmac
from base64 import b64decode, b64encode

import pytest

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.security import scram
from prokurist.security.scram import Scram, ScramKeyCache

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_NONCE = f"{NONCE}%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
SALT = "W22ZaJ0SNY7soEsUEjb6gQ=="
PASSWORD = "pencil"  # noqa: S105 - the RFC's


def mechanism(name: str = "SCRAM-SHA-256", *, cache: ScramKeyCache | None = None) -> Scram:
    """The client of the RFC's example."""
    return Scram(name, "user", Secret(PASSWORD), nonce=lambda: NONCE, cache=cache)


def begun(*, cache: ScramKeyCache | None = None) -> Scram:
    """A client that waits for the broker's first message."""
    made = mechanism(cache=cache)
    made.first()
    return made


def server_first(nonce: str = SERVER_NONCE, salt: str = SALT, count: str = "4096") -> bytes:
    """A broker's first message."""
    return f"r={nonce},s={salt},i={count}".encode()


def test_rfc_7677() -> None:
    """S28: the exchange of RFC 7677 §3, byte by byte."""
    client = mechanism()
    assert client.first() == f"n,,n=user,r={NONCE}".encode()
    final = client.answer(server_first())
    assert (
        final
        == (f"c=biws,r={SERVER_NONCE},p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=").encode()
    )
    assert client.answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=") is None


def test_rfc_5802(monkeypatch: pytest.MonkeyPatch) -> None:
    """S28: the exchange of RFC 5802 §5, whose hash is not offered to users."""
    monkeypatch.setattr(scram, "HASHES", {"SCRAM-SHA-1": "sha1"})
    nonce = "fyko+d2lbbFgONRv9qkxdawL"
    client = Scram("SCRAM-SHA-1", "user", Secret(PASSWORD), nonce=lambda: nonce)
    client.first()
    server_nonce = f"{nonce}3rfcNHYJY1ZVvWVs7j"
    final = client.answer(server_first(server_nonce, "QSXCR+Q6sek8bf92"))
    assert final == f"c=biws,r={server_nonce},p=v0X8v3Bz2T0CJGbJQyF0X+HI4Ts=".encode()
    assert client.answer(b"v=rmF9pqV8S7suAoZWja4dJRkFsKQ=") is None


def test_sha_512_proves_the_password() -> None:
    """A broker's half, written down here from the RFC, accepts the proof with SHA-512."""
    client = mechanism("SCRAM-SHA-512")
    first = client.first().decode()[3:]
    final = client.answer(server_first())
    assert final is not None
    bare, _, proof = final.decode().partition(",p=")
    salted = hashlib.pbkdf2_hmac("sha512", PASSWORD.encode(), b64decode(SALT), 4096)
    message = f"{first},{server_first().decode()},{bare}".encode()
    key = hmac.digest(salted, b"Client Key", "sha512")
    signature = hmac.digest(hashlib.sha512(key).digest(), message, "sha512")
    assert bytes(a ^ b for a, b in zip(key, signature, strict=True)) == b64decode(proof)
    verifier = hmac.digest(hmac.digest(salted, b"Server Key", "sha512"), message, "sha512")
    assert client.answer(b"v=" + b64encode(verifier)) is None


def test_names_and_delegation_tokens() -> None:
    """S31: commas and equal signs in names are escaped; a token is announced."""
    client = Scram("SCRAM-SHA-256", "o,t=to", Secret("x"), token=True, nonce=lambda: "abc")
    assert client.first() == b"n,,n=o=2Ct=3Dto,r=abc,tokenauth=true"


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (server_first(nonce=NONCE), "nonce does not continue"),
        (server_first(nonce="x" + SERVER_NONCE), "nonce does not continue"),
        (server_first(nonce=SERVER_NONCE + "\x7f"), "nonce does not continue"),
        (server_first(nonce=NONCE + "y" * 1000), "nonce does not continue"),
        (server_first(count="1"), "asks for 1 iterations"),
        (server_first(count="2147483648"), "asks for 2147483648 iterations"),
        (server_first(count="-4096"), "iterations"),
        (server_first(count="9" * 5000), "iterations"),
        (server_first(count="٤٠٩٦"), "iterations"),
        (server_first(salt=""), "a salt of 0 bytes"),
        (server_first(salt="W22ZaJ0SNY7soEsUEjb6gQ"), "salt is not base64"),
        (server_first(salt="!!!!"), "salt is not base64"),
        (server_first(salt="A" * 4000), "a salt of 3000 bytes"),
        (b"m=future," + server_first(), "demands a SCRAM extension"),
        (b"", "lacks nonce, salt or count"),
        (server_first()[:20], "lacks nonce, salt or count"),
        (b"i=4096," + server_first(), "lacks nonce, salt or count"),
        (b"\xff\xfe", "not UTF-8"),
    ],
)
def test_hostile_first_messages(
    challenge: bytes, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S30: a first message out of bounds is refused before any hash is computed."""

    def forbidden(*_: object) -> bytes:
        raise AssertionError("computed")

    monkeypatch.setattr(hashlib, "pbkdf2_hmac", forbidden)
    with pytest.raises(SaslAuthenticationException, match=why) as caught:
        begun().answer(challenge)
    assert PASSWORD not in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("challenge", "why"),
    [
        (b"v=" + b64encode(bytes(32)), "signature is wrong"),
        (b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95A==", "signature is wrong"),
        (b"v=6rriTRBi23Wp", "signature is wrong"),
        (b"v=", "signature is wrong"),
        (b"v=???", "not base64"),
        (b"", "no signature"),
        (b"x=1", "no signature"),
        (b"e=invalid-proof", "the broker says 'invalid-proof'; check sasl.username"),
    ],
)
def test_hostile_last_messages(challenge: bytes, why: str) -> None:
    """S29: a broker that cannot sign is refused, for any other answer."""
    cache = ScramKeyCache()
    client = begun(cache=cache)
    client.answer(server_first())
    with pytest.raises(SaslAuthenticationException, match=why):
        client.answer(challenge)
    assert repr(cache) == "ScramKeyCache(0 keys)"


def test_a_third_message_is_refused() -> None:
    """A broker that goes on after its signature is refused."""
    client = begun()
    client.answer(server_first())
    client.answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    with pytest.raises(SaslAuthenticationException, match="went on"):
        client.answer(b"")


def test_accepted_keys_are_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next authentication computes no PBKDF2; one after a refusal does."""
    cache = ScramKeyCache()
    first = begun(cache=cache)
    proof = first.answer(server_first())
    first.answer(b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=")
    monkeypatch.setattr(hashlib, "pbkdf2_hmac", None)
    again = begun(cache=cache)
    assert again.answer(server_first()) == proof
    again.explain("refused")
    with pytest.raises(TypeError):
        begun(cache=cache).answer(server_first())


def test_what_cannot_be_encoded_is_not_shown() -> None:
    """A password that UTF-8 cannot hold is refused without its text, in the chain too."""
    client = Scram("SCRAM-SHA-256", "user", Secret("hush\udcff"), nonce=lambda: NONCE)
    client.first()
    with pytest.raises(SaslAuthenticationException, match=r"sasl.password") as caught:
        client.answer(server_first())
    assert caught.value.__context__ is None
    assert "hush" not in str(caught.value) + repr(client)


def test_nonces_differ() -> None:
    """Each authentication has 144 random bits of its own."""
    made = {scram.random_nonce() for _ in range(100)}
    assert len(made) == 100
    assert all(len(nonce) == 24 and "," not in nonce for nonce in made)

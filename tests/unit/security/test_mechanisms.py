"""Mechanisms against the RFCs' own examples, and against answers that lie."""

from base64 import b64encode

import pytest

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.security.oauthbearer import OAuthBearer
from prokurist.security.plain import Plain
from prokurist.security.scram import Scram, ScramKeyCache
from prokurist.security.token_sources import CallableSource, FileSource, UnsecuredSource
from prokurist.security.tokens import Token, TokenKeeper, expiry_of

NONCE = "rOprNGfwEbeRWgbNEkqO"
"""Of RFC 7677, section 3; the user is `user` and the password `pencil`."""
FIRST = (
    b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
)
PROOF = b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
LAST = b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def scram(**more: object) -> Scram:
    """The RFC's client."""
    return Scram(
        "SCRAM-SHA-256",
        "user",
        Secret("pencil"),
        nonce=lambda: NONCE,
        **more,  # type: ignore[arg-type]
    )


def test_scram_as_in_the_rfc() -> None:
    """S28: RFC 7677, section 3."""
    mechanism = scram()
    assert mechanism.first() == b"n,,n=user,r=" + NONCE.encode()
    final = mechanism.answer(FIRST)
    assert final is not None
    assert final.endswith(PROOF)
    assert mechanism.answer(LAST) is None


@pytest.mark.parametrize(
    ("first", "text"),
    [
        (FIRST.replace(b"rOprNG", b"xOprNG"), "nonce does not continue"),
        (b"r=" + NONCE.encode() + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096", "nonce does not"),
        (FIRST.replace(b"i=4096", b"i=1"), "1 iterations"),
        (FIRST.replace(b"i=4096", b"i=2147483648"), "2147483648 iterations"),
        (FIRST.replace(b"i=4096", b"i=-5"), "iterations"),
        (FIRST.replace(b"s=W22ZaJ0SNY7soEsUEjb6gQ==", b"s=!"), "salt is not base64"),
        (b"m=x," + FIRST, "demands a SCRAM extension"),
        (FIRST.partition(b",i=")[0], "lacks nonce, salt or count"),
        (b"\xff", "not UTF-8"),
        (b"", "lacks"),
    ],
)
def test_scram_refuses_what_no_broker_sends(first: bytes, text: str) -> None:
    """S29, S30: it is refused without computing, and in words."""
    mechanism = scram()
    mechanism.first()
    with pytest.raises(SaslAuthenticationException) as refused:
        mechanism.answer(first)
    assert text in str(refused.value)
    assert "pencil" not in str(refused.value)


@pytest.mark.parametrize(
    "last", [LAST.replace(b"6rri", b"7rri"), b"v=", b"x=1", b"", b"e=other-error", b"v=!"]
)
def test_scram_refuses_a_wrong_signature(last: bytes) -> None:
    """S29: a server that does not know the password is refused."""
    mechanism = scram()
    mechanism.first()
    mechanism.answer(FIRST)
    with pytest.raises(SaslAuthenticationException):
        mechanism.answer(last)


def test_scram_derives_a_key_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys that a broker has accepted serve the next connection, until one refuses."""
    derived = []
    real = Scram._derived

    def counted(self: Scram, salt: bytes, iterations: int) -> object:
        derived.append(salt)
        return real(self, salt, iterations)

    monkeypatch.setattr(Scram, "_derived", counted)
    cache = ScramKeyCache()
    mechanisms = [scram(cache=cache) for _ in range(3)]
    for mechanism in mechanisms:
        mechanism.first()
        mechanism.answer(FIRST)
        mechanism.answer(LAST)
    assert len(derived) == 1
    mechanisms[0].explain("no")
    again = scram(cache=cache)
    again.first()
    again.answer(FIRST)
    assert len(derived) == 2


def test_names_are_escaped() -> None:
    """S31: a comma and an equals sign in a name."""
    mechanism = Scram("SCRAM-SHA-512", "o,t=to", Secret("x"), token=True, nonce=lambda: "n")
    assert mechanism.first() == b"n,,n=o=2Ct=3Dto,r=n,tokenauth=true"


def test_plain_carries_no_nul() -> None:
    """A NUL would end the name or the password: it is refused."""
    assert Plain("anna", Secret("p\u00e4ss")).first() == b"\0anna\0p\xc3\xa4ss"
    with pytest.raises(SaslAuthenticationException):
        Plain("an\0na", Secret("x")).first()


def keeper(source: object, now: list[float]) -> TokenKeeper:
    """A keeper with Java's defaults."""
    return TokenKeeper(
        source,  # type: ignore[arg-type]
        now=lambda: now[0],
        draw=lambda: 0.0,
        window=0.8,
        jitter=0.05,
        least=60,
        buffer=300,
    )


class Tokens:
    """A source that counts, and may fail."""

    def __init__(self, life: float, now: list[float]) -> None:
        self.fetched, self.fails, self._life, self._now = 0, False, life, now

    def fetch(self) -> Token:
        """The next token."""
        if self.fails:
            raise SaslAuthenticationException("no token")
        self.fetched += 1
        return Token(Secret(f"token-{self.fetched}"), self._now[0] + self._life)


def test_a_token_is_renewed_ahead_of_its_end() -> None:
    """S35: at 0.8 of its life; a failing renewal uses the old one while it lives."""
    now = [0.0]
    source = Tokens(10_000, now)
    tokens = keeper(source, now)
    tokens.current()
    now[0] = 7_900
    tokens.current()
    assert source.fetched == 1
    now[0] = 8_001
    source.fails = True
    assert tokens.current().secret.reveal() == "token-1"
    now[0] = 10_001
    with pytest.raises(SaslAuthenticationException):
        tokens.current()
    source.fails = False
    assert tokens.current().secret.reveal() == "token-2"


def test_bearer_messages() -> None:
    """RFC 7628: the token and its extensions; an error is acknowledged with one byte."""
    source = CallableSource(lambda config: (config, 1e12), "abc", {"traceId": "7"})
    mechanism = OAuthBearer(keeper(source, [0.0]))
    assert mechanism.first() == b"n,,\x01auth=Bearer abc\x01traceId=7\x01\x01"
    assert mechanism.answer(b"") is None
    failing = OAuthBearer(keeper(source, [0.0]))
    failing.first()
    assert failing.answer(b'{"status":"invalid_token","scope":"x"}') == b"\x01"
    assert "invalid_token" in failing.explain("refused")


@pytest.mark.parametrize(
    "told", ["", "a b", "x" * 40_000, 7, None, ("x",), ("x", "soon"), ("x", 0.0), b"x"]
)
def test_callables_that_give_no_token(told: object) -> None:
    """What cannot be a token, or has run out, is refused without quoting it."""
    tokens = keeper(CallableSource(lambda _: told, "", {}), [1.0])
    with pytest.raises(SaslAuthenticationException) as refused:
        tokens.current()
    assert "sasl.oauthbearer.token.callback" in str(refused.value)


def test_a_file_is_read_for_each_authentication(tmp_path: object) -> None:
    """A token that something else keeps fresh in a file."""
    path = tmp_path / "token"  # type: ignore[operator]
    source = FileSource(str(path), {})
    with pytest.raises(SaslAuthenticationException, match="cannot be read"):
        source.fetch()
    path.write_text("one\n")
    tokens = keeper(source, [0.0])
    assert tokens.current().secret.reveal() == "one"
    path.write_text("two")
    assert tokens.current().secret.reveal() == "two"


def test_unsecured_tokens() -> None:
    """Claims of the client's own making, with a life."""
    token = UnsecuredSource("principal=anna lifeSeconds=600", {}, lambda: 1000.0).fetch()
    assert expiry_of(token.secret.reveal()) == 1600
    assert token.secret.reveal().startswith(b64encode(b'{"alg":"none"}').decode().rstrip("="))
    with pytest.raises(SaslAuthenticationException, match="must read like"):
        UnsecuredSource("scope=a", {}, lambda: 0.0)

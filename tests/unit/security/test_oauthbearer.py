"""OAUTHBEARER and its tokens: sources, lives, and what a broker or endpoint may answer."""

import json
from base64 import b64decode
from collections.abc import Mapping
from pathlib import Path

import pytest

from prokurist.config.secret import Secret
from prokurist.errors import KafkaException, NetworkException, SaslAuthenticationException
from prokurist.security.oauthbearer import OAuthBearer
from prokurist.security.token_backoff import TokenBackoff
from prokurist.security.token_request import (
    LONGEST_ANSWER,
    ClientCredentials,
    EndpointAnswer,
    percent_encoded,
)
from prokurist.security.token_sources import CallableSource, FileSource, UnsecuredSource
from prokurist.security.tokens import (
    Token,
    TokenKeeper,
    TokenSource,
    claims_of,
    expiry_of,
    unsecured_token,
)

CANARY = "hush-4711"


class Source:
    """Gives tokens that live for 1000 s, or fails."""

    def __init__(self) -> None:
        self.now = 0.0
        self.made = 0
        self.error: KafkaException | None = None

    def fetch(self) -> Token:
        """The next token."""
        self.made += 1
        if self.error is not None:
            raise self.error
        return Token(Secret(f"t{self.made}"), self.now + 1000, {"realm": "x"})

    def __repr__(self) -> str:
        return "the source"


def keeper(source: TokenSource, now: Source) -> TokenKeeper:
    """A keeper with Java's defaults."""
    return TokenKeeper(
        source,
        now=lambda: now.now,
        draw=lambda: 0.0,
        window=0.8,
        jitter=0.05,
        least=60,
        buffer=300,
    )


def test_the_messages() -> None:
    """RFC 7628: token and extensions; silence is success."""
    source = Source()
    client = OAuthBearer(keeper(source, source))
    assert client.first() == b"n,,\x01auth=Bearer t1\x01realm=x\x01\x01"
    assert client.answer(b"") is None


def test_a_refused_token() -> None:
    """S38: an error is acknowledged; its reason and the token's source are told."""
    source = Source()
    tokens = keeper(source, source)
    client = OAuthBearer(tokens)
    client.first()
    told = {"status": "invalid_token", "scope": "kafka\nread", "x": CANARY}
    assert client.answer(json.dumps(told).encode()) == b"\x01"
    text = client.explain("the broker says 'no'")
    assert "status invalid_token, scope kafka read" in text
    assert "the source" in text
    assert CANARY not in text
    assert tokens.current().secret.reveal() == "t2"
    with pytest.raises(SaslAuthenticationException, match="went on"):
        client.answer(b"")


@pytest.mark.parametrize("answer", [b"\xff", b"[" * 100_000, b"{}", b"nope"])
def test_unreadable_errors(answer: bytes) -> None:
    """An error in any form is acknowledged and refused."""
    source = Source()
    client = OAuthBearer(keeper(source, source))
    client.first()
    assert client.answer(answer) == b"\x01"
    assert len(client.explain("no")) < 700


def test_a_token_is_renewed_late_in_its_life() -> None:
    """S35: one token serves until its renewal is due, and longer while renewing fails."""
    source = Source()
    tokens = keeper(source, source)
    assert tokens.current().secret.reveal() == "t1"
    source.now = 699.0  # the buffer of 300 s comes before 0.8 of the life
    assert tokens.current().secret.reveal() == "t1"
    source.now = 701.0
    source.error = NetworkException("endpoint down")
    assert tokens.current().secret.reveal() == "t1"
    assert source.made == 2
    source.now = 720.0
    assert tokens.current().secret.reveal() == "t1"
    assert source.made == 2  # not asked again at once
    source.error = None
    source.now = 770.0
    assert tokens.current().secret.reveal() == "t3"
    source.now = 1770.0
    source.error = NetworkException("endpoint down")
    with pytest.raises(NetworkException):
        tokens.current()


def test_a_token_that_has_run_out_is_not_sent() -> None:
    """A source that gives an expired token is named."""
    source = Source()
    late = CallableSource(lambda _: ("t", source.now - 5), "", {})
    with pytest.raises(SaslAuthenticationException, match=r"ran out 5 s ago"):
        keeper(late, source).current()


class Provider:
    """kafka-python's form."""

    def token(self) -> str:
        """The token."""
        return unsecured_token({"sub": "anna", "exp": 42})

    def extensions(self) -> dict[str, str]:
        """Its extensions."""
        return {"pool": "b"}


def test_callables_of_both_forms() -> None:
    """confluent-kafka's callable is handed the configuration; kafka-python's object asked."""
    seen: list[str] = []

    def provider(config: str) -> tuple[str, float, str, dict[str, str]]:
        seen.append(config)
        return "abc", 17.5, "anna", {"realm": "y"}

    token = CallableSource(provider, "x=1", {"realm": "x", "pool": "a"}).fetch()
    assert (token.secret.reveal(), token.expires) == ("abc", 17.5)
    assert token.extensions == {"realm": "y", "pool": "a"}
    assert seen == ["x=1"]
    token = CallableSource(Provider(), "", {}).fetch()
    assert (token.expires, token.extensions) == (42.0, {"pool": "b"})


@pytest.mark.parametrize(
    ("told", "why"),
    [
        (None, "object of type NoneType"),
        ("", "empty token"),
        (CANARY + "\n" + CANARY, "characters"),
        ("x" * 40_000, "40000 characters"),
        ((CANARY,), "tuple of 1"),
        ((CANARY, "soon"), "expiry of type str"),
        ((CANARY, 1.0, "p", {"auth": CANARY}), "cannot be the name"),
        ((CANARY, 1.0, "p", {"a": CANARY + "\0"}), "the value of the SASL extension 'a'"),
        ((CANARY, 1.0, "p", {"a1": "x"}), "cannot be the name"),
    ],
)
def test_bad_callables(told: object, why: str) -> None:
    """What a callable may return wrongly is named, without the token."""
    with pytest.raises(SaslAuthenticationException, match=why) as caught:
        CallableSource(lambda _: told, "", {}).fetch()
    assert CANARY not in str(caught.value)


def test_a_callable_that_raises() -> None:
    """Its exception's type is told; its text, which may hold a token, is not."""

    def provider(_: str) -> str:
        raise ValueError(CANARY)

    with pytest.raises(SaslAuthenticationException, match="raised ValueError") as caught:
        CallableSource(provider, "", {}).fetch()
    assert caught.value.__context__ is None
    assert CANARY not in str(caught.value)


def test_a_file(tmp_path: Path) -> None:
    """A file is read for each authentication; one that is missing is named."""
    path = tmp_path / "token"
    path.write_text("one\n")
    tokens = keeper(FileSource(str(path), {}), Source())
    assert tokens.current().secret.reveal() == "one"
    path.write_text("two\n")
    assert tokens.current().secret.reveal() == "two"
    path.write_bytes(b"\xff")
    with pytest.raises(SaslAuthenticationException, match="characters"):
        tokens.current()
    path.unlink()
    with pytest.raises(SaslAuthenticationException, match="cannot be read: No such file"):
        tokens.current()


def test_unsecured_tokens() -> None:
    """The claims in the form of librdkafka; what is not understood is refused."""
    settings = "principal=anna scope=a,b lifeSeconds=10 extension_pool=p"
    token = UnsecuredSource(settings, {}, lambda: 100.0).fetch()
    claims = claims_of(token.secret.reveal())
    assert claims == {"sub": "anna", "iat": 100.0, "exp": 110.0, "scope": ["a", "b"]}
    assert (token.expires, token.extensions) == (110.0, {"pool": "p"})
    for wrong in ("", "scope=a", "principal=a b", "principal=a life=5", "principal"):
        with pytest.raises(SaslAuthenticationException, match="must read like"):
            UnsecuredSource(wrong, {}, lambda: 0.0)


@pytest.mark.parametrize("text", ["a.b.c", "a.!!.c", "x", "a.W10.c", f"a.{'W' * 9}.c"])
def test_tokens_of_another_kind(text: str) -> None:
    """A token that is no JWT has no expiry that could be read from it."""
    assert expiry_of(text) is None


class Endpoint:
    """Answers in turn."""

    url = "https://idp/token"

    def __init__(self, *answers: EndpointAnswer | KafkaException) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[Mapping[str, str], bytes]] = []

    def post(self, headers: Mapping[str, str], body: bytes) -> EndpointAnswer:
        """The next answer."""
        self.asked.append((headers, body))
        answer = self.answers.pop(0)
        if isinstance(answer, KafkaException):
            raise answer
        return answer


class Backoff(TokenBackoff):
    """That of an endpoint, at a moment that the test sets."""

    def __init__(self) -> None:
        self.time = 50.0
        super().__init__(0.1, 10.0, now=lambda: self.time, draw=lambda: 0.5)


def credentials(
    endpoint: Endpoint, *, urlencode: bool = False, backoff: TokenBackoff | None = None
) -> ClientCredentials:
    """A client's grant."""
    return ClientCredentials(
        endpoint,
        client_id="me",
        secret=lambda: Secret(f"{CANARY}:+"),
        scope="kafka read",
        urlencode=urlencode,
        extensions={},
        now=lambda: 50.0,
        backoff=backoff or Backoff(),
    )


def granted(**fields: object) -> EndpointAnswer:
    """A good answer."""
    return EndpointAnswer(200, json.dumps({"access_token": "abc", **fields}).encode())


def test_client_credentials() -> None:
    """The grant's request; the token's life comes from the answer where it is no JWT."""
    endpoint = Endpoint(granted(expires_in=3600))
    token = credentials(endpoint).fetch()
    assert (token.secret.reveal(), token.expires) == ("abc", 3650.0)
    headers, body = endpoint.asked[0]
    assert body == b"grant_type=client_credentials&scope=kafka%20read"
    assert b64decode(headers["Authorization"][6:]) == f"me:{CANARY}:+".encode()
    endpoint = Endpoint(granted())
    credentials(endpoint, urlencode=True).fetch()
    assert b64decode(endpoint.asked[0][0]["Authorization"][6:]).endswith(b"%3A%2B")
    assert percent_encoded("a/ü~", "/") == "a/%C3%BC~"


def test_what_is_tried_again() -> None:
    """B401: after 503 or a network in trouble it is asked when its back-off is over."""
    busy = EndpointAnswer(503, b"busy")
    endpoint, backoff = Endpoint(busy, NetworkException("reset"), granted(), busy), Backoff()
    grant = credentials(endpoint, backoff=backoff)
    for text, pause in (("answered 503", 0.1), ("reset", 0.2)):
        asked = len(endpoint.asked)
        for _ in range(3):
            with pytest.raises(NetworkException, match=text):
                grant.fetch()
            assert len(endpoint.asked) == asked + 1
        assert backoff.left() == pytest.approx(pause)
        backoff.time += pause + 0.001
    assert grant.fetch().secret.reveal() == "abc"
    with pytest.raises(NetworkException, match="answered 503"):
        grant.fetch()
    assert backoff.left() == pytest.approx(0.1)


def test_the_pauses_of_an_endpoint_have_an_end() -> None:
    """B401: sasl.login.retry.backoff.max.ms at most, and none if the clock is set back."""
    backoff = Backoff()
    for _ in range(2000):
        backoff.failed(NetworkException("reset"))
    assert backoff.left() == pytest.approx(10.0)
    backoff.time -= 3600.0
    assert backoff.left() == 0.0
    backoff.check()


def test_a_refusal_is_told_again_at_once() -> None:
    """B401: nothing waits for the end of its back-off, and the endpoint is not asked before."""
    endpoint, backoff = Endpoint(EndpointAnswer(401, b""), granted()), Backoff()
    grant = credentials(endpoint, backoff=backoff)
    for _ in range(3):
        with pytest.raises(SaslAuthenticationException, match="401"):
            grant.fetch()
        assert backoff.left() == 0.0
    assert len(endpoint.asked) == 1
    backoff.time += 0.2
    assert grant.fetch().secret.reveal() == "abc"


def test_what_waits_for_a_token_says_why_there_is_none() -> None:
    """B372: the endpoint in words, with its last failure while it fails, and no class names."""
    busy = EndpointAnswer(503, b"busy")
    endpoint, backoff = Endpoint(busy), Backoff()
    mechanism = OAuthBearer(
        TokenKeeper(
            credentials(endpoint, backoff=backoff),
            now=lambda: 50.0,
            draw=lambda: 0.0,
            window=0.8,
            jitter=0.05,
            least=60.0,
            buffer=300.0,
        )
    )
    assert str(mechanism) == "a token of the token endpoint https://idp/token"
    with pytest.raises(NetworkException):
        mechanism.first()
    assert str(mechanism) == (
        "a token of the token endpoint https://idp/token, which answered 503"
    )
    for answer in (granted(), EndpointAnswer(401, b"")):
        endpoint.answers.append(answer)
    backoff.time += 1.0
    mechanism.first()
    assert str(mechanism) == "a token of the token endpoint https://idp/token"
    mechanism.explain("no")
    with pytest.raises(SaslAuthenticationException, match="401"):
        mechanism.first()
    assert str(mechanism) == "a token of the token endpoint https://idp/token"
    assert (
        mechanism.explain("no")
        == "no; the token came from the token endpoint https://idp/token"
    )


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (
            EndpointAnswer(
                401, json.dumps({"error": "x", "error_description": "y" * 900}).encode()
            ),
            r"refused the client's id and secret with 401 \(x: y{200}…\)",
        ),
        (EndpointAnswer(400, b"[" * 50_000), "with 400; check"),
        (EndpointAnswer(302, b""), "a redirect"),
        (EndpointAnswer(200, b"x" * (LONGEST_ANSWER + 1)), "more than 65536 bytes"),
        (EndpointAnswer(200, b"<html>"), "without an access_token"),
        (EndpointAnswer(200, b'{"access_token": 5}'), "object of type int"),
        (granted(access_token="t" * 40_000), "40000 characters"),
    ],
)
def test_answers_that_are_final(answer: EndpointAnswer, why: str) -> None:
    """S36, S37: a refusal is told at once, in the endpoint's words, without the secret."""
    endpoint = Endpoint(answer)
    with pytest.raises(SaslAuthenticationException, match=why) as caught:
        credentials(endpoint).fetch()
    assert len(endpoint.asked) == 1
    assert CANARY not in str(caught.value)


@pytest.mark.parametrize("life", [10**400, -(10**400), True, "60", None, float("inf")])
def test_lives_beyond_all_time(life: object) -> None:
    """A life that is no number of seconds counts as one that is not told."""
    assert credentials(Endpoint(granted(expires_in=life))).fetch().expires is None
    assert expiry_of(unsecured_token({"sub": "anna", "exp": life})) is None


def test_a_token_that_is_refused_while_another_is_fetched() -> None:
    """The network thread may drop a token while the helper fetches: what came is used."""
    source = Source()

    class Dropping(Source):
        def fetch(self) -> Token:
            tokens.refused()
            return super().fetch()

    tokens = keeper(Dropping(), source)
    assert tokens.current().secret.reveal() == "t1"

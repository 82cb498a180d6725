"""A token endpoint that fails or refuses, in virtual time."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest

from prokurist import KafkaConsumer, TopicPartition
from prokurist.errors import NetworkException, SaslAuthenticationException, TimeoutException
from prokurist.security.token_request import EndpointAnswer
from prokurist.testing.cluster.sasl import Sasl
from tests.simulation.world import World

PARTITION = TopicPartition("orders", 0)


def secured() -> World:
    """Three brokers that take one token."""
    world = World(nodes=3)
    world.cluster.sasl = Sasl({})
    world.cluster.sasl.tokens.add("good")
    return world


class Provider:
    """A token endpoint in virtual time.

    Attributes:
        status: What it answers; 0 for nothing at all.
        asked: When it was asked.
    """

    def __init__(self, world: World, monkeypatch: pytest.MonkeyPatch) -> None:
        self.url = ""
        self.status = 503
        self.asked: list[float] = []
        self._world = world
        monkeypatch.setattr("prokurist.testing.virtual_time.world.no_endpoint", self._at)

    def _at(self, url: str) -> "Provider":
        self.url = url
        return self

    def post(self, _headers: Mapping[str, str], _body: bytes) -> EndpointAnswer:
        """See `Endpoint.post`."""
        self.asked.append(self._world.clock.time)
        if not self.status:
            raise NetworkException(f"the token endpoint {self.url} hung up")
        return EndpointAnswer(self.status, b'{"access_token": "good", "expires_in": 3600}')

    def consumer(self, **more: Any) -> KafkaConsumer:
        """A consumer with its tokens."""
        return self._world.consumer(
            security_protocol="SASL_PLAINTEXT",
            sasl_mechanism="OAUTHBEARER",
            sasl_oauthbearer_token_endpoint_url="https://idp/token",  # noqa: S106 - of the model
            sasl_oauthbearer_client_credentials_client_id="me",
            sasl_oauthbearer_client_credentials_client_secret="hush",  # noqa: S106
            **more,
        )


@pytest.mark.parametrize(("status", "text"), [(503, "answered 503"), (0, "hung up")])
def test_a_token_endpoint_that_fails_is_asked_by_one_back_off(
    monkeypatch: pytest.MonkeyPatch, status: int, text: str
) -> None:
    """B401: whatever connections try, at ever longer pauses; each call ends, and says why."""
    world = secured()
    provider = Provider(world, monkeypatch)
    provider.status = status
    with provider.consumer(auto_offset_reset="earliest") as ours:
        ours.assign([PARTITION])
        began = world.clock.time
        for seconds in (0.5, 0.5, 3.0, 3.0, 10.0, 30.0):
            at = world.clock.time
            with pytest.raises(TimeoutException, match=text):
                ours.partitions_for("orders", seconds)
            assert world.clock.time - at == pytest.approx(seconds, abs=0.1)
        pauses = [later - sooner for sooner, later in pairwise(provider.asked)]
        assert provider.asked[0] - began < 0.2
        assert all(0.8 * min(0.1 * 2**nth, 10.0) <= each for nth, each in enumerate(pauses)), (
            pauses
        )
        ours.poll(300.0)
        assert len(provider.asked) < 45
        at = len(provider.asked)
        provider.status = 200
        assert len(ours.partitions_for("orders", 15)) == 3
        assert ours.end_offsets([PARTITION], 5)
        assert len(provider.asked) == at + 1


def test_a_token_endpoint_that_refuses_is_not_asked_by_each_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B401: calls end with the refusal at once, and are let in once there is a token."""
    world = secured()
    provider = Provider(world, monkeypatch)
    provider.status = 401
    with provider.consumer() as ours:
        began = world.clock.time
        told = 0
        while world.clock.time < began + 60.0:
            at = world.clock.time
            with pytest.raises(SaslAuthenticationException, match="401"):
                ours.partitions_for("orders", 5)
            assert world.clock.time - at < 2.0
            told += 1
        assert len(provider.asked) < 20 < told
        provider.status = 200
        world.clock.sleep(12.0)
        assert len(ours.partitions_for("orders", 5)) == 3


def test_a_token_endpoint_that_fails_once_costs_no_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """B401: what is connected waits for the end of a short pause, and goes on."""
    world = secured()
    provider = Provider(world, monkeypatch)
    world.at(world.clock.time + 0.2, lambda: setattr(provider, "status", 200))
    with provider.consumer() as ours:
        assert len(ours.partitions_for("orders", 5)) == 3
        assert world.clock.time < 1002.0
        assert 2 <= len(provider.asked) <= 3

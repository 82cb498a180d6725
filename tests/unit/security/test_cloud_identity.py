"""Identities that clouds give: their documented protocols, and services in trouble."""

import json
import os
import socket
import time
from base64 import urlsafe_b64decode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from prokurist import KafkaConsumer
from prokurist.config import ConsumerConfig
from prokurist.errors import (
    ConfigException,
    KafkaException,
    NetworkException,
    SaslAuthenticationException,
    TimeoutException,
)
from prokurist.network_thread.io.cloud_service import CloudService
from prokurist.network_thread.io.helper import Job
from prokurist.security.aws_chain import AwsChain, AwsKeeper
from prokurist.security.aws_roles import Role
from prokurist.security.azure_identity import AzureIdentity
from prokurist.security.cloud_request import moment_of
from prokurist.security.gcp_identity import GcpIdentity
from prokurist.security.token_backoff import TokenBackoff
from prokurist.security.tokens import TokenKeeper
from prokurist.testing.broker import EmbeddedBroker
from prokurist.testing.cluster.sasl import Sasl
from tests.unit.security.cloud_stand_in import LIFE, SECRET, StandIn, standing_in
from tests.unit.security.test_secrets_in_tracebacks import check_clean

ROLE = "arn:aws:iam::123456789012:role/reader"
SCOPE = "https://demo.servicebus.windows.net/.default"


@pytest.fixture
def cloud() -> Iterator[StandIn]:
    """Stand-ins of the test's own."""
    with standing_in() as services:
        yield services


def service(seconds: float = 60.0) -> CloudService:
    """The client's own exchange."""
    return CloudService(seconds, seconds)


def chain(environment: Mapping[str, str], folder: Path, **more: Any) -> AwsChain:
    """Amazon's places, with files of the test's own."""
    files = {
        "AWS_SHARED_CREDENTIALS_FILE": str(folder / "credentials"),
        "AWS_CONFIG_FILE": str(folder / "config"),
    }
    given: dict[str, Any] = {
        "profile": None,
        "role": None,
        "sts_region": None,
        "ask": service(),
        "now": time.time,
        **more,
    }
    return AwsChain({**files, **environment}, **given)


def places(cloud: StandIn, folder: Path) -> dict[str, tuple[dict[str, str], list[str]]]:
    """Each place of credentials: the environment that names it, and what is asked there."""
    (folder / "token").write_text(f"{SECRET}.jwt\n")
    (folder / "pod").write_text(f"{SECRET}-pod\n")
    (folder / "credentials").write_text(
        f"[base]\naws_access_key_id=B\naws_secret_access_key={SECRET}\n"
    )
    (folder / "config").write_text(
        f"[profile reader]\nrole_arn={ROLE}\nsource_profile=middle\nregion=eu-west-1\n"
        "external_id=of/another+account\n"
        f"[profile middle]\nrole_arn={ROLE}-1\nsource_profile=base\n"
        f"[profile pod]\nrole_arn={ROLE}\nweb_identity_token_file={folder / 'token'}\n"
        f"[profile task]\nrole_arn={ROLE}\ncredential_source=EcsContainer\nregion=eu-west-1\n"
        f"[profile own]\nrole_arn={ROLE}\ncredential_source=Environment\nregion=eu-west-1\n"
    )
    sts = {"AWS_ENDPOINT_URL_STS": cloud.url}
    container = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{cloud.url}/v1/credentials",
        "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE": str(folder / "pod"),
    }
    roles = "GET /latest/meta-data/iam/security-credentials/"
    return {
        "EKS pod identity": (container, ["GET /v1/credentials"]),
        "ECS": (
            {
                "AWS_CONTAINER_CREDENTIALS_FULL_URI": f"{cloud.url}/v1/credentials",
                "AWS_CONTAINER_AUTHORIZATION_TOKEN": f"{SECRET}-pod",
            },
            ["GET /v1/credentials"],
        ),
        "web identity": (
            {
                **sts,
                "AWS_WEB_IDENTITY_TOKEN_FILE": str(folder / "token"),
                "AWS_ROLE_ARN": ROLE,
            },
            ["POST / AssumeRoleWithWebIdentity"],
        ),
        "IMDSv2": (
            {"AWS_EC2_METADATA_SERVICE_ENDPOINT": cloud.url},
            ["PUT /latest/api/token", roles, f"{roles}the-role"],
        ),
        "roles by a profile": (
            {**sts, "AWS_PROFILE": "reader"},
            ["POST / AssumeRole", "POST / AssumeRole"],
        ),
        "web identity by a profile": (
            {**sts, "AWS_PROFILE": "pod"},
            ["POST / AssumeRoleWithWebIdentity"],
        ),
        "a task's role by a profile": (
            {**sts, **container, "AWS_PROFILE": "task"},
            ["GET /v1/credentials", "POST / AssumeRole"],
        ),
    }


PLACES = (
    "EKS pod identity",
    "ECS",
    "web identity",
    "IMDSv2",
    "roles by a profile",
    "web identity by a profile",
    "a task's role by a profile",
)


@pytest.mark.parametrize("place", PLACES)
def test_places_of_amazons_credentials(cloud: StandIn, tmp_path: Path, place: str) -> None:
    """B895: each by its documented protocol, with when its credentials end."""
    environment, asked = places(cloud, tmp_path)[place]
    began = time.time()
    found = chain(environment, tmp_path).fetch("eu-west-1")
    assert cloud.asked == asked
    assert found.access_key == f"ASIA{cloud.number}"
    assert found.secret_key.reveal() == f"{SECRET}/{cloud.number}"
    assert found.session_token is not None
    assert found.session_token.reveal() == f"{SECRET}+{cloud.number}"
    assert found.expires is not None
    assert began + LIFE - 2 < found.expires < time.time() + LIFE + 1


def test_a_role_by_its_key(cloud: StandIn, tmp_path: Path) -> None:
    """B895: `sasl.aws.role.arn` is assumed by whatever is found."""
    environment = {
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "AWS_ENDPOINT_URL_STS": cloud.url,
    }
    found = chain(environment, tmp_path, role=Role(ROLE)).fetch("eu-west-1")
    assert (found.access_key, cloud.asked) == ("ASIA1", ["POST / AssumeRole"])


def test_the_order_of_places(cloud: StandIn, tmp_path: Path) -> None:
    """B895: the environment's keys, a profile, files, a container, the machine."""
    everything: dict[str, str] = {}
    for name in ("IMDSv2", "EKS pod identity", "web identity"):
        everything |= places(cloud, tmp_path)[name][0]
    keys = {"AWS_ACCESS_KEY_ID": "E", "AWS_SECRET_ACCESS_KEY": "e"}
    named = {"AWS_PROFILE": "base"}
    assert chain({**everything, **keys, **named}, tmp_path).fetch(None).access_key == "E"
    assert chain({**everything, **named}, tmp_path).fetch(None).access_key == "B"
    by_key = chain({**everything, **keys}, tmp_path, profile="base")
    assert by_key.fetch(None).access_key == "B"
    assert cloud.asked == []
    chain(everything, tmp_path).fetch(None)
    del everything["AWS_WEB_IDENTITY_TOKEN_FILE"]
    chain(everything, tmp_path).fetch(None)
    del everything["AWS_CONTAINER_CREDENTIALS_FULL_URI"]
    chain(everything, tmp_path).fetch(None)
    assert [each.split()[1] for each in cloud.asked][:3] == [
        "/",
        "/v1/credentials",
        "/latest/api/token",
    ]


def test_amazons_files(tmp_path: Path) -> None:
    """B895: keys and regions of profiles; errors show no key."""
    (tmp_path / "credentials").write_text(
        "[default]\naws_access_key_id=D\naws_secret_access_key=d%\n"
        f"[other]\naws_access_key_id=O\naws_secret_access_key={SECRET}\naws_session_token=t\n"
    )
    (tmp_path / "config").write_text(
        "[profile other]\nregion=eu-central-1\n"
        "[profile person]\nsso_session=s\n"
        "[profile program]\ncredential_process=/bin/x\n"
        f"[profile device]\nrole_arn={ROLE}\nsource_profile=other\nmfa_serial=m\n"
        f"[profile alone]\nrole_arn={ROLE}\n"
        f"[profile round]\nrole_arn={ROLE}\nsource_profile=trip\n"
        f"[profile trip]\nrole_arn={ROLE}\nsource_profile=round\n"
    )
    assert chain({}, tmp_path).fetch(None).secret_key.reveal() == "d%"
    other = chain({}, tmp_path, profile="other").fetch(None)
    assert (other.access_key, other.region) == ("O", "eu-central-1")
    for name, text in {
        "none": r"profile 'none'.*iam-sasl-signer",
        "person": "has sso_session, which is not asked",
        "program": "has credential_process",
        "device": "a code of a person's device",
        "alone": "say by whom",
        "round": "lead to each other",
    }.items():
        with pytest.raises(SaslAuthenticationException, match=text):
            chain({}, tmp_path, profile=name).fetch(None)
    (tmp_path / "credentials").write_text(f"{SECRET}\n")
    with pytest.raises(SaslAuthenticationException, match="not a valid file") as caught:
        chain({}, tmp_path).fetch(None)
    assert caught.value.__context__ is None


@pytest.mark.parametrize(
    ("name", "section"),
    [
        (None, "profile default"),
        ("my team", 'profile "my team"'),
        ("my team", "profile 'my team'"),
        ("spaced", "profile   spaced "),
        ("tabbed", "profile\ttabbed"),
    ],
)
def test_names_of_sections(tmp_path: Path, name: str | None, section: str) -> None:
    """B925: as Amazon's own tools write and read them."""
    (tmp_path / "config").write_text(
        f"[{section}]\naws_access_key_id=A\naws_secret_access_key={SECRET}\n"
    )
    empty = {"AWS_PROFILE": ""}
    found = chain(empty, tmp_path, profile=name, ask=refuse_to_ask).fetch(None)
    assert found.access_key == "A"


@pytest.mark.parametrize(
    ("environment", "settings", "text"),
    [
        ({}, "sso_session=s", "'default' has sso_session, which is not asked"),
        ({}, "credential_process=/bin/x", "'default' has credential_process"),
        ({"AWS_WEB_IDENTITY_TOKEN_FILE": "/token"}, "", "AWS_ROLE_ARN is not"),
    ],
)
def test_a_place_that_is_named_is_not_passed_over(
    tmp_path: Path, environment: dict[str, str], settings: str, text: str
) -> None:
    """B925: the machine's own role would be another identity."""
    (tmp_path / "config").write_text(f"[default]\n{settings}\n")
    with pytest.raises(SaslAuthenticationException, match=text):
        chain(environment, tmp_path, ask=refuse_to_ask).fetch(None)


@pytest.mark.parametrize(
    "url", ["http://203.0.113.9/x", "ftp://localhost/x", "http://x@127.0.0.1/"]
)
def test_a_containers_token_goes_to_no_stranger(tmp_path: Path, url: str) -> None:
    """B900: without TLS it goes to services beside the container alone."""
    environment = {
        "AWS_CONTAINER_CREDENTIALS_FULL_URI": url,
        "AWS_CONTAINER_AUTHORIZATION_TOKEN": SECRET,
    }
    with pytest.raises(SaslAuthenticationException, match="beside this container"):
        chain(environment, tmp_path, ask=refuse_to_ask).fetch(None)


def refuse_to_ask(request: Any) -> Any:
    """Nothing may be sent."""
    raise AssertionError(request)


class Day:
    """A time of day that the test sets."""

    def __init__(self) -> None:
        self.at = 1_700_000_000.0

    def __call__(self) -> float:
        """Its reading."""
        return self.at


def test_amazons_credentials_are_renewed_before_they_end(
    cloud: StandIn, tmp_path: Path
) -> None:
    """B896: five minutes before; while that fails the old ones serve, and then the error."""
    day = Day()
    cloud.now = day
    environment, _ = places(cloud, tmp_path)["EKS pod identity"]
    backoff = TokenBackoff(0.1, 10.0, now=day, draw=lambda: 0.5)
    keeper = AwsKeeper(chain(environment, tmp_path, now=day), day, backoff)
    assert [keeper.current(None).access_key for _ in range(3)] == ["ASIA1"] * 3
    day.at += LIFE - 301
    assert keeper.current(None).access_key == "ASIA1"
    day.at += 2
    assert keeper.current(None).access_key == "ASIA2"
    cloud.status = 503
    day.at += LIFE - 200
    before = len(cloud.asked)
    for _ in range(10):
        assert keeper.current(None).access_key == "ASIA2"
    assert len(cloud.asked) == before + 1  # Not at each authentication.
    day.at += 200
    with pytest.raises(NetworkException, match="answered 503"):
        keeper.current(None)
    before = len(cloud.asked)
    with pytest.raises(NetworkException, match="answered 503"):
        keeper.current(None)
    assert len(cloud.asked) == before
    cloud.status = None
    day.at += 10
    assert keeper.current(None).access_key == "ASIA3"
    keeper.refused()
    assert keeper.current(None).access_key == "ASIA4"


def azure(cloud: StandIn, environment: Mapping[str, str], **more: Any) -> AzureIdentity:
    """Azure's source of tokens."""
    given: dict[str, Any] = {
        "scope": SCOPE,
        "client_id": None,
        "extensions": {},
        "now": time.time,
        **more,
    }
    metadata = {"AZURE_POD_IDENTITY_AUTHORITY_HOST": cloud.url}
    return AzureIdentity(service(), {**metadata, **environment}, **given)


def azures_places(cloud: StandIn, folder: Path) -> dict[str, dict[str, str]]:
    """Each place of Azure's tokens, by what the environment has."""
    (folder / "token").write_text(f"{SECRET}.jwt")
    return {
        "GET /metadata/identity/oauth2/token": {},
        "GET /msi/token": {
            "IDENTITY_ENDPOINT": f"{cloud.url}/msi/token",
            "IDENTITY_HEADER": f"{SECRET}-header",
        },
        "POST /the-tenant/oauth2/v2.0/token": {
            "AZURE_FEDERATED_TOKEN_FILE": str(folder / "token"),
            "AZURE_TENANT_ID": "the-tenant",
            "AZURE_CLIENT_ID": "the-client",
            "AZURE_AUTHORITY_HOST": f"{cloud.url}/",
        },
    }


@pytest.mark.parametrize("client", [None, "of-the-user"])
def test_azures_identities(cloud: StandIn, tmp_path: Path, client: str | None) -> None:
    """B897: virtual machines, App Service, and workload identity; with when tokens end."""
    for number, (asked, environment) in enumerate(azures_places(cloud, tmp_path).items(), 1):
        token = azure(cloud, environment, client_id=client).fetch()
        assert cloud.asked[-1] == asked
        assert token.secret.reveal() == f"{SECRET}-{number}"
        assert token.expires is not None
        assert abs(token.expires - time.time() - LIFE) < 30
    only = azure(cloud, environment, only_metadata=True)
    only.fetch()
    assert cloud.asked[-1] == "GET /metadata/identity/oauth2/token"


def test_googles_identity(cloud: StandIn) -> None:
    """B898: the token is in the form of Managed Service for Apache Kafka."""
    host = cloud.url.removeprefix("http://")
    source = GcpIdentity(
        service(), {"GCE_METADATA_HOST": host}, extensions={}, now=lambda: 1000.0
    )
    for number in (1, 2):
        token = source.fetch()
        header, claims, access = [
            urlsafe_b64decode(each + "=" * (-len(each) % 4))
            for each in token.secret.reveal().split(".")
        ]
        assert json.loads(header) == {"typ": "JWT", "alg": "GOOG_OAUTH2_TOKEN"}
        assert json.loads(claims) == {
            "exp": 4600.0,
            "iss": "Google",
            "iat": 1000.0,
            "scope": "kafka",
            "sub": "robot@shop.iam.gserviceaccount.com",
        }
        assert access.decode() == f"{SECRET}-{number}"
        assert token.expires == 4600.0
    assert [each.rpartition("/")[2] for each in cloud.asked] == ["email", "token", "token"]


Fetch = Callable[[], object]


def fetches(cloud: StandIn, folder: Path, ask: CloudService) -> dict[str, Fetch]:
    """Each way to credentials or a token, over an exchange."""
    made: dict[str, Fetch] = {}
    for name, (environment, _) in places(cloud, folder).items():
        whole = chain(environment, folder, ask=ask)
        made[name] = lambda whole=whole: whole.fetch("eu-west-1")  # type: ignore[misc]
    for name, env in azures_places(cloud, folder).items():
        source = AzureIdentity(
            ask,
            {"AZURE_POD_IDENTITY_AUTHORITY_HOST": cloud.url, **env},
            scope=SCOPE,
            client_id=None,
            extensions={},
            now=time.time,
        )
        made[name] = source.fetch
    google = {"GCE_METADATA_HOST": cloud.url.removeprefix("http://")}
    made["Google"] = GcpIdentity(ask, google, extensions={}, now=time.time).fetch
    return made


WRONG: tuple[bytes, ...] = (
    b"",
    b"[" * 100_000,
    b"<html>" + SECRET.encode(),
    b"\xff\xfe" * 500,
    b"{}",
    b'{"Code": "Failed", "access_token": 5, "AccessKeyId": []}',
    b'{"access_token": "two words", "expires_in": 1e999, "AccessKeyId": "A"}',
    b"x" * 100_000,
    b"<AccessKeyId>A</AccessKeyId><Expiration>never</Expiration>",
)


@pytest.mark.parametrize("place", [*PLACES, "Azure", "App Service", "workload", "Google"])
def test_services_in_trouble(cloud: StandIn, tmp_path: Path, place: str) -> None:
    """B900, B901: slow, dead, refusing and wrong ones: an error in time, and no secret."""
    names = {
        "Azure": "GET /metadata/identity/oauth2/token",
        "App Service": "GET /msi/token",
        "workload": "POST /the-tenant/oauth2/v2.0/token",
    }
    fetch = fetches(cloud, tmp_path, CloudService(0.2, 0.2))[names.get(place, place)]
    told: list[KafkaException] = []

    def failed(kind: type[KafkaException] | None = None) -> None:
        began = time.monotonic()
        job = Job(fetch)
        job.run()
        assert time.monotonic() - began < 10.0
        assert isinstance(job.error, kind or (NetworkException, SaslAuthenticationException))
        check_clean(job.error)
        assert str(job.error).isprintable()
        assert len(str(job.error)) < 1500
        told.append(job.error)

    for cloud.body in WRONG:
        failed()
    cloud.body = None
    for cloud.status in (500, 503, 429):
        failed(NetworkException)
    for cloud.status in (400, 401, 403, 404, 302):
        failed(SaslAuthenticationException)
    cloud.status = None
    cloud.is_silent = True
    failed(NetworkException)
    assert "did not answer" in str(told[-1])


def test_a_dead_service(tmp_path: Path) -> None:
    """B900: nobody listens there."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    environment = {"AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://127.0.0.1:{port}"}
    text = r"no credentials in AWS_ACCESS_KEY_ID.*Connection refused"
    with pytest.raises(NetworkException, match=text):
        chain(environment, tmp_path).fetch(None)
    switched_off = {"AWS_EC2_METADATA_DISABLED": "true"}
    with pytest.raises(SaslAuthenticationException, match="switched off"):
        chain(switched_off, tmp_path, ask=refuse_to_ask).fetch(None)


def test_a_client_with_a_pods_identity(
    cloud: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """B895: a consumer gets in by what the pod's agent gives."""
    for name in tuple(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    for name, value in places(cloud, tmp_path)["EKS pod identity"][0].items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "nothing"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "nothing"))
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    keys = {f"ASIA{number}": f"{SECRET}/{number}" for number in range(1, 9)}
    with EmbeddedBroker(topics={"orders": 1}, sasl=Sasl({}, amazon_keys=keys)) as broker:
        security = {
            "bootstrap.servers": broker.bootstrap,
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "AWS_MSK_IAM",
        }
        with KafkaConsumer(security) as consumer:
            assert len(consumer.partitions_for("orders", 60)) == 1
        assert cloud.asked == ["GET /v1/credentials"]
        cloud.is_silent = True
        with KafkaConsumer(security) as consumer:
            began = time.monotonic()
            with pytest.raises(TimeoutException) as caught:
                consumer.partitions_for("orders", 0.5)
            assert time.monotonic() - began < 5.0
            check_clean(caught.value)


def test_a_token_is_kept_for_its_life(cloud: StandIn) -> None:
    """B896: as each OAUTHBEARER token is."""
    day = Day()
    cloud.now = day
    source = azure(cloud, {}, now=day)
    keeper = TokenKeeper(
        source, now=day, draw=lambda: 0.0, window=0.8, jitter=0.05, least=60, buffer=300
    )
    assert keeper.current() is keeper.current()
    day.at += LIFE * 0.9
    keeper.current()
    assert len(cloud.asked) == 2


BEARER = {
    "bootstrap.servers": "kafka:9092",
    "security.protocol": "SASL_SSL",
    "sasl.mechanism": "OAUTHBEARER",
}
KIND = "sasl.oauthbearer.metadata.authentication.type"


def test_configurations() -> None:
    """B897, B898: what each cloud needs; two sources of tokens are a fault."""
    ConsumerConfig({**BEARER, KIND: "gcp"})
    ConsumerConfig({**BEARER, KIND: "azure", "sasl.oauthbearer.scope": SCOPE})
    with pytest.raises(
        ConfigException, match=r"needs sasl\.oauthbearer\.scope: for Event Hubs"
    ):
        ConsumerConfig({**BEARER, KIND: "azure_imds"})
    with pytest.raises(ConfigException, match="give one of them"):
        ConsumerConfig({**BEARER, KIND: "gcp", "oauth_cb": lambda _config: ("t", 1.0)})
    with pytest.raises(ConfigException, match="for a cloud's own identity"):
        ConsumerConfig(BEARER)
    login = "software.amazon.msk.auth.iam.IAMLoginModule required "
    config = ConsumerConfig(
        {
            **BEARER,
            "sasl.mechanism": "AWS_MSK_IAM",
            "sasl.jaas.config": f'{login}awsRoleArn="{ROLE}" awsStsRegion="eu-west-1";',
        }
    )
    assert (config.sasl_aws_role_arn, config.sasl_aws_sts_region) == (ROLE, "eu-west-1")


@pytest.mark.parametrize(
    ("told", "moment"),
    [
        ("1970-01-01T00:01:00Z", 60.0),
        ("1970-01-01T00:01:00", 60.0),
        ("1970-01-01T01:01:00+01:00", 60.0),
        ("60", 60.0),
        (61, 61.0),
        ("never", None),
        ("9" * 40, None),
        (None, None),
        (True, None),
    ],
)
def test_moments(told: object, moment: float | None) -> None:
    """As services write them."""
    assert moment_of(told) == moment

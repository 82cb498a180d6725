"""Amazon's credentials from the places that its own tools look at, in their order.

The environment; a profile of the shared files, with its role; the web identity of a pod
(`AWS_WEB_IDENTITY_TOKEN_FILE`); a container's service; the machine's metadata service. A
profile that is named is the only place. SSO and programs (`credential_process`) are not asked.

Thread: the helper's, one job at a time.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from prokurist.errors import KafkaException, NetworkException, SaslAuthenticationException
from prokurist.security.aws_credentials import (
    AwsCredentials,
    Profiles,
    of_environment,
    region_in,
)
from prokurist.security.aws_metadata import of_container, of_instance
from prokurist.security.aws_roles import SESSION_NAME, Role, Sts
from prokurist.security.cloud_request import Ask
from prokurist.security.token_backoff import TokenBackoff

DEEPEST: Final = 5
"""Profiles that lead to each other by `source_profile`."""
EARLY: Final = 300.0
"""Seconds before their end at which temporary credentials are renewed."""
RETRY: Final = 30.0
"""Seconds after which renewing that failed is tried again, while the old ones last."""

CALLBACK: Final = (
    "give a profile with keys or a role, or sasl.mechanism=OAUTHBEARER with a "
    "sasl.oauthbearer.token.callback that calls MSKAuthTokenProvider.generate_auth_token of "
    "Amazon's aws-msk-iam-sasl-signer-python"
)


class AwsChain:
    """The places of credentials.

    Args:
        environment: The process's environment.
        profile: A named profile, as `awsProfileName` gives it.
        role: A role to assume by what is found, as `awsRoleArn` gives it.
        sts_region: The region of the token service, as `awsStsRegion` gives it.
        ask: Sends requests.
        now: The time of day.
    """

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        profile: str | None,
        role: Role | None,
        sts_region: str | None,
        ask: Ask,
        now: Callable[[], float],
    ) -> None:
        self._environment = environment
        self._profile = profile
        self._role = role
        self._sts_region = sts_region
        self._ask = ask
        self._sts = Sts(ask, environment.get("AWS_ENDPOINT_URL_STS"), now)

    def fetch(self, region: str | None) -> AwsCredentials:
        """Find credentials.

        Args:
            region: The region of the broker, which a token service is taken of.

        Raises:
            NetworkException: A place gave no usable answer this time.
            SaslAuthenticationException: There are none.
        """
        profiles = Profiles(self._environment)
        env = self._environment
        named = self._profile or env.get("AWS_PROFILE") or None
        settings = profiles.settings(named or "default")
        own = region_in(env) or settings.get("region")
        sts_region = self._sts_region or own or region or "us-east-1"
        found = self._found(profiles, named, sts_region)
        if self._role is not None:
            found = self._sts.assume(self._role, found, sts_region)
        return replace(found, region=own)

    def _found(self, profiles: Profiles, named: str | None, region: str) -> AwsCredentials:
        env = self._environment
        if self._profile is None and (found := of_environment(env)) is not None:
            return found
        if named is not None:
            return self._of_profile(profiles, named, region)
        if profiles.settings("default").get("role_arn"):
            return self._of_profile(profiles, "default", region)
        file, arn = env.get("AWS_WEB_IDENTITY_TOKEN_FILE"), env.get("AWS_ROLE_ARN")
        if file and not arn:
            raise _none(
                "AWS_WEB_IDENTITY_TOKEN_FILE is set, and AWS_ROLE_ARN is not",
                "annotate the pod's service account with the role",
            )
        if file and arn:
            role = Role(arn, env.get("AWS_ROLE_SESSION_NAME") or SESSION_NAME)
            return self._sts.assume_by_file(role, file, region)
        settings = profiles.settings("default")
        if unasked_in(settings):
            return self._own_keys(profiles, "default", settings)
        found = profiles.keys("default") or of_container(env, self._ask)
        if found is not None:
            return found
        looked = (
            "there are no credentials in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor "
            f"under the profile 'default' in {profiles.keys_file}, and the environment names "
            "no web identity and no container's service"
        )
        try:
            found = of_instance(env, self._ask)
        except NetworkException as error:
            failure = str(error)
        else:
            if found is not None:
                return found
            raise _none(f"{looked}; the machine's metadata service is switched off", CALLBACK)
        raise NetworkException(f"{looked}; {failure}")

    def _of_profile(
        self, profiles: Profiles, name: str, region: str, depth: int = 0
    ) -> AwsCredentials:
        """The credentials of a profile: of its role, or its own keys."""
        settings = profiles.settings(name)
        arn = settings.get("role_arn")
        if arn is None:
            return self._own_keys(profiles, name, settings)
        if settings.get("mfa_serial"):
            raise _none(f"the profile {name!r} wants a code of a person's device", CALLBACK)
        role = Role(
            arn,
            settings.get("role_session_name") or SESSION_NAME,
            settings.get("external_id"),
            settings.get("duration_seconds"),
        )
        if file := settings.get("web_identity_token_file"):
            return self._sts.assume_by_file(role, file, region)
        source, place = settings.get("source_profile"), settings.get("credential_source")
        if source == name:
            first: AwsCredentials | None = self._own_keys(profiles, name, settings)
        elif source:
            if depth == DEEPEST:
                raise _none(
                    f"the profile {name!r} is the end of more than {DEEPEST} that lead to each "
                    "other by source_profile",
                    "have it lead to a profile with keys",
                )
            first = self._of_profile(profiles, source, region, depth + 1)
        elif place == "Environment":
            first = of_environment(self._environment)
        elif place == "EcsContainer":
            first = of_container(self._environment, self._ask)
        elif place == "Ec2InstanceMetadata":
            first = of_instance(self._environment, self._ask)
        else:
            raise _none(
                f"the profile {name!r} has a role_arn and neither source_profile, "
                "web_identity_token_file nor a known credential_source",
                "say by whom the role is assumed",
            )
        if first is None:
            raise _none(f"the credential_source of the profile {name!r} has none", CALLBACK)
        return self._sts.assume(role, first, region)

    def _own_keys(
        self, profiles: Profiles, name: str, settings: Mapping[str, str]
    ) -> AwsCredentials:
        found = profiles.keys(name)
        if found is not None:
            return found
        kind = unasked_in(settings)
        what = (
            f"the profile {name!r} has {kind}, which is not asked here"
            if kind
            else (
                f"there are no credentials under the profile {name!r} in {profiles.keys_file}"
            )
        )
        raise _none(what, CALLBACK)

    def __repr__(self) -> str:
        return f"AwsChain(profile={self._profile}, role={self._role and self._role.arn})"


class AwsKeeper:
    """The credentials of a client, renewed before they end.

    Those that have not ended are used while renewing them fails.

    Args:
        chain: Where they come from.
        now: The time of day.
        backoff: Knows when a place that has failed may be asked again.
    """

    def __init__(
        self, chain: AwsChain, now: Callable[[], float], backoff: TokenBackoff
    ) -> None:
        self._chain = chain
        self._now = now
        self._backoff = backoff
        self._held: AwsCredentials | None = None
        self._renew_at = 0.0

    def current(self, region: str | None) -> AwsCredentials:
        """Return the credentials to sign with; those without an end are read each time.

        Raises:
            KafkaException: There are none.
        """
        now = self._now()
        held = self._held
        if held is not None and now < self._renew_at:
            return held
        self._backoff.check()
        try:
            found = self._chain.fetch(region)
        except KafkaException as error:
            if held is not None and held.expires is not None and now < held.expires:
                self._renew_at = min(now + RETRY, (now + held.expires) / 2)
                return held
            self._backoff.failed(error)
            raise
        self._backoff.succeeded()
        if found.expires is None:
            self._held = None
            return found
        if found.expires <= now:
            raise SaslAuthenticationException(
                f"AWS_MSK_IAM authentication failed: the credentials ended "
                f"{now - found.expires:.0f} s ago; check this machine's clock"
            )
        self._held = found
        self._renew_at = max(found.expires - EARLY, (now + found.expires) / 2)
        return found

    def refused(self) -> None:
        """Drop the credentials that a broker refused: the next authentication finds others."""
        self._held = None

    @property
    def is_alive(self) -> bool:
        """True if the held credentials have not ended."""
        held = self._held
        return held is not None and held.expires is not None and self._now() < held.expires

    def __repr__(self) -> str:
        return f"AwsKeeper({self._chain!r})"


def unasked_in(settings: Mapping[str, str]) -> str | None:
    """Return the key of a profile's credentials that are not asked for here, if it has one."""
    kinds = ("sso_session", "sso_start_url", "credential_process")
    return next((each for each in kinds if each in settings), None)


def _none(what: str, way_out: str) -> SaslAuthenticationException:
    return SaslAuthenticationException(f"AWS_MSK_IAM authentication failed: {what}; {way_out}")

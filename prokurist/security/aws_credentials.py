"""Amazon's credentials from the places that its own tools document.

The environment (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`) comes
first, unless a profile is named; then the shared files. Sources that need the network (SSO,
roles, instance metadata) are not asked.

Thread: the helper's; files are read each time, so that new credentials count at once.
"""

import configparser
from collections.abc import Mapping
from pathlib import Path

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.lazy_dataclasses import dataclass

ELSEWHERE = (
    "for roles, SSO and instance profiles use sasl.mechanism=OAUTHBEARER with a "
    "sasl.oauthbearer.token.callback that calls MSKAuthTokenProvider.generate_auth_token of "
    "Amazon's aws-msk-iam-sasl-signer-python"
)


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """A key pair.

    Attributes:
        access_key: The id of the key, not a secret.
        secret_key: The key.
        session_token: Of temporary credentials.
        region: The region that is set beside them.
    """

    access_key: str
    secret_key: Secret
    session_token: Secret | None = None
    region: str | None = None


def aws_credentials(
    environment: Mapping[str, str], profile: str | None = None
) -> AwsCredentials:
    """Read the credentials.

    Args:
        environment: The process's environment.
        profile: A named profile, as `awsProfileName` gives it.

    Raises:
        SaslAuthenticationException: There are none.
    """
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")
    access = environment.get("AWS_ACCESS_KEY_ID")
    secret = environment.get("AWS_SECRET_ACCESS_KEY")
    if profile is None and access and secret:
        session = environment.get("AWS_SESSION_TOKEN")
        token = Secret(session) if session else None
        return AwsCredentials(access, Secret(secret), token, region)
    name = profile or environment.get("AWS_PROFILE") or "default"
    home = Path(environment.get("HOME", "~")).expanduser() / ".aws"
    keys_file = environment.get("AWS_SHARED_CREDENTIALS_FILE") or str(home / "credentials")
    settings_file = environment.get("AWS_CONFIG_FILE") or str(home / "config")
    keys = _section(keys_file, name)
    settings = _section(settings_file, name if name == "default" else f"profile {name}")
    found = {**settings, **keys}
    access, secret = found.get("aws_access_key_id"), found.get("aws_secret_access_key")
    if not access or not secret:
        raise SaslAuthenticationException(
            "AWS_MSK_IAM authentication failed: there are no credentials in "
            f"AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, nor under the profile {name!r} in "
            f"{keys_file}; {ELSEWHERE}"
        )
    session = found.get("aws_session_token")
    token = Secret(session) if session else None
    return AwsCredentials(access, Secret(secret), token, region or settings.get("region"))


def _section(path: str, name: str) -> Mapping[str, str]:
    parser = configparser.ConfigParser(interpolation=None, default_section="\0")
    try:
        with Path(path).expanduser().open(encoding="utf-8") as lines:
            parser.read_file(lines)
    except OSError:
        return {}
    except (configparser.Error, UnicodeDecodeError):
        unreadable = True
    else:
        unreadable = False
    if unreadable:
        # Without the cause, which quotes the line.
        raise SaslAuthenticationException(
            f"AWS_MSK_IAM authentication failed: {path} is not a valid file of profiles"
        )
    return parser[name] if parser.has_section(name) else {}

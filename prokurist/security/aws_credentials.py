"""Amazon's credentials in the environment and in the shared files.

Thread: the helper's; files are read each time, so that new credentials count at once.
"""

import configparser
from collections.abc import Mapping
from pathlib import Path

from prokurist.config.secret import Secret
from prokurist.errors import SaslAuthenticationException
from prokurist.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AwsCredentials:
    """A key pair.

    Attributes:
        access_key: The id of the key, not a secret.
        secret_key: The key.
        session_token: Of temporary credentials.
        region: The region that is set beside them.
        expires: When they end, in seconds since 1970; None for credentials that last.
    """

    access_key: str
    secret_key: Secret
    session_token: Secret | None = None
    region: str | None = None
    expires: float | None = None


def of_environment(environment: Mapping[str, str]) -> AwsCredentials | None:
    """Return the credentials in the environment; None if there are none."""
    return _pair(
        environment.get("AWS_ACCESS_KEY_ID"),
        environment.get("AWS_SECRET_ACCESS_KEY"),
        environment.get("AWS_SESSION_TOKEN"),
    )


def region_in(environment: Mapping[str, str]) -> str | None:
    """Return the region that the environment names."""
    return environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION")


class Profiles:
    """The profiles of the shared files.

    Args:
        environment: The process's environment, which may name other files.

    Raises:
        SaslAuthenticationException: A file is not one of profiles.
    """

    def __init__(self, environment: Mapping[str, str]) -> None:
        home = Path(environment.get("HOME", "~")).expanduser() / ".aws"
        self.keys_file: str = environment.get("AWS_SHARED_CREDENTIALS_FILE") or str(
            home / "credentials"
        )
        settings_file = environment.get("AWS_CONFIG_FILE") or str(home / "config")
        self._keys = _parsed(self.keys_file)
        self._settings = _parsed(settings_file)

    def settings(self, name: str) -> dict[str, str]:
        """Return what a profile says; empty for one that is not there."""
        found: dict[str, str] = {}
        for section in self._settings.sections():
            if named_by(section) == name:
                found |= self._settings[section]
        return {**found, **_section(self._keys, name)}

    def keys(self, name: str) -> AwsCredentials | None:
        """Return the key pair in a profile; None if it has none."""
        found = self.settings(name)
        return _pair(
            found.get("aws_access_key_id"),
            found.get("aws_secret_access_key"),
            found.get("aws_session_token"),
        )

    def __repr__(self) -> str:
        return f"Profiles({self.keys_file!r})"


def named_by(section: str) -> str | None:
    """Return the profile of a section of the settings: `profile NAME`, or `default` as it is.

    Spaces around a name, and quotes of one with spaces, are not part of it.
    """
    word, _, rest = section.replace("\t", " ").strip().partition(" ")
    name = rest.strip()
    if word != "profile" or not name:
        return "default" if section == "default" else None
    quote = name[0]
    return name[1:-1] if len(name) > 2 and quote in "\"'" and name[-1] == quote else name


def _pair(access: str | None, secret: str | None, session: str | None) -> AwsCredentials | None:
    if not access or not secret:
        return None
    return AwsCredentials(access, Secret(secret), Secret(session) if session else None)


def _section(parser: configparser.ConfigParser, name: str) -> Mapping[str, str]:
    return parser[name] if parser.has_section(name) else {}


def _parsed(path: str) -> configparser.ConfigParser:
    parser = configparser.ConfigParser(interpolation=None, default_section="\0")
    try:
        with Path(path).expanduser().open(encoding="utf-8") as lines:
            parser.read_file(lines)
    except OSError:
        return parser
    except (configparser.Error, UnicodeDecodeError):
        unreadable = True
    else:
        unreadable = False
    if unreadable:
        # Without the cause, which quotes the line.
        raise SaslAuthenticationException(
            f"AWS_MSK_IAM authentication failed: {path} is not a valid file of profiles"
        )
    return parser

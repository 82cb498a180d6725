"""Sources of tokens that need no network: a callable, a file, and unsecured claims.

Thread: the helper's.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from prokurist.config.secret import Secret
from prokurist.errors import (
    KafkaException,
    NetworkException,
    SaslAuthenticationException,
)
from prokurist.security.tokens import (
    Token,
    checked_extensions,
    checked_token,
    expiry_of,
    unsecured_token,
)

UNSECURED_LIFE: Final = 3600.0
_SETTING: Final = re.compile(r"([A-Za-z_]+)=(\S*)\s*")


class CallableSource:
    """A callable of the application, in the form of confluent-kafka or of kafka-python.

    Args:
        provider: `provider(config)` returning `(token, expires_at)` with optional principal
            and extensions, as confluent-kafka's `oauth_cb`; or an object with `token()` and,
            optionally, `extensions()`, as kafka-python's token provider. A bare string is
            taken as a token too.
        config: The callable's argument: `sasl.oauthbearer.config`.
        extensions: SASL extensions of `sasl.oauthbearer.extensions`.
    """

    def __init__(self, provider: Any, config: str, extensions: Mapping[str, str]) -> None:
        self._provider = provider
        self._config = config
        self._extensions = extensions

    def fetch(self) -> Token:
        """Call the provider and check the token that it returns."""
        try:
            told, extensions = self._asked()
        except KafkaException:
            raise
        except Exception as error:  # noqa: BLE001 - the application's code may raise anything
            kind = type(error).__name__
        else:
            return self._token(told, extensions)
        # Without the cause: its text or its frames may hold the token.
        raise SaslAuthenticationException(f"{self!r} raised {kind}")

    def _asked(self) -> tuple[object, Mapping[str, str]]:
        method = getattr(self._provider, "token", None)
        if not callable(method):
            return self._provider(self._config), {}
        extensions = getattr(self._provider, "extensions", dict)
        return method(), extensions() if callable(extensions) else extensions

    def _token(self, told: object, extensions: Mapping[str, str]) -> Token:
        expires: float | None = None
        if isinstance(told, tuple):
            if not 2 <= len(told) <= 4:
                raise SaslAuthenticationException(
                    f"{self!r} returned a tuple of {len(told)}; expected (token, expires_at), "
                    "optionally followed by principal and extensions"
                )
            given = told[1]
            if isinstance(given, bool) or not isinstance(given, (int, float)):
                raise SaslAuthenticationException(
                    f"{self!r} returned an expiry of type {type(given).__name__}; expected "
                    "seconds since 1970"
                )
            expires = float(given)
            if len(told) == 4 and told[3]:
                extensions = told[3]
            told = told[0]
        text = checked_token(told, repr(self))
        if expires is None:
            expires = expiry_of(text)
        return Token(
            Secret(text), expires, checked_extensions({**self._extensions, **extensions})
        )

    def __repr__(self) -> str:
        kind = type(self._provider)
        name = getattr(self._provider, "__qualname__", kind.__qualname__)
        return f"sasl.oauthbearer.token.callback ({name})"


class FileSource:
    """A file that something else keeps fresh, read for each authentication.

    Args:
        path: Where it lies.
        extensions: SASL extensions of `sasl.oauthbearer.extensions`.
    """

    def __init__(self, path: str, extensions: Mapping[str, str]) -> None:
        self._path = path
        self._extensions = extensions

    def fetch(self) -> Token:
        """Read the token, without an expiry, so that a new file counts at once."""
        try:
            text = Path(self._path).read_bytes().decode("ascii")
        except OSError as error:
            raise SaslAuthenticationException(
                f"the token file {self._path} cannot be read: {error.strerror}"
            ) from None
        except UnicodeDecodeError:
            text = "\0"
        return Token(
            Secret(checked_token(text, f"the token file {self._path}")),
            None,
            checked_extensions(self._extensions),
        )

    def __repr__(self) -> str:
        return f"FileSource({self._path!r})"


class UnsecuredSource:
    """Unsigned tokens of the client's own making, for development.

    Args:
        config: Settings in librdkafka's form: `principal=anna scope=read,write
            lifeSeconds=600 principalClaimName=sub scopeClaimName=scope extension_x=y`.
        extensions: SASL extensions of `sasl.oauthbearer.extensions`.
        now: The time of day.
    """

    def __init__(
        self, config: str, extensions: Mapping[str, str], now: Callable[[], float]
    ) -> None:
        self._settings = unsecured_settings(config)
        self._extensions = extensions
        self._now = now

    def fetch(self) -> Token:
        """Make an unsigned token from the settings."""
        settings = self._settings
        began = self._now()
        expires = began + float(settings.get("lifeSeconds", UNSECURED_LIFE))
        claims: dict[str, object] = {
            settings.get("principalClaimName", "sub"): settings["principal"],
            "iat": began,
            "exp": expires,
        }
        if "scope" in settings:
            name = settings.get("scopeClaimName", "scope")
            claims[name] = settings["scope"].split(",")
        extensions = {
            name.removeprefix("extension_"): value
            for name, value in settings.items()
            if name.startswith("extension_")
        }
        return Token(
            Secret(unsecured_token(claims)),
            expires,
            checked_extensions({**self._extensions, **extensions}),
        )

    def __repr__(self) -> str:
        return "sasl.oauthbearer.config"


def unsecured_settings(config: str) -> dict[str, str]:
    """Parse the settings in `sasl.oauthbearer.config`.

    Raises:
        SaslAuthenticationException: They cannot be read, or name no principal.
    """
    settings: dict[str, str] = {}
    at = 0
    text = config.strip()
    while at < len(text):
        found = _SETTING.match(text, at)
        if found is None:
            break
        settings[found[1]] = found[2].strip('"')
        at = found.end()
    known = {"principal", "principalClaimName", "scope", "scopeClaimName", "lifeSeconds"}
    strange = [
        name for name in settings if name not in known and not name.startswith("extension_")
    ]
    life = settings.get("lifeSeconds", "1")
    if at < len(text) or strange or not settings.get("principal") or not life.isdecimal():
        raise SaslAuthenticationException(
            "sasl.oauthbearer.config must read like principal=NAME [scope=A,B] "
            "[lifeSeconds=3600] [principalClaimName=sub] [scopeClaimName=scope] "
            "[extension_NAME=VALUE]"
        )
    return settings


def unreachable(url: str, why: str) -> NetworkException:
    """Make the error for a token endpoint that gave no usable answer this time."""
    return NetworkException(f"the token endpoint {url} {why}")

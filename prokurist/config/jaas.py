"""Reads Java's login configuration (JAAS), as users of Java and Spark paste it.

    org.apache.kafka.common.security.plain.PlainLoginModule required username="a" password="b";

Invariants: no error quotes a value.
"""

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Final

from prokurist.errors import ConfigException
from prokurist.lazy_dataclasses import dataclass


class Mark(str):
    """A character of the grammar's own, and not of a text."""

    __slots__ = ()


class Rest(str):
    """A word that begins where a quoted text ends: perhaps a part of a secret."""

    __slots__ = ()


END, EQUALS = Mark(";"), Mark("=")
"""Both marks; compared by identity, so a quoted text of the same characters differs."""

_ESCAPE: Final = re.compile(r"\\([0-3]?[0-7]{1,2}|.)", re.DOTALL)
_ESCAPED: Final = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
}
"""Of Java's `StreamTokenizer`, which reads the quoted texts there."""

_GAP: Final = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
"""Space and Java comments between words."""

_TOKEN: Final = re.compile(
    r"""(?:(?P<quote>["'])(?P<text>(?:(?!(?P=quote))[^\\]|\\.)*)(?P=quote)"""
    r"""|(?P<word>[^\s"'=;][^\s"=;]*)|(?P<mark>[=;]))""",
    re.DOTALL,
)
"""Java takes either quotation mark, and users of Spark write the single one inside Python's."""

PLAIN, SCRAM, BEARER = "PlainLoginModule", "ScramLoginModule", "OAuthBearerLoginModule"
KERBEROS, AMAZON = "Krb5LoginModule", "IAMLoginModule"

KNOWN: Final[Mapping[str, Mapping[str, str]]] = {
    PLAIN: {"username": "sasl_username", "password": "sasl_password"},
    SCRAM: {
        "username": "sasl_username",
        "password": "sasl_password",
        "tokenauth": "sasl_delegation_token",
    },
    BEARER: {
        "clientId": "sasl_oauthbearer_client_credentials_client_id",
        "clientSecret": "sasl_oauthbearer_client_credentials_client_secret",
        "scope": "sasl_oauthbearer_scope",
    },
    KERBEROS: {
        "keyTab": "sasl_kerberos_keytab",
        "principal": "sasl_kerberos_principal",
        "serviceName": "sasl_kerberos_service_name",
    },
    AMAZON: {
        "awsProfileName": "sasl_aws_profile",
        "awsRoleArn": "sasl_aws_role_arn",
        "awsRoleExternalId": "sasl_aws_role_external_id",
        "awsRoleSessionName": "sasl_aws_role_session_name",
        "awsStsRegion": "sasl_aws_sts_region",
    },
}
"""By the module's class, what each of its options is called here."""

MECHANISMS: Final[Mapping[str, tuple[str, ...]]] = {
    PLAIN: ("PLAIN",),
    SCRAM: ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    BEARER: ("OAUTHBEARER",),
    KERBEROS: ("GSSAPI",),
    AMAZON: ("AWS_MSK_IAM",),
}
LEFT_TO_THE_LIBRARY: Final = {
    KERBEROS: frozenset(
        {
            "doNotPrompt",
            "isInitiator",
            "refreshKrb5Config",
            "renewTGT",
            "storeKey",
            "useKeyTab",
            "useTicketCache",
        }
    )
}
"""By the module's class, options that its library here decides by itself."""
EXTENSION: Final = "extension_"
UNSECURED: Final = "unsecuredLoginStringClaim_sub"
INSTEAD: Final = "or leave it out and give the keys of their own: sasl.username, sasl.password"


@dataclass(frozen=True, slots=True)
class Login:
    """One entry of a login configuration.

    Attributes:
        mechanisms: Those that it is for.
        values: By the names of our fields.
        extensions: SASL extensions, as NAME=VALUE.
        principal: Of unsecured tokens; None where there is none.
    """

    mechanisms: tuple[str, ...]
    values: dict[str, str] = field(repr=False)
    extensions: tuple[str, ...] = field(repr=False)
    principal: str | None = None


def login_of(text: str) -> Login:
    """Read the one entry of a login configuration.

    Raises:
        ConfigException: It cannot be read, or says what has no counterpart here.
    """
    tokens = _tokens(text)
    if len(tokens) < 3 or tokens[-1] is not END or sum(each is END for each in tokens) != 1:
        raise ConfigException(
            "sasl.jaas.config must be one entry that ends with a semicolon, as CLASS required "
            f'NAME="VALUE" …;, {INSTEAD}'
        )
    module, flag, *options = tokens[:-1]
    name = module.rpartition(".")[2]
    if name not in KNOWN:
        raise ConfigException(
            f"sasl.jaas.config names the login module {module!r}, which has no counterpart "
            f"here: {', '.join(KNOWN)} have one"
        )
    if flag.lower() != "required":
        raise ConfigException(
            f"sasl.jaas.config has the flag {flag!r} where `required` is expected"
        )
    return _login(name, options)


def _login(module: str, options: list[str]) -> Login:
    values: dict[str, str] = {}
    extensions: list[str] = []
    principal: str | None = None
    seen: set[str] = set()
    if len(options) % 3:
        raise ConfigException(
            f'sasl.jaas.config must say NAME="VALUE" for each option, {INSTEAD}'
        )
    for name, equals, value in zip(options[::3], options[1::3], options[2::3], strict=True):
        if equals is not EQUALS:
            raise ConfigException(
                f"sasl.jaas.config has words where its option {len(seen) + 1} should say "
                f'NAME="VALUE"; a value with spaces wants quotation marks, {INSTEAD}'
            )
        if name in seen:
            raise ConfigException(f"sasl.jaas.config says {name!r} twice, {INSTEAD}")
        seen.add(name)
        if name in KNOWN[module]:
            values[KNOWN[module][name]] = value
        elif module == BEARER and name.startswith(EXTENSION):
            extensions.append(f"{name.removeprefix(EXTENSION)}={value}")
        elif module == BEARER and name == UNSECURED:
            principal = value
        elif isinstance(name, Rest):
            raise ConfigException(
                "sasl.jaas.config goes on where a quoted value ends; a quotation mark inside "
                f'of a value is written \\", {INSTEAD}'
            )
        elif name not in LEFT_TO_THE_LIBRARY.get(module, ()):
            raise ConfigException(
                f"sasl.jaas.config has the option {name!r}, which {module} has not here: "
                f"{', '.join(KNOWN[module])}"
            )
    return Login(MECHANISMS[module], values, tuple(extensions), principal)


def _tokens(text: str) -> list[str]:
    """Split a text into words, quoted texts, equals signs and semicolons."""
    found: list[str] = []
    at, quoted_to = _past_gap(text, 0), -1
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise ConfigException(
                f"sasl.jaas.config cannot be read from its character {at + 1} on, {INSTEAD}"
            )
        if match["mark"] is not None:
            found.append(END if match["mark"] == ";" else EQUALS)
        elif match["word"] is not None:
            found.append(Rest(match["word"]) if at == quoted_to else match["word"])
        else:
            found.append(_ESCAPE.sub(_unescaped, match["text"]))
            quoted_to = match.end()
        at = _past_gap(text, match.end())
    return found


def _past_gap(text: str, at: int) -> int:
    """Return the start of the next word, or the end of the text."""
    gap = _GAP.match(text, at)
    return at if gap is None else gap.end()


def _unescaped(match: re.Match[str]) -> str:
    code = match[1]
    return chr(int(code, 8)) if code[0] in "01234567" else _ESCAPED.get(code, code)

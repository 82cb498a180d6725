"""Errors of authentication and authorization."""

from prokurist.errors.tree import (
    ApiException,
    AuthenticationException,
    AuthorizationException,
)


class TopicAuthorizationException(AuthorizationException):
    """Not allowed on these topics.

    Attributes:
        topics: All that were refused, in one error.
    """

    error_code: int | None = 29

    def __init__(self, message: str = "", *, topics: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.topics = topics


class GroupAuthorizationException(AuthorizationException):
    """Not allowed in this group.

    Attributes:
        group_id: The group.
    """

    error_code: int | None = 30

    def __init__(self, message: str = "", *, group_id: str | None = None) -> None:
        super().__init__(message)
        self.group_id = group_id


class ClusterAuthorizationException(AuthorizationException):
    """Not allowed on the cluster as a whole."""

    error_code: int | None = 31


class TransactionalIdAuthorizationException(AuthorizationException):
    """Not allowed to use this transactional id."""

    error_code: int | None = 53


class DelegationTokenAuthorizationException(AuthorizationException):
    """Not allowed on this delegation token."""

    error_code: int | None = 65


class SslAuthenticationException(AuthenticationException):
    """TLS failed: the certificate, the host name, or the protocol."""


class UnsupportedSaslMechanismException(AuthenticationException):
    """The broker does not offer this SASL mechanism."""

    error_code: int | None = 33


class IllegalSaslStateException(AuthenticationException):
    """A request came that the SASL handshake does not expect."""

    error_code: int | None = 34


class SaslAuthenticationException(AuthenticationException):
    """The broker refused the credentials."""

    error_code: int | None = 58


class SecurityDisabledException(ApiException):
    """The broker has no authorizer."""

    error_code: int | None = 54


class DelegationTokenDisabledException(ApiException):
    """The broker issues no delegation tokens."""

    error_code: int | None = 61


class DelegationTokenNotFoundException(ApiException):
    """There is no such delegation token."""

    error_code: int | None = 62


class DelegationTokenOwnerMismatchException(ApiException):
    """The delegation token belongs to another principal."""

    error_code: int | None = 63


class UnsupportedByAuthenticationException(ApiException):
    """Delegation tokens are not to be had over this kind of connection."""

    error_code: int | None = 64


class DelegationTokenExpiredException(ApiException):
    """The delegation token is over."""

    error_code: int | None = 66


class InvalidPrincipalTypeException(ApiException):
    """The kind of principal is not supported."""

    error_code: int | None = 67


class UnacceptableCredentialException(ApiException):
    """The credential does not meet the broker's rules."""

    error_code: int | None = 93


class PrincipalDeserializationException(ApiException):
    """A forwarded request's principal could not be read."""

    error_code: int | None = 97


def name_credentials(error: BaseException, credentials: str | None) -> None:
    """Say in an error of authorization, once, by what the brokers know the client.

    Args:
        error: Any error, which no user has yet.
        credentials: What that is, in words; None where it is not known.
    """
    if credentials is None or not isinstance(error, AuthorizationException):
        return
    said = f" (asked with {credentials})"
    if not str(error).endswith(said):
        error.args = (f"{error}{said}",)

"""SCRAM credentials of users."""

from prokurist.compat.confluent_kafka.model import Ordered


class ScramMechanism(Ordered):
    """SCRAM mechanisms."""

    UNKNOWN = 0
    SCRAM_SHA_256 = 1
    SCRAM_SHA_512 = 2


class ScramCredentialInfo:
    """A mechanism and its iterations.

    Args:
        mechanism: The mechanism.
        iterations: How often the password is hashed.
    """

    def __init__(self, mechanism: ScramMechanism, iterations: int) -> None:
        self.mechanism = mechanism
        self.iterations = iterations

    def __repr__(self) -> str:
        return f"ScramCredentialInfo({self.mechanism.name}, {self.iterations})"


class UserScramCredentialsDescription:
    """The credentials of a user.

    Args:
        user: The user.
        scram_credential_infos: The mechanisms.
    """

    def __init__(self, user: str, scram_credential_infos: list[ScramCredentialInfo]) -> None:
        self.user = user
        self.scram_credential_infos = scram_credential_infos

    def __repr__(self) -> str:
        return f"UserScramCredentialsDescription({self.user!r}, {self.scram_credential_infos})"


class UserScramCredentialAlteration:
    """A change of a user's credentials.

    Args:
        user: The user.
    """

    def __init__(self, user: str) -> None:
        self.user = user

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.user!r})"


class UserScramCredentialUpsertion(UserScramCredentialAlteration):
    """A credential to create or to replace.

    Args:
        user: The user.
        scram_credential_info: Mechanism and iterations.
        password: The password.
        salt: The salt; None for a random one.
    """

    def __init__(
        self,
        user: str,
        scram_credential_info: ScramCredentialInfo,
        password: bytes,
        salt: bytes | None = None,
    ) -> None:
        super().__init__(user)
        self.scram_credential_info = scram_credential_info
        self.password = password
        self.salt = salt


class UserScramCredentialDeletion(UserScramCredentialAlteration):
    """A credential to delete.

    Args:
        user: The user.
        mechanism: Its mechanism.
    """

    def __init__(self, user: str, mechanism: ScramMechanism) -> None:
        super().__init__(user)
        self.mechanism = mechanism

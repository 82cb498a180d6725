"""TLS of aiokafka's clients: the files that a context would be made of.

A context that is made already could not be renewed with its files, so the client below is
given these.
"""

from os import PathLike, fsdecode
from typing import Any, TypeAlias

from prokurist.lazy_dataclasses import dataclass

Name: TypeAlias = str | bytes | PathLike[str] | PathLike[bytes]


@dataclass
class SslFiles:
    """Files of a TLS context, for `ssl_context`.

    Attributes:
        cafile: Certificates of authorities: a file, or a directory of them.
        cadata: The same as PEM text.
        certfile: The client's certificates.
        keyfile: Its private key.
        password: Opens the key.
        check_hostname: False to accept certificates of other hosts.
    """

    cafile: str | None = None
    cadata: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    password: str | None = None
    check_hostname: bool = True

    def keys(self) -> dict[str, object]:
        """The keys of a configuration of ours."""
        found: dict[str, object] = {
            "ssl_ca_location": self.cafile,
            "ssl_truststore_certificates": self.cadata,
            "ssl_certificate_location": self.certfile,
            "ssl_key_location": self.keyfile,
            "ssl_key_password": self.password,
        }
        if not self.check_hostname:
            found["ssl_endpoint_identification_algorithm"] = "none"
        return {key: value for key, value in found.items() if value is not None}


def create_ssl_context(
    *,
    cafile: Name | None = None,
    capath: Name | None = None,
    cadata: Any = None,
    certfile: Name | None = None,
    keyfile: Name | None = None,
    password: Any = None,
) -> SslFiles:
    """Name the files of a TLS context, for `ssl_context` of this face's clients.

    Raises:
        TypeError: `cadata` is no PEM text.
    """
    if cadata is not None and not isinstance(cadata, str):
        raise TypeError("cadata is PEM text here, not DER")
    authorities = capath if cafile is None else cafile
    opened = password() if callable(password) else password
    return SslFiles(
        None if authorities is None else fsdecode(authorities),
        cadata,
        None if certfile is None else fsdecode(certfile),
        None if keyfile is None else fsdecode(keyfile),
        bytes(opened).decode() if isinstance(opened, bytes | bytearray) else opened,
    )

"""Addresses of brokers in the spellings that other clients take.

The clients below take host:port, host and [IPv6]:port. Other clients pass over empty entries
and paths, and take a listener's protocol before an address.
"""

import re
from typing import Any, Final

_KEYS: Final = frozenset({"bootstrap.servers", "metadata.broker.list"})
_PROTOCOL: Final = re.compile(r"(\w+)://(.*)")


def read_brokers(config: dict[str, Any]) -> None:
    """Rewrite the addresses in a configuration as the clients below take them."""
    for key in [each for each in config if each.replace("_", ".") in _KEYS]:
        given = config[key]
        entries = given.split(",") if isinstance(given, str) else given
        if not isinstance(entries, list | tuple):
            continue  # The client below says what is wrong.
        protocol = config.get("security.protocol", config.get("security_protocol", "PLAINTEXT"))
        read = [_read(each, str(protocol)) for each in entries]
        named = [each for each in read if each != ""]
        config[key] = ",".join(named) if isinstance(given, str) else named


def _read(entry: Any, protocol: str) -> Any:
    if not isinstance(entry, str):
        return entry
    text = entry.strip()
    found = _PROTOCOL.fullmatch(text)
    # Another protocol than that of the connections is refused by the client below.
    if found is not None and found[1].upper() == protocol.upper():
        text = found[2]
    return text if "://" in text else text.partition("/")[0]

"""The fixtures of the proxy's tests."""

from tests.unit.testing.proxied import broker, connect, hand, proxy

__all__ = ["broker", "connect", "hand", "proxy"]

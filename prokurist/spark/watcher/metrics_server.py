"""Serves all metrics of this process at a port, for as long as queries are watched.

Thread: made and closed on the application's; a thread of `prometheus_client` serves.
"""

from prokurist.metrics import register


class MetricsServer:
    """An HTTP server of the process's metrics.

    Args:
        port: Where; 0 for any that is free.

    Attributes:
        port: Where it listens.

    Raises:
        ImportError: `prometheus_client` is not installed.
        OSError: The port is taken.
    """

    def __init__(self, port: int) -> None:
        register()
        from prometheus_client import start_http_server  # noqa: PLC0415 - in the extra

        self._server, self._thread = start_http_server(port)
        self.port: int = self._server.server_port

    def close(self) -> None:
        """Stop serving metrics."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def __repr__(self) -> str:
        return f"MetricsServer({self.port})"

"""Wires the network side of an admin client.

Thread: the application's, while a client is being built. Parts of the network thread belong to
that thread alone once it runs.
"""

from prokurist.assembly.network_side import NetworkSide, System, open_system, trace_of
from prokurist.assembly.security import warn_of_security
from prokurist.config.clients import AdminConfig
from prokurist.events.clock import CallersClock
from prokurist.events.trace import Trace
from prokurist.network_thread.admin.job import AdminTools
from prokurist.network_thread.admin.manager import AdminManager


class AdminSide(NetworkSide):
    """The network side of an admin client, wired and not started.

    Args:
        config: The configuration.
        trace: The client's trace.
        system: Sockets, clock and chance of the client.
    """

    def __init__(self, config: AdminConfig, trace: Trace, system: System) -> None:
        super().__init__(config, trace, system, create_topics=False)
        tools = AdminTools(
            self.client,
            self.metadata,
            self.attempts,
            self.coordinators,
            self.timer,
            config.request_timeout_ms / 1000,
        )
        self.register(AdminManager(tools))


def open_admin_side(config: AdminConfig, clock: CallersClock) -> AdminSide:
    """Wire the network side of an admin client to the sockets of this system."""
    trace = trace_of(config, "admin", None, clock)
    system = open_system(config, trace, clock)
    try:
        side = AdminSide(config, trace, system)
    except BaseException:
        system.network.shutdown()
        raise
    warn_of_security(config, trace)
    return side

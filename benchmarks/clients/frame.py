"""What the program of every Python client shares: said "ready", told to go, made its calls.

    PYTHONPATH=benchmarks python benchmarks/clients/of_kafka_python.py BOOTSTRAP MODE ...

Modes: `call NAME SECONDS` polls until it is told, and then makes one call;
`poll SECONDS FOR` polls in a loop; `round_trips N` times as many of a warm
`committed`; `timeouts N SECONDS` makes as many that cannot be answered. Each
prepares with the broker awake, prints "ready", waits for a line on its standard
input, and prints its figures as one line of JSON. java/Peer.java says and
understands the same.

Thread: the main one. The process ends by `os._exit`, since a client may not let it
end otherwise.
"""

import json
import os
import select
import sys
import time
from collections.abc import Callable
from typing import Any, Protocol

TOPIC = "orders"
UNHEARD_OF = "unheard-of"
WARM_UP = 200


class Client(Protocol):
    """A client whose calls can be measured, each given the seconds it is to take at most.

    Beside these it has the methods that `CALLS` in `peers.py` names.
    """

    def prepare(self) -> None:
        """Know cluster, coordinator and positions, with the broker awake."""
        ...

    def committed(self, seconds: float) -> object:
        """Look up what is committed."""
        ...

    def poll(self, seconds: float) -> object:
        """Wait for records, of which there are none."""
        ...

    def figures(self) -> dict[str, Any]:
        """What it can say of itself."""
        ...


def tell(figures: object) -> None:
    """Print a line for the process that started this."""
    print(json.dumps(figures), flush=True)


def wait_for_go(meanwhile: Callable[[], object] | None = None) -> None:
    """Say that all is prepared, and wait; a client in use does something meanwhile."""
    print("ready", flush=True)
    while meanwhile is not None and not select.select([sys.stdin], [], [], 0)[0]:
        meanwhile()
    sys.stdin.readline()


def outcome(call: Callable[[], object]) -> tuple[float, str]:
    """How long a call took, and what it came to, in a word or two."""
    began = time.monotonic()
    try:
        said = repr(call())
    except Exception as error:  # noqa: BLE001 - any exception of a client is its answer
        said = type(error).__name__
    return time.monotonic() - began, said[:40]


def run(make: Callable[[str], Client]) -> None:
    """Be the program."""
    bootstrap, mode, *arguments = sys.argv[1:]
    client = make(bootstrap)
    client.prepare()
    match mode, arguments:
        case "call", [name, seconds]:
            # As in a service that reads, until the moment at which the broker freezes.
            wait_for_go(lambda: client.poll(0.1))
            took, said = outcome(lambda: getattr(client, name)(float(seconds)))
            tell({"seconds": took, "outcome": said})
        case "poll", [seconds, lasting]:
            wait_for_go()
            over = time.monotonic() + float(lasting)
            before = client.figures()
            while time.monotonic() < over:
                client.poll(float(seconds))
            tell({"before": before, "after": client.figures()})
        case "round_trips", [number]:
            for _ in range(WARM_UP):
                client.committed(5.0)
            wait_for_go()
            tell([outcome(lambda: client.committed(5.0))[0] for _ in range(int(number))])
        case "timeouts", [number, seconds]:
            wait_for_go()
            limit = float(seconds)
            for _ in range(WARM_UP):
                outcome(lambda: client.committed(limit))
            tell("warm")
            sys.stdin.readline()
            for _ in range(int(number)):
                outcome(lambda: client.committed(limit))
            tell(client.figures())
            sys.stdin.readline()
            time.sleep(1.0)  # The broker is awake again; late answers come.
            tell(client.figures())
            sys.stdin.readline()
        case _:
            raise SystemExit(f"no such mode: {sys.argv[2:]}")
    os._exit(0)

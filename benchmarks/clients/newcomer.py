"""A process that reads one record of a group, from nothing.

    python newcomer.py CLIENT BOOTSTRAP GROUP TOPIC

It prints four figures in seconds: processor time until its consumer was built, and until it
had a record, both without what the interpreter took to start; what elapsed until then, and
while it closed.

Thread: the main one. The process ends by `os._exit`.
"""

import os
import sys
import time

from member import CLIENTS

STARTED = time.process_time()
"""By now asyncio is imported, of which one of them only has any use."""


def main() -> None:
    """Join, read, leave and tell."""
    began = time.monotonic()
    client, bootstrap, group, topic = sys.argv[1:]
    poll, leave = CLIENTS[client]("range", bootstrap, group, topic)
    built = time.process_time() - STARTED
    while not any(True for _ in poll()):
        pass
    read, elapsed = time.process_time() - STARTED, time.monotonic() - began
    began = time.monotonic()
    leave()
    print(built, read, elapsed, time.monotonic() - began, flush=True)
    os._exit(0)


if __name__ == "__main__":
    main()

"""gevent and eventlet: a patched process is refused in a sentence, and never hangs."""

import subprocess
import sys
from importlib.util import find_spec

import pytest

PATCH = {
    "gevent": "import gevent.monkey; gevent.monkey.patch_all({})",
    "eventlet": "import eventlet; eventlet.monkey_patch({})",
}
BUILD = """
from prokurist import IllegalStateException, KafkaConsumer
try:
    with KafkaConsumer(bootstrap_servers="127.0.0.1:9", group_id="g") as consumer:
        consumer.subscribe("orders")
        print(len(consumer.poll(0.2)), consumer.health().unreachable_for is not None)
except IllegalStateException as refused:
    print(refused)
"""


def run(library: str, keys: str = "", *, before: bool = True) -> str:
    """What a program prints that patches, before or after the package is imported."""
    if find_spec(library) is None:  # importing it here would patch what other tests use
        pytest.skip(f"{library} is not installed")
    patch = PATCH[library].format(keys)
    parts = [patch, BUILD] if before else ["import prokurist.consumer.consumer", patch, BUILD]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", "\n".join(parts)],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout


@pytest.mark.parametrize("library", PATCH)
@pytest.mark.parametrize("before", [True, False])
def test_a_patched_process_is_refused(library: str, *, before: bool) -> None:
    """At once, in a sentence that names the library and the way out."""
    told = run(library, before=before)
    assert told.startswith(f"prokurist cannot run where {library} has patched")
    assert "run the consumer in a process that is not patched" in told
    assert told.count("\n") == 1


@pytest.mark.parametrize("library", PATCH)
def test_the_way_out_works(library: str) -> None:
    """Patched but for threads, sockets and select, a consumer polls on time."""
    told = run(library, "thread=False, socket=False, select=False")
    assert told == "0 True\n"

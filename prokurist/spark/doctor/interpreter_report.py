"""An interpreter's report of itself; run in Spark's workers, which may lack any package.

Thread: a worker's main one, or a process of its own: `python interpreter_report.py` prints it.
Invariants: this file is shipped by its value and run by its path, so nothing is imported at
its top but what comes with every Python, and nothing of prokurist's is taken for granted.
"""

import json
import platform
import sys
from importlib import metadata


def told(bootstrap: str | None = None, timeout: float = 5.0) -> str:
    """The report as JSON.

    Args:
        bootstrap: Brokers to be reached from here; None for none.
        timeout: Seconds for that.
    """
    packages = {}
    for name in ("prokurist", "pyspark", "pyarrow", "pandas"):
        try:
            packages[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    error = None
    if bootstrap is not None and "prokurist" in packages:
        try:
            from prokurist.consumer.consumer import KafkaConsumer  # noqa: PLC0415 - see above

            with KafkaConsumer(bootstrap_servers=bootstrap) as consumer:
                consumer.list_topics(timeout)
        except Exception as why:  # noqa: BLE001 - any error is reported to the driver
            error = str(why)
    return json.dumps(
        {
            "executable": sys.executable,
            "version": platform.python_version(),
            "packages": packages,
            "host": platform.node(),
            "error": error,
        }
    )


if __name__ == "__main__":
    sys.stdout.write(told())

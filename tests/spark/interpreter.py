"""How these tests name their interpreter to Spark, wherever it lies."""

import os
import sys
from pathlib import Path


def environment() -> dict[str, str]:
    """The variables by which Spark's workers are this interpreter.

    By its name on the path, since this folder's own path may have a space in it: Spark asks a
    shell whether there is such a command, and hands it the words as they are.
    """
    path = Path(sys.executable)
    return {
        "PYSPARK_PYTHON": path.name,
        "PATH": f"{path.parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }

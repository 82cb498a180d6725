"""How these tests name their interpreter to Spark, wherever it lies, and run its Java."""

import os
import sys
from pathlib import Path
from typing import Final

from prokurist.testing.kafka.properties import QUICK_JAVA

QUICK: Final = " ".join(QUICK_JAVA)
"""Of two seconds that Spark computes in these tests, one is its second compiler's."""


def environment() -> dict[str, str]:
    """The variables by which Spark's workers are this interpreter, and its driver is quick.

    By its name on the path, since this folder's own path may have a space in it: Spark asks a
    shell whether there is such a command, and hands it the words as they are.
    """
    path = Path(sys.executable)
    return {
        "PYSPARK_SUBMIT_ARGS": f'--conf "spark.driver.extraJavaOptions={QUICK}" pyspark-shell',
        "PYSPARK_PYTHON": path.name,
        "PATH": f"{path.parent}{os.pathsep}{os.environ.get('PATH', '')}",
    }

"""`register`: the source by hand, and a word about what would fail later.

Spark finds `format("prokurist")` by itself. This is for sessions whose Python does not see
the module that Spark looks for, and for programs that want to be warned.

Thread: the application's. Processes: one that tells what workers will be, for a moment.
"""

import json
import logging
import os
from typing import TYPE_CHECKING, Final

from prokurist.spark.data_source import KafkaDataSource
from prokurist.spark.doctor import interpreter, interpreter_report
from prokurist.spark.doctor.checks import CheckResult, Python, of_driver, of_master, of_python

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG: Final = logging.getLogger("prokurist.spark")


def register(spark: "SparkSession") -> None:
    """Register `format("prokurist")` with a session.

    A line of the log tells of each thing about the session, and about the interpreters of
    its workers, that will fail or cost something; `prokurist spark doctor` tells more.

    Args:
        spark: The session; with Spark Connect only the driver's own side is looked at.
    """
    spark.dataSource.register(KafkaDataSource)
    driver = Python(**json.loads(interpreter_report.told()))
    found = list(of_driver(driver))
    if not hasattr(spark, "_client"):  # Of Connect's the workers are elsewhere.
        context = spark.sparkContext
        named = os.environ.get("PYSPARK_PYTHON") or context.getConf().get(
            "spark.pyspark.python"
        )
        found += [
            of_master(context.master or ""),
            of_python(named, driver, interpreter(named or "python3")),
        ]
    for each in found:
        if each.verdict is not CheckResult.OK:
            LOG.warning("%s: %s. %s", each.name, each.text, each.advice)

"""Files and command line of a broker's process.

Thread: any; no state.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from prokurist.testing.kafka.properties import properties_file

LOG: Final = "broker.log"
PROPERTIES: Final = "node.properties"
BROKER: Final = "kafka.Kafka"
STORAGE: Final = "kafka.tools.StorageTool"

_LOG4J2: Final = """\
Configuration:
  status: "ERROR"
  Appenders:
    File:
      name: "file"
      fileName: "{log}"
      PatternLayout:
        pattern: "%d{{ISO8601}} %p %m (%c{{1}})%n%throwable"
  Loggers:
    Root:
      level: "INFO"
      AppenderRef:
        - ref: "file"
    Logger:
      # Five hundred lines of defaults would push the reason of a failure off the tail.
      - name: "org.apache.kafka.common.config"
        level: "WARN"
"""

_LOG4J1: Final = """\
log4j.rootLogger=INFO, file
log4j.appender.file=org.apache.log4j.FileAppender
log4j.appender.file.File={log}
log4j.appender.file.layout=org.apache.log4j.PatternLayout
log4j.appender.file.layout.ConversionPattern=%d{{ISO8601}} %p %m (%c{{1}})%n
log4j.logger.org.apache.kafka.common.config=WARN
log4j.logger.kafka.server.KafkaConfig=WARN
"""


def write_files(folder: Path, properties: Mapping[str, str]) -> None:
    """Write the files of a node's processes: its properties, and its logging."""
    for name, text in (
        (PROPERTIES, properties_file(properties)),
        ("log4j2.yaml", _LOG4J2.format(log=folder / LOG)),
        ("log4j.properties", _LOG4J1.format(log=folder / LOG)),
    ):
        (folder / name).write_text(text, encoding="utf-8")


def java_command(
    java: Path, options: Sequence[str], jars: Path, folder: Path, main: str, *arguments: str
) -> list[str]:
    """Return the command line of one of Kafka's programs, with a node's properties.

    Args:
        java: The Java to run it.
        options: Those of the virtual machine.
        jars: The folder of Kafka's jars.
        folder: The node's, with the files of `write_files`.
        main: The program's class.
        arguments: Its own; the properties come last.
    """
    return [
        str(java),
        *options,
        f"-Dlog4j2.configurationFile={folder / 'log4j2.yaml'}",
        f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}",
        # A broker that is killed leaves the libraries there that it has unpacked.
        f"-Djava.io.tmpdir={folder}",
        "-cp",
        f"{jars}{os.sep}*",
        main,
        *arguments,
        str(folder / PROPERTIES),
    ]

"""What the embedded server is: which Spark, which settings, which command line."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from ..core.diagnostics import problem

_LOGGING = """\
rootLogger.level = warn
rootLogger.appenderRef.out.ref = out
appender.out.type = Console
appender.out.name = out
appender.out.target = SYSTEM_ERR
appender.out.layout.type = PatternLayout
appender.out.layout.pattern = %d{yyyy-MM-dd HH:mm:ss} %p %c{1}: %m%n%ex
logger.metastore.name = org.apache.hadoop.hive
logger.metastore.level = error
logger.datanucleus.name = DataNucleus
logger.datanucleus.level = error
logger.hadoop.name = org.apache.hadoop.util.NativeCodeLoader
logger.hadoop.level = error
logger.refused.name = org.apache.spark.sql.connect.utils.ErrorUtils
logger.refused.level = off
"""

# DDL is short work of many kinds: the thorough compiler takes half of the processor time of a start,
# and the first statements wait for it. Without it the JVM reserves too little room for compiled code
# (48 MB, which a day of generated code fills), and plans of nested views need a deep stack. The simple
# collector needs a third less memory and processor time for a heap of this size.
_JVM = ("-XX:TieredStopAtLevel=1", "-XX:ReservedCodeCacheSize=256m", "-Xss4m", "-XX:+UseSerialGC")


def spark_home() -> Path:
    """The Spark inside the installed pyspark. Raises SD703 where there is none.

    The client alone (pyspark-client) is installed at the same place, without a server.
    """
    found = importlib.util.find_spec("pyspark")
    places = [Path(place) for place in (found.submodule_search_locations or ())] if found else []
    needed = ("grpc", "pandas", "pyarrow")
    if all(map(importlib.util.find_spec, needed)):
        for place in places:
            if (place / "bin" / "spark-submit").is_file() and (place / "jars").is_dir():
                return place
    raise problem(
        "SD703",
        "the embedded Spark is not installed",
        advice="pip install 'airflow-provider-sparkdeploy[embedded]', or pass the address of a Spark "
        "elsewhere, sc://host:port.",
    )


def settings(warehouse: Path, port: int) -> dict[str, str]:
    """A small server for one person: nothing to look at, nothing open to others, a catalog that stays."""
    server = warehouse / "server"
    options = {
        "derby.system.home": server,
        "derby.stream.error.file": server / "derby.log",
        "java.io.tmpdir": server / "tmp",
    }
    return {
        "spark.master": "local[*]",
        "spark.app.name": "sparkdeploy",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": " ".join(
            [*_JVM, *(f'"-D{name}={path}"' for name, path in options.items())]
        ),
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": str(port),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.metrics.staticSources.enabled": "false",
        "spark.sql.warehouse.dir": str(warehouse / "tables"),
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"{catalog_url(warehouse)};create=true",
        # The pool that Hive takes by default loses a connection when a statement is interrupted while it
        # waits for one, and then waits for ever, with the lock that every other statement needs. A
        # connection to a catalog in the same process costs nothing.
        "spark.hadoop.datanucleus.connectionPoolingType": "NONE",
        "spark.hadoop.hive.exec.scratchdir": str(server / "tmp" / "hive"),
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.adaptive.enabled": "true",
        "spark.sql.connect.serverStacktrace.enabled": "false",
        "spark.sql.pyspark.jvmStacktrace.enabled": "false",
    }


def catalog_url(warehouse: Path) -> str:
    return f"jdbc:derby:;databaseName={warehouse / 'metastore'}"


def write_settings(folder: Path, values: Mapping[str, str]) -> None:
    """A configuration folder of its own, so that one meant for a cluster does not reach in."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = (f"{name} {value}".replace("\\", "\\\\") for name, value in sorted(values.items()))
    (folder / "spark-defaults.conf").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "log4j2.properties").write_text(_LOGGING, encoding="utf-8")


def environment(configuration: Path) -> dict[str, str]:
    """The environment of the server: what the caller's says about some other Spark is left out."""
    others = ("SPARK_", "HADOOP_", "HIVE_", "YARN_", "PYSPARK_SUBMIT_ARGS")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(others)}
    return (
        {"PYSPARK_PYTHON": sys.executable}
        | kept
        | {
            "SPARK_HOME": str(spark_home()),
            "SPARK_CONF_DIR": str(configuration),
            "SPARK_LOCAL_DIRS": str(configuration.parent / "tmp"),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
    )


def command(mark: str) -> list[str]:
    """The server's command line, with a mark to know it by."""
    return [
        str(spark_home() / "bin" / "spark-submit"),
        *("--class", "org.apache.spark.sql.connect.service.SparkConnectServer"),
        *("--conf", mark),
        "spark-internal",
    ]

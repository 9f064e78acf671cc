"""What a process imports to run one operation: every worker does, for a statement of a tenth of a second."""

from __future__ import annotations

import subprocess
import sys

_RUN = """
import sys
import airflow_provider_sparkdeploy.spark.apply, airflow_provider_sparkdeploy.spark.session
print(sorted({"sqlglot", "networkx", "pyspark"} & set(sys.modules)))
"""


def test_only_a_fixpoint_needs_a_parser() -> None:
    """The client of Spark is imported when a session is opened."""
    done = subprocess.run([sys.executable, "-c", _RUN], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"

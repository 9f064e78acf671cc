"""Is there a Java that the embedded Spark can run on? Looks where Spark looks."""

from __future__ import annotations

import os
import re
import shutil
import subprocess

from ..core.diagnostics import problem

OLDEST = 17  # Spark 4 does not start on less

_FIX = (
    f"Install Java {OLDEST} or newer (apt install openjdk-{OLDEST}-jre-headless, brew install openjdk@{OLDEST}) "
    "and set JAVA_HOME to it, or put its java on PATH. A Spark elsewhere needs no Java here: "
    "pass its address, sc://host:port."
)


def require_java() -> None:
    """Raises SD701 where there is no Java, SD702 where it is too old."""
    home = os.environ.get("JAVA_HOME", "")
    command = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if not command:
        raise problem(
            "SD701",
            "the embedded Spark needs Java, and there is none: JAVA_HOME is not set, and java is not on PATH",
            advice=_FIX,
        )
    said = _version_text(command)
    where = f"{command} (JAVA_HOME is {home})" if home else command
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    if not found:
        raise problem(
            "SD701", f"the embedded Spark needs Java, and {where} is not one that runs", advice=_FIX
        )
    version = int(found.group(1))
    if version < OLDEST:
        raise problem(
            "SD702",
            f"the embedded Spark needs Java {OLDEST} or newer, and {where} is Java {version}",
            advice=_FIX,
        )


def _version_text(command: str) -> str:
    try:
        done = subprocess.run(
            [command, "-version"], capture_output=True, text=True, errors="replace", timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stderr + done.stdout if done.returncode == 0 else ""

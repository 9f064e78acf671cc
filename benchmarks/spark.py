"""What is measured on a real Spark: looking at a catalog, and computing a fixpoint.

    python benchmarks/spark.py [--quick]

Both start an embedded server of their own and stop it. ``--quick`` is a small run, to see that they work.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> None:
    quick = "--quick" in sys.argv[1:]
    for program, small in (
        ("inspection.py", ["60", "--runs", "1"]),
        ("fixpoint.py", ["--levels", "5", "--chains", "10"]),
    ):
        print(f"\n{program.removesuffix('.py')}", flush=True)
        subprocess.run([sys.executable, str(HERE / program), *(small if quick else [])], check=True)


if __name__ == "__main__":
    main()

"""A tour of the shop on an embedded Spark: deploy, change, break, resume; then the same by Airflow.

    make demo

Works on a copy of the shop in build/demo, with a catalog of its own, and leaves the Spark
server running for whoever wants to go on; the last lines say how.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import ui

HERE = Path(__file__).resolve().parent
DEMO = HERE.parent / "build" / "demo"
SHOP = DEMO / "shop"
SPARKDEPLOY = Path(sys.executable).with_name("sparkdeploy")


def main() -> None:
    sparkdeploy("local", "stop", "--warehouse", str(DEMO / "warehouse"), quiet=True)
    shutil.rmtree(DEMO, ignore_errors=True)
    shutil.copytree(HERE / "repository_shop", SHOP, ignore=shutil.ignore_patterns(".sparkdeploy"))

    tell("1. A folder of SQL files, and an empty Spark. What would be done, and why?")
    sparkdeploy("plan")
    tell("2. Do it. The first start of Spark takes a moment.")
    sparkdeploy("apply")
    tell("3. Nothing is left to do.")
    sparkdeploy("apply")

    tell("4. Somebody edits a view, and adds a column to a table.")
    replace("analytics/view/orders_eur.sql", "CREATE VIEW", "-- reviewed by finance\nCREATE VIEW")
    replace("sales/view/order_status.sql", "order_id,", "order_id,\n       count(*) AS events,")
    append(
        "sales/table/orders.sql",
        "\n-- //// CHANGE name=add_coupon\nALTER TABLE ${sales}.orders ADD COLUMNS (coupon STRING);\n",
    )
    sparkdeploy("plan")
    tell("   A comment changes nothing. Why is order_totals redeployed?")
    sparkdeploy("explain", "sales.order_totals")
    sparkdeploy("apply")

    tell("5. A typing mistake in one view; a second, independent change is fine.")
    replace("sales/view/order_totals.sql", "orders.currency,", "orders.currency,\n  orders.chanel,")
    replace("sales/function/to_eur.sql", "COMMENT '", "COMMENT 'Rounded. ")
    sparkdeploy("apply", fails=True)
    tell("   The mistake is corrected. The same command goes on: to_eur is done, the rest is left.")
    replace("sales/view/order_totals.sql", "orders.chanel,", "orders.channel,")
    sparkdeploy("apply")

    tell("6. Where are we?")
    sparkdeploy("status")
    sparkdeploy("history")
    tell("7. The same folder in Airflow, to a second environment: one task per operation.")
    ui.deploy()
    tell("The shop is in the catalog, twice. Look at it in Airflow:")
    print(f"    make ui      and open {ui.ADDRESS}/dags/{ui.DAG} (user admin, password admin)")
    tell("Or go on at the command line:")
    print(f"    export SPARKDEPLOY_WAREHOUSE={DEMO / 'warehouse'}")
    print(f"    {relative(SPARKDEPLOY)} plan --repository {relative(SHOP)}")
    print("    make stop    ends the Spark, which goes on running until then")
    tell("What Spark and Airflow had to say meanwhile is in")
    print(f"    {relative(DEMO / 'warehouse' / 'server' / 'server.log')}")
    print(f"    {relative(DEMO / 'airflow')}/*.log, and in its folder logs that of every task")


def run() -> None:
    """The tour, alone, and to its end or until somebody has seen enough."""
    try:
        with ui.alone():
            main()
    except KeyboardInterrupt:
        sys.exit(
            "\nThe tour was stopped. make demo begins anew; make stop ends the Spark that it may have left."
        )


def tell(text: str) -> None:
    bold, plain = ("\033[1m", "\033[0m") if sys.stdout.isatty() else ("", "")
    print(f"\n{bold}{text}{plain}", flush=True)


def sparkdeploy(*arguments: str, fails: bool = False, quiet: bool = False) -> None:
    """Run a command as a user would, and stop the tour if it does not end as it should."""
    command = [str(SPARKDEPLOY), *arguments]
    if not quiet:
        print(f"$ sparkdeploy {' '.join(arguments)}", flush=True)
    environment = {**os.environ, "SPARKDEPLOY_WAREHOUSE": str(DEMO / "warehouse")}
    done = subprocess.run(command, cwd=SHOP if SHOP.is_dir() else HERE, env=environment, capture_output=quiet)
    if not quiet and (done.returncode != 0) != fails:
        sys.exit(f"The tour stopped: sparkdeploy {arguments[0]} ended with {done.returncode}.")


def replace(path: str, old: str, new: str) -> None:
    text = (SHOP / path).read_text("utf-8")
    if old not in text:
        sys.exit(f"The tour does not fit the shop any more: {path} has no {old!r}.")
    (SHOP / path).write_text(text.replace(old, new, 1), "utf-8")


def append(path: str, text: str) -> None:
    with (SHOP / path).open("a", encoding="utf-8") as file:
        file.write(text)


def relative(path: Path) -> str:
    return os.path.relpath(path)


if __name__ == "__main__":
    run()

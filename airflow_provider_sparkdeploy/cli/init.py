"""``init``: a small repository to start from."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from ..core.diagnostics import problem
from .problems import errors_to_exit

_FILES = {
    "sparkdeploy.yaml": """\
# Every key is optional. Folders are schemas; map them to other names per environment.
default_environment: dev
environments:
  dev:
    tokens:
      vip_from: "1000"
  prod:
    tokens:
      vip_from: "5000"
""",
    ".gitignore": ".sparkdeploy/\n",
    "shop/table/orders.sql": """\
-- //// METADATA tags=core
-- //// CHANGE name=init
CREATE TABLE ${shop}.orders (
  id BIGINT,
  customer STRING,
  amount DECIMAL(12, 2),
  ordered_at TIMESTAMP
) USING parquet;
-- // ROLLBACK
DROP TABLE ${shop}.orders;
""",
    "shop/view/revenue.sql": """\
CREATE VIEW ${shop}.revenue AS
SELECT customer, sum(amount) AS total
FROM ${shop}.orders
GROUP BY customer
""",
    "shop/view/vip_customers.sql": """\
CREATE VIEW ${shop}.vip_customers AS
SELECT customer, total
FROM ${shop}.revenue
WHERE total >= ${vip_from}
""",
}


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), required=False)
@click.option("--repository", "-r", type=click.Path(path_type=Path), help="The same as FOLDER.")
@errors_to_exit()
def init(folder: Path | None, repository: Path | None) -> None:
    """Make a small repository in FOLDER (the current one, if not said) that can be planned."""
    if folder is not None and repository is not None:
        raise click.UsageError("Give the folder once: as FOLDER or as --repository.")
    root = folder or repository or Path(".")
    if root.exists() and not root.is_dir():
        raise problem("SD104", f"{root} is a file", advice="Choose an empty or a new folder.")
    taken = [name for name in _FILES if (root / name).exists()]
    if taken:
        raise problem(
            "SD104", f"{root / taken[0]} is already there", advice="Choose an empty or a new folder."
        )
    for name, text in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        click.echo(f"  + {path}")
    here = "" if root == Path(".") else f" --repository {shlex.quote(str(root))}"
    click.echo(f"\nLook at the plan with:\n  sparkdeploy plan{here}")

"""A provider whose information does not fit the schema breaks every command of Airflow."""

from __future__ import annotations

import importlib
import json
from importlib import resources

import jsonschema

from airflow_provider_sparkdeploy.airflow.provider import get_provider_info


def test_the_information_fits_the_schema() -> None:
    schema = json.loads((resources.files("airflow") / "provider_info.schema.json").read_text("utf-8"))
    jsonschema.validate(get_provider_info(), schema)


def test_everything_that_it_names_can_be_imported() -> None:
    info = get_provider_info()
    for kind in ("operators", "sensors", "hooks", "triggers"):
        for item in info.get(kind, ()):
            for module in item["python-modules"]:
                importlib.import_module(module)
    for path in (*info["extra-links"], *(item["handler"] for item in info["asset-uris"])):
        module, _, name = path.rpartition(".")
        assert hasattr(importlib.import_module(module), name)

"""What is kept between runs, in Airflow Variables: the only store that a parse can read quickly.

Three per deployment. The *view* is small and read by every parse: what the graph shows, for which
repository. The *texts* are the SQL of what it shows, for people. The *state* is what is recorded as
deployed; it is larger, and read only when the repository has changed, and by tasks.

All of it can be lost: the history in the environment has everything, and the next run reads it.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from airflow.sdk import Variable

from ..core.names import ObjectName
from ..core.state import DeployedObject, State, decode_object, encode_object
from .shown import Cycle, Shown, as_many_as_fit, decode_cycle, decode_shown, encode_cycle, encode_shown

FORMAT = 1
_PREFIX = "sparkdeploy"
_DESCRIPTION = "Kept by SparkDeploy. Safe to delete: the next run makes it again."


@dataclass(frozen=True, slots=True)
class View:
    """What the graph shows.

    ``fingerprint`` is that of the repository that it was made for, ``serial`` the last batch of
    the history that it takes into account. ``active`` is the run that it is the graph of: until the
    last task of that has ended it is shown, whatever becomes of the repository, and ``next`` is
    shown from then on. ``problems`` are why there is no plan. ``guess`` says that it was made
    without knowing what is deployed. ``cycles`` are the components of the repository, ``environment`` is
    its environment as the settings spell it. ``approval`` says that something loses data, and a person
    decides.
    """

    fingerprint: str
    operations: tuple[Shown, ...] = ()
    serial: int = 0
    active: str = ""
    problems: tuple[str, ...] = ()
    blocked: int = 0
    guess: bool = False
    cycles: tuple[Cycle, ...] = ()
    environment: str = ""
    approval: bool = False
    next: View | None = None

    def about(self) -> dict[str, Any]:
        """What the task ``plan`` says of the graph, to whoever reads it; as short as Airflow wants it."""
        cycles = [encode_cycle(item) for item in self.cycles]
        return {
            "fingerprint": self.fingerprint,
            "problems": as_many_as_fit(self.problems),
            "blocked": self.blocked,
            "guess": self.guess,
            "cycles": cycles if len(as_many_as_fit(cycles)) == len(cycles) else None,
        }


@dataclass(frozen=True, slots=True)
class Recorded:
    """What is deployed, as far as the history was folded: up to the batch of number ``serial``.

    ``drift`` is what was otherwise in the catalog when somebody last looked, and ``looked`` when that
    was; empty where nobody has.
    """

    serial: int = 0
    state: State = field(default_factory=dict)
    drift: Mapping[ObjectName, str] = field(default_factory=dict)
    looked: str = ""


def read_view(name: str) -> View | None:
    data = _read(f"{_PREFIX}.view.{name}")
    return None if data is None else _decode_view(data)


def write_view(name: str, view: View) -> None:
    _write(f"{_PREFIX}.view.{name}", _encode_view(view))


def _encode_view(view: View) -> dict[str, Any]:
    return {
        "fingerprint": view.fingerprint,
        "operations": [encode_shown(item) for item in view.operations],
        "serial": view.serial,
        "active": view.active,
        "problems": list(view.problems),
        "blocked": view.blocked,
        "guess": view.guess,
        "cycles": [encode_cycle(item) for item in view.cycles],
        "environment": view.environment,
        "approval": view.approval,
        "next": None if view.next is None else _encode_view(view.next),
    }


def _decode_view(data: Mapping[str, Any]) -> View:
    return View(
        data["fingerprint"],
        tuple(decode_shown(item) for item in data["operations"]),
        data["serial"],
        data["active"],
        tuple(data["problems"]),
        data["blocked"],
        data["guess"],
        tuple(decode_cycle(item) for item in data["cycles"]),
        data["environment"],
        data["approval"],
        None if data["next"] is None else _decode_view(data["next"]),
    )


def read_texts(name: str) -> Mapping[str, str]:
    """The SQL of the shown operations, by id; shortened where it is long."""
    data = _read(f"{_PREFIX}.texts.{name}")
    return data["texts"] if data else {}


def write_texts(name: str, texts: Mapping[str, str]) -> None:
    _write(f"{_PREFIX}.texts.{name}", {"texts": dict(texts)})


def read_recorded(name: str) -> Recorded | None:
    data = _read(f"{_PREFIX}.state.{name}")
    if data is None:
        return None
    state: dict[ObjectName, DeployedObject] = {}
    for item, at, run in data["objects"]:
        record = replace(decode_object(item), at=at, run=run)
        state[record.name] = record
    drift = {ObjectName(*name): why for *name, why in data.get("drift", ())}
    return Recorded(data["serial"], state, drift, data.get("looked", ""))


def write_recorded(name: str, recorded: Recorded) -> None:
    objects = [[encode_object(item), item.at, item.run] for _, item in sorted(recorded.state.items())]
    drift = [[*found, why] for found, why in sorted(recorded.drift.items())]
    data = {"serial": recorded.serial, "objects": objects, "drift": drift, "looked": recorded.looked}
    _write(f"{_PREFIX}.state.{name}", data)


def forget(name: str) -> None:
    """As if nothing had been kept."""
    for kept in ("view", "texts", "state"):
        Variable.delete(f"{_PREFIX}.{kept}.{name}")


def _read(key: str) -> dict[str, Any] | None:
    """What is kept under a key; None where nothing is, or another version wrote it."""
    text = Variable.get(key, default=None)
    if text is None:
        return None
    try:
        data = json.loads(zlib.decompress(base64.b64decode(text)))
    except (ValueError, zlib.error):
        return None
    return data if isinstance(data, dict) and data.get("v") == FORMAT else None


def _write(key: str, data: Mapping[str, Any]) -> None:
    text = json.dumps({"v": FORMAT, **data}, ensure_ascii=False, separators=(",", ":"))
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 6)
    Variable.set(key, base64.b64encode(packed).decode("ascii"), description=_DESCRIPTION)

"""What is kept between runs, in Airflow Variables: the only store that a parse can read quickly.

Three per deployment. The *view* is small and read by every parse: what the graph shows, for which
repository. The *texts* are the SQL of what it shows, for people. The *state* is what is recorded as
deployed; it is larger, and read only when the repository has changed, and by tasks.

All of it can be lost: the history in the environment has everything, and the next run reads it. But what is
there and cannot be read at the moment is not lost: whoever asks for it fails, and guesses nothing.
"""

from __future__ import annotations

import base64
import json
import time
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from airflow.sdk import Variable

from ..core.lazy import Records
from ..core.names import ObjectName
from ..core.operations import shortened
from ..core.state import DeployedObject, State, decode_object, encode_object
from .shown import Cycle, Shown, as_many_as_fit, decode_cycle, decode_shown, encode_cycle, encode_shown
from .units import Unit, decode_unit, encode_unit

T = TypeVar("T")
FORMAT = 1
_STATE_FORMAT = 2
# Airflow makes a regular expression of every Variable that is read, in case it is a secret. Without a letter
# that means something there, that takes a hundredth of the time.
_LETTERS = b"_/"
_PREFIX = "sparkdeploy"
_LONGEST_NAME = 230  # of a deployment in the key of a Variable: Airflow takes 250
_UNTIL_SEEN = 10  # seconds: a scheduler comes round to a run every second or two, and on a busy machine later
_NO_GUESS = (
    "Without it the graph would be a guess, and could take tasks from a run. If this does not pass by itself, delete "
    "the Variable: the next run makes it again"
)
_DESCRIPTION = "Kept by SparkDeploy. Safe to delete: the next run makes it again."


class Unreadable(RuntimeError):
    """Airflow could not say what a Variable holds, or whether there is one."""


@dataclass(frozen=True, slots=True)
class View:
    """What the graph shows.

    ``fingerprint`` is that of the repository that it was made for, ``serial`` the last batch of
    the history that it takes into account. ``active`` is the run that it is the graph of: while that is
    under way it is shown, whatever becomes of the repository, and ``next`` is shown from then on.
    ``planning`` says that this run has only begun: what it has to do is not frozen yet.
    ``closed`` is when it has nothing left that it must not lose, because it is written down how that run
    ended, in seconds since 1970; 0 before. ``problems`` are why there is no plan. ``guess`` says that it was made
    without knowing what is deployed. ``cycles`` are the components of the repository, ``environment`` is
    its environment as the settings spell it. ``approval`` says that something loses data, and a person
    decides. ``units`` are what a refresh shows; it has no operations.
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
    units: tuple[Unit, ...] = ()
    closed: float = 0
    planning: bool = False

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
    """What is deployed, as far as the history was folded: up to the batch of number ``serial``, which
    ``ends`` with what tells this history from others.

    ``drift`` is what was otherwise in the catalog when somebody last looked, and ``looked`` when that
    was; empty where nobody has.
    """

    serial: int = 0
    state: State = field(default_factory=dict)
    drift: Mapping[ObjectName, str] = field(default_factory=dict)
    looked: str = ""
    ends: str = ""


def variable(what: str, name: str) -> str:
    """The Variable that a deployment keeps something in. The ids of a DAG and of a group may be longer together
    than the key of a Variable."""
    return f"{_PREFIX}.{what}.{shortened(name, _LONGEST_NAME)}"


def read_view(name: str) -> View | None:
    data = _read(variable("view", name))
    return None if data is None else _if_ours(lambda: decode_view(data))


def write_view(name: str, view: View) -> None:
    _write(variable("view", name), encode_view(view))


def encode_view(view: View) -> dict[str, Any]:
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
        "next": None if view.next is None else encode_view(view.next),
        "units": [encode_unit(item) for item in view.units],
        "closed": view.closed,
        "planning": view.planning,
    }


def decode_view(data: Mapping[str, Any]) -> View:
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
        None if data["next"] is None else decode_view(data["next"]),
        tuple(decode_unit(item) for item in data["units"]),
        data.get("closed", 0),
        data.get("planning", False),
    )


def read_texts(name: str) -> Mapping[str, str]:
    """The SQL of the shown operations, by id; shortened where it is long."""
    data = _read(variable("texts", name))
    return _if_ours(lambda: dict(data["texts"])) or {} if data else {}


def write_texts(name: str, texts: Mapping[str, str]) -> None:
    _write(variable("texts", name), {"texts": dict(texts)})


def read_recorded(name: str) -> Recorded | None:
    return recorded_of(recorded_text(name))


def recorded_text(name: str) -> str | None:
    """The state as it is kept: whoever remembers something that followed from it asks whether it is
    still the same."""
    return _text(variable("state", name))


def recorded_of(text: str | None) -> Recorded | None:
    """What a kept state says; None where there is none, or another version wrote it."""
    data, lines = unpack(text, _STATE_FORMAT)
    return _if_ours(lambda: _decode_recorded(data, lines)) if data else None


def _decode_recorded(data: Mapping[str, Any], lines: Sequence[bytes]) -> Recorded:
    drift = {ObjectName(*name): why for *name, why in data["drift"]}
    return Recorded(data["serial"], _state_of(data, lines), drift, data["looked"], data.get("ends", ""))


def _state_of(data: Mapping[str, Any], lines: Sequence[bytes]) -> Records:
    """First what every plan compares, of all objects; then a line for each, read if it is looked at."""
    packed: dict[tuple[str, ...], tuple[Any, ...]] = {
        (schema, name): (digest, tuple([tuple(need) for need in needs]), line)
        for (schema, name, digest, needs), line in zip(data["objects"], lines, strict=True)
    }
    return Records(packed, _record)


def _record(line: bytes) -> DeployedObject:
    item, at, run = json.loads(line)
    return replace(decode_object(item), at=at, run=run)


def write_recorded(name: str, recorded: Recorded) -> None:
    found = sorted(recorded.state.items())
    objects = [[*owner, item.digest, item.dependencies] for owner, item in found]
    drift = [[*owner, why] for owner, why in sorted(recorded.drift.items())]
    told = {"serial": recorded.serial, "ends": recorded.ends, "looked": recorded.looked}
    data = {**told, "objects": objects, "drift": drift}
    lines = ([encode_object(item), item.at, item.run] for _, item in found)
    _write(variable("state", name), data, lines, _STATE_FORMAT)


def until_seen() -> float:
    """When the scheduler has seen that a task has ended which ends now."""
    return time.time() + _UNTIL_SEEN


def forget(name: str) -> None:
    """As if nothing had been kept."""
    for kept in ("view", "texts", "state"):
        Variable.delete(variable(kept, name))


def unpack(text: str | None, version: int = FORMAT) -> tuple[dict[str, Any], list[bytes]]:
    """What a Variable holds: a first line, and others that are not read yet; nothing where there is no
    Variable, or another version wrote it."""
    try:
        first, *lines = zlib.decompress(base64.b64decode(text or "", _LETTERS)).split(b"\n")
        data = json.loads(first)
    except (ValueError, zlib.error):
        return {}, []
    return (data, lines) if isinstance(data, dict) and data.get("v") == version else ({}, [])


def _read(key: str) -> dict[str, Any] | None:
    """What is kept under a key; None where nothing is, or another version wrote it."""
    return unpack(_text(key))[0] or None


def _text(key: str) -> str | None:
    """What a Variable holds now; None where there is none.

    A parse would get it from Airflow's cache of secrets, where that is in use, for a quarter of an hour
    after a run has written another: what is kept there is thrown away first.
    """
    from airflow.sdk.execution_time.cache import SecretCache

    SecretCache.invalidate_variable(key)
    text: str | None = Variable.get(key, default=None)
    if text is None and _exists(key):
        text = Variable.get(key, default=None)  # written a moment ago, or what was wrong has passed
        if text is None:
            raise Unreadable(f"Variable {key}: it is there, and Airflow does not give it. {_NO_GUESS}")
    return text


def _exists(key: str) -> bool:
    """Whether there is a Variable, where Airflow has none to give: it says the same of one that it failed
    to read. Without an Airflow to ask (``python dag.py``, ``airflow dags test``) there is none."""
    from airflow.sdk.execution_time import task_runner

    if getattr(task_runner, "SUPERVISOR_COMMS", None) is None:
        return False
    try:
        return key in Variable.keys(prefix=key)
    except Exception as error:  # whatever it is, nothing is known
        raise Unreadable(f"Variable {key} could not be read: {error}. {_NO_GUESS}") from error


def _if_ours(decode: Callable[[], T]) -> T | None:
    """What a Variable says; None where somebody else wrote it: a DAG is not to vanish because a person has
    edited one."""
    try:
        return decode()
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _write(key: str, data: Mapping[str, Any], more: Iterable[Any] = (), version: int = FORMAT) -> None:
    encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
    text = "\n".join([encode({"v": version, **data}), *map(encode, more)])
    packed = zlib.compress(text.encode("utf-8", "surrogatepass"), 6)
    Variable.set(key, base64.b64encode(packed, _LETTERS).decode("ascii"), description=_DESCRIPTION)

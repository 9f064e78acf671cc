"""The program that spark-submit runs for us: it calls back, and does what it is asked there.

It runs wherever the cluster puts it, on Python 3.8 and Spark 3.5 or newer, and imports nothing
of this package. The other end, ``submit``, imports the wire from here: frames, the proof that
both ends know the secret, and values as JSON.

It lives as long as its caller. When the connection ends without a word, whatever runs is
cancelled, and the program stops: nothing goes on unseen.
"""

# ruff: noqa: B905, UP017, UP035 (Python 3.8 has neither zip(strict=...) nor datetime.UTC)
from __future__ import annotations

import base64
import contextlib
import datetime
import decimal
import hashlib
import hmac
import json
import os
import re
import socket
import struct
import sys
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Callable

CALLER = "SPARKDEPLOY_CALLER"  # the variable that says where the caller is, and the secret
CALLER_FILE = "sparkdeploy-caller.json"  # the same as a file, where no variable gets to
_HELLO = 4096  # more than this is not read from somebody who has not proved who they are
_SILENCE = 30  # seconds after which a silent peer is asked whether it is still there
_STOP = 20.0  # seconds for Spark to stop, before it is left to the end of the process
_HIDING = ("TASK_WRITE_FAILED",)  # says where rows were written to; why that failed is its cause
_THREADS = 256  # requests at once; each has a thread of its own


# The wire


class Channel:
    """Frames of JSON over a socket: eight bytes of length, then the text."""

    def __init__(self, link: socket.socket) -> None:
        self._link = link
        self._sending = threading.Lock()
        _stay_awake(link)

    def send(self, message: dict[str, Any]) -> None:
        data = json.dumps(message).encode("utf-8")
        with self._sending:
            self._link.sendall(struct.pack(">Q", len(data)) + data)

    def receive(self, limit: int | None = None) -> dict[str, Any]:
        """The next frame. EOFError where the other end is gone."""
        (size,) = struct.unpack(">Q", self._read(8))
        if limit is not None and size > limit:
            raise EOFError("that is no peer of ours")
        found: dict[str, Any] = json.loads(self._read(size).decode("utf-8"))
        return found

    def _read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            some = self._link.recv(min(size - len(data), 1 << 20))
            if not some:
                raise EOFError("the connection has ended")
            data += some
        return bytes(data)

    def patience(self, seconds: float | None) -> None:
        self._link.settimeout(seconds)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._link.shutdown(socket.SHUT_RDWR)  # wakes whoever is reading
        self._link.close()


def shake_hands(channel: Channel, secret: str, me: str, peer: str) -> None:
    """Both ends prove that they know the secret, and neither says it. Raises EOFError."""
    mine = base64.b64encode(os.urandom(24)).decode("ascii")
    channel.send({"nonce": mine})
    theirs = str(channel.receive(_HELLO).get("nonce"))
    if theirs == mine:
        raise EOFError("that is an echo")
    channel.send({"proof": _proof(secret, me, mine, theirs)})
    proof = str(channel.receive(_HELLO).get("proof"))
    if not hmac.compare_digest(proof.encode("utf-8"), _proof(secret, peer, theirs, mine).encode("utf-8")):
        raise EOFError("the other end does not know the secret")


def _proof(secret: str, who: str, own: str, other: str) -> str:
    text = "\n".join((who, own, other)).encode("utf-8")
    return hmac.new(secret.encode("utf-8"), text, hashlib.sha256).hexdigest()


def _stay_awake(link: socket.socket) -> None:
    """Notice within two minutes that the other machine is gone; the system's default is hours."""
    if link.family not in (socket.AF_INET, socket.AF_INET6):
        return
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    limits = {
        "TCP_KEEPIDLE": _SILENCE,
        "TCP_KEEPINTVL": _SILENCE,
        "TCP_KEEPCNT": 3,
        "TCP_USER_TIMEOUT": 4 * _SILENCE * 1000,
    }
    for name, value in limits.items():
        if hasattr(socket, name):
            link.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


# Values as JSON: what JSON has is itself, anything else is a pair of tag and text or parts


def encode(value: Any, kind: Any) -> Any:
    """A value that Spark gave, by its Spark type: only that tells an instant from a local time."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    name = type(kind).__name__
    if name == "StructType":
        return ["row", [[f.name, encode(item, f.dataType)] for f, item in zip(kind.fields, value)]]
    if name == "ArrayType":
        return ["list", [encode(item, kind.elementType) for item in value]]
    if name == "MapType":
        return ["map", [[encode(k, kind.keyType), encode(v, kind.valueType)] for k, v in value.items()]]
    if name == "TimestampType":  # pyspark gives the driver's local time
        return ["instant", value.astimezone(datetime.timezone.utc).isoformat()]
    if isinstance(value, datetime.datetime):
        return ["datetime", value.isoformat()]
    if isinstance(value, datetime.date):
        return ["date", value.isoformat()]
    if isinstance(value, datetime.time):
        return ["time", value.isoformat()]
    if isinstance(value, datetime.timedelta):
        return ["duration", [value.days, value.seconds, value.microseconds]]
    if isinstance(value, decimal.Decimal):
        return ["decimal", str(value)]
    if isinstance(value, (bytes, bytearray)):
        return ["bytes", base64.b64encode(value).decode("ascii")]
    return str(value)


def decode(value: Any) -> Any:
    """The value again, as Spark Connect gives it: structs are dicts, instants are local times."""
    return _FROM[value[0]](value[1]) if isinstance(value, list) else value


def _decode_pairs(pairs: list[tuple[Any, Any]]) -> dict[Any, Any]:
    return {decode(key): decode(item) for key, item in pairs}


_FROM: dict[str, Callable[[Any], Any]] = {
    "row": _decode_pairs,
    "map": _decode_pairs,
    "list": lambda items: [decode(item) for item in items],
    "instant": lambda text: datetime.datetime.fromisoformat(text).astimezone().replace(tzinfo=None),
    "datetime": datetime.datetime.fromisoformat,
    "date": datetime.date.fromisoformat,
    "time": datetime.time.fromisoformat,
    "duration": lambda parts: datetime.timedelta(*parts),
    "decimal": decimal.Decimal,
    "bytes": base64.b64decode,
}


# What is asked


class Driver:
    """Answers requests, each in a thread of its own, and sessions by the names that they carry."""

    def __init__(self, channel: Channel, settings: dict[str, str]) -> None:
        self._channel = channel
        self._threads = ThreadPoolExecutor(_THREADS)
        self._spark: Future[Any] = self._threads.submit(_start, settings)
        self._sessions: dict[str, Any] = {}
        self._opening = threading.Lock()

    def serve(self) -> None:
        """Until the caller says that it is the end. EOFError or OSError where it is gone."""
        while True:
            request = self._channel.receive()
            if "end" in request:
                return
            self._threads.submit(self._answer, request)

    def stop(self) -> None:
        """Cancel what runs, and stop Spark; if it was never there, there is nothing to stop."""
        if not self._spark.done() or self._spark.exception() is not None:
            return
        context = self._spark.result().sparkContext
        context.cancelAllJobs()
        context.stop()

    def _answer(self, request: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"id": request["id"]}
        try:
            answer.update(self._do(request))
        except BaseException as error:
            answer["failure"] = _failure(error, self._spark)
        try:
            self._channel.send(answer)
        except OSError:
            return  # the caller is gone, which serve has seen
        if answer.get("failure", {}).get("transient"):
            self._channel.close()  # a Spark that has ended has nothing to offer

    def _do(self, request: dict[str, Any]) -> dict[str, Any]:
        name = request["session"]
        if "close" in request:
            with self._opening:
                self._sessions.pop(name, None)
            return {}
        if "cancel" in request:
            self._spark.result().sparkContext.cancelJobGroup(name)
            return {}
        session = self._session(name)
        session.sparkContext.setJobGroup(name, "sparkdeploy", interruptOnCancel=True)  # of this thread
        if "schema" in request:
            return {"schema": json.loads(session.sql(request["schema"])._jdf.schema().json())}
        frame = session.sql(request["sql"])
        return {"rows": [encode(row, frame.schema) for row in frame.collect()]}

    def _session(self, name: str) -> Any:
        spark = self._spark.result()
        with self._opening:
            if name not in self._sessions:
                self._sessions[name] = spark.newSession()
            return self._sessions[name]


def _start(settings: dict[str, str]) -> Any:
    """Spark, as spark-submit configured it. Its catalog is the one that lasts, unless it is told
    otherwise: what is deployed into a catalog in memory is gone with this program."""
    from pyspark import SparkConf
    from pyspark.sql import SparkSession

    conf = SparkConf()
    for key, value in settings.items():
        conf.set(key, value)
    if not conf.contains("spark.sql.catalogImplementation"):
        conf.set("spark.sql.catalogImplementation", "hive")
    return SparkSession.builder.config(conf=conf).getOrCreate()


# What went wrong


def _failure(error: BaseException, spark: Future[Any]) -> dict[str, Any]:
    """The condition and the message of a failure. It is transient where Spark itself has ended,
    so that nobody knows what became of the statement."""
    try:
        ended = spark.exception() is not None or spark.result().sparkContext._jsc.sc().isStopped()
        condition, message = _told(error)
    except Exception:
        ended, condition, message = True, "", "its Java is gone"
    return {"condition": condition, "message": message, "transient": bool(ended)}


def _told(error: BaseException) -> tuple[str, str]:
    """The first exception of a chain that has a condition; else the first and the last of it."""
    origin = getattr(error, "java_exception", None) or getattr(error, "_origin", None)
    messages: list[str] = []
    while origin is not None:
        condition = _condition(origin)
        message = origin.getMessage()
        if condition and condition not in _HIDING:
            return condition, message or condition
        messages.append(message or origin.getClass().getSimpleName())
        origin = origin.getCause()
    if not messages:
        return "", f"{type(error).__name__}: {error}"
    first, *causes = messages
    causes += re.findall(r"\nCaused by: [\w.$]+: (.*)", first)  # of a task, which is only told of
    first = first.split("\n\tat ")[0].rstrip()
    last = causes[-1].split("\n")[0] if causes else ""
    return "", first if last in first else f"{first}: {last}"


def _condition(origin: Any) -> str:
    for getter in ("getCondition", "getErrorClass"):  # the older name is the one of Spark 3
        try:
            return str(getattr(origin, getter)() or "")
        except Exception:  # there is no such method in this Spark, or none in any exception of Java
            continue
    return ""


def _caller() -> dict[str, Any]:
    text = os.environ.pop(CALLER, "")
    if not text:
        with open(CALLER_FILE, encoding="utf-8") as file:
            text = file.read()
    found: dict[str, Any] = json.loads(text)
    return found


def main() -> int:
    """Exit code 0 if the caller ended it."""
    caller = _caller()
    channel = Channel(socket.create_connection((caller["host"], caller["port"]), timeout=60))
    shake_hands(channel, caller["secret"], "driver", "caller")
    settings = channel.receive()["settings"]
    channel.patience(None)
    driver = Driver(channel, settings)
    code = 0
    try:
        driver.serve()
    except (EOFError, OSError) as error:
        print(f"sparkdeploy: stopping, for the caller is gone: {error}", file=sys.stderr)
        code = 1
    late = threading.Timer(_STOP, os._exit, [1])
    late.daemon = True
    late.start()
    try:
        driver.stop()
    except Exception as error:
        print(f"sparkdeploy: {error}", file=sys.stderr)
        code = 1
    return code


if __name__ == "__main__":
    try:
        status = main()
    except (EOFError, OSError) as problem:
        print(f"sparkdeploy: the caller cannot be reached: {problem}", file=sys.stderr)
        status = 1
    sys.stderr.flush()
    os._exit(status)  # waits for no thread: what still runs must not keep the program alive

"""Sessions on a cluster without Spark Connect: one driver, submitted with spark-submit.

The driver is started by the first statement, calls back to a socket of this process, and is
asked there. It ends with this process, however that ends. A driver that has died stays dead:
what it had been asked may or may not have been done, and whoever goes on must look first.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Literal, NoReturn, Self

from ..core.diagnostics import SparkDeployError, problem
from . import driver as wire
from .embedded import spark_home as installed_spark
from .failure import SparkFailure, plain
from .session import Row, Spark

DeployMode = Literal["client", "cluster"]

_START = 600.0  # seconds for a cluster to start a driver: queues are patient
_STOP = 30.0  # seconds for a driver to stop before it is ended by force
_HEED = 30.0  # seconds for a statement to end that is told to, before its driver is ended
_HANDS = 10.0  # seconds for a peer to prove that it is the driver
_SECRET = re.compile(r"password|passwd|secret|token|credential|key", re.IGNORECASE)
_SAID_TO_SPARK = ("spark.hadoop.", "spark.sql.")  # read by Spark itself, not by spark-submit
_TELLING = re.compile(r"Exception|Error|ERROR|sparkdeploy:")


class SubmitSessions:
    """Sessions in one driver on ``master`` (``spark://host:port``, ``yarn``, ``k8s://...``, ``local[*]``).

    ``command`` is a ready spark-submit with options of its own, and takes the place of
    ``spark_home`` and ``master``. In cluster mode, ``host`` is the address of this machine as the
    cluster sees it; what goes over that connection is authenticated, and not encrypted.
    """

    metastore = ""

    def __init__(
        self,
        master: str = "",
        *,
        conf: Mapping[str, str] | None = None,
        arguments: Sequence[str] = (),
        command: Sequence[str] | None = None,
        spark_home: Path | None = None,
        environment: Mapping[str, str] | None = None,
        deploy_mode: DeployMode = "client",
        host: str = "127.0.0.1",
    ) -> None:
        self.address = re.sub(r"//[^/@]*@", "//", master) or "spark-submit"
        self._conf = dict(conf or {})
        self._mode, self._host = deploy_mode, host
        self._environment = {**os.environ, **(environment or {})}
        if command is not None:
            self._command = [*command, *arguments]
        else:
            self._command = [
                *_spark_submit(spark_home, self._environment),
                *("--master", master, "--deploy-mode", deploy_mode, "--name", "sparkdeploy", *arguments),
            ]
        self._names: dict[str, str] = {}
        self._told: dict[str, float] = {}  # since when a session is told to stop
        self._naming = threading.Lock()
        self._starting = threading.Lock()
        self._driver: _Driver | None = None
        self._failed: SparkFailure | None = None
        self._closed = False

    def __repr__(self) -> str:
        return f"SubmitSessions({self.address!r})"

    def open(self, key: str = "") -> Spark:
        """A session; nothing is sent before its first statement."""
        with self._naming:
            name = self._names.setdefault(key, str(uuid.uuid4())) if key else str(uuid.uuid4())
        return _SubmitSpark(self, key, name)

    def settle(self, key: str) -> bool:
        """Stop what this process has running in the session of ``key``: its jobs first; where that
        does not help for long, with the whole driver. Nobody can tell what the driver of another
        process is doing."""
        with self._naming:
            name = self._names.get(key)
            since = self._told.setdefault(name, time.monotonic()) if name else 0.0
        if name and self._driver is not None:
            if time.monotonic() - since > _HEED:
                self._driver.end("the statement did not stop when it was told to, so its driver was ended")
            else:
                with contextlib.suppress(SparkFailure):
                    self._driver.ask({"session": name, "cancel": True})
        return False

    def close(self) -> None:
        """End the driver. Nothing can be asked afterwards."""
        with self._starting:
            self._closed = True
            if self._driver is not None:
                self._driver.end()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """An answer of the driver, which is started if there has been none."""
        return self._running().ask(request)

    def forget(self, key: str, name: str) -> None:
        """The session of a name has ended, and its key is free again."""
        with self._naming:
            self._told.pop(name, None)
            if self._names.get(key) == name:
                del self._names[key]
        if self._driver is not None:
            with contextlib.suppress(SparkFailure):
                self._driver.ask({"session": name, "close": True})

    def knows(self, key: str, name: str) -> bool:
        with self._naming:
            return not key or self._names.get(key) == name

    def _running(self) -> _Driver:
        with self._starting:
            if self._closed:
                raise SparkFailure("these sessions are closed", transient=True)
            if self._failed is not None:
                raise _again(self._failed)
            if self._driver is None:
                try:
                    self._driver = _Driver(
                        self._command, self._conf, self._environment, self._mode, self._host
                    )
                except SparkFailure as failure:
                    self._failed = failure
                    raise
            return self._driver


class _SubmitSpark:
    """One session in the driver."""

    def __init__(self, sessions: SubmitSessions, key: str, name: str) -> None:
        self._sessions, self._key, self._name = sessions, key, name
        self._closed = False

    def sql(self, text: str) -> list[Row]:
        return [wire.decode(row) for row in self._ask({"sql": text})["rows"]]

    def schema(self, query: str) -> dict[str, Any]:
        found: dict[str, Any] = self._ask({"schema": query})["schema"]
        return found

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._sessions.forget(self._key, self._name)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if self._closed or not self._sessions.knows(self._key, self._name):
            raise SparkFailure("this session was closed", transient=True)
        return self._sessions.ask({"session": self._name, **request})


class _Driver:
    """The process of spark-submit, and the connection that came back from it."""

    def __init__(
        self,
        command: Sequence[str],
        conf: Mapping[str, str],
        environment: Mapping[str, str],
        mode: DeployMode,
        host: str,
    ) -> None:
        self._mode = mode
        self._hidden = sorted(_secrets(command, conf), key=len, reverse=True)
        self._numbers = itertools.count(1)
        self._waiting: dict[int, Future[dict[str, Any]]] = {}
        self._dead: SparkFailure | None = None
        self._state = threading.Lock()
        self._folder = Path(tempfile.mkdtemp(prefix="sparkdeploy-submit-"))  # 0700
        self.log = self._folder / "spark-submit.log"
        said = {key: value for key, value in conf.items() if _is_said_to_spark(key)}
        secret = secrets.token_hex(32)
        try:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            with socket.create_server((host, 0), family=family) as listener:
                caller = json.dumps({"host": host, "port": listener.getsockname()[1], "secret": secret})
                self._process = self._submit(command, conf, environment, caller)
                try:
                    self._channel = self._accept(listener, secret)
                    self._channel.send({"settings": said})
                except BaseException:  # also of somebody who does not want to wait any longer
                    self._process.terminate()
                    raise
        except OSError as error:
            raise SparkFailure(f"the driver cannot call back: {error}") from None
        finally:
            (self._folder / wire.CALLER_FILE).unlink(missing_ok=True)
        threading.Thread(target=self._read, name="sparkdeploy-submit", daemon=True).start()
        threading.Thread(target=self._watch, name="sparkdeploy-watch", daemon=True).start()

    def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        answer: Future[dict[str, Any]] = Future()
        number = next(self._numbers)
        with self._state:
            if self._dead is not None:
                raise _again(self._dead)
            self._waiting[number] = answer
        with contextlib.suppress(OSError):  # the reader sees it too, and knows more
            self._channel.send({"id": number, **request})
        found = answer.result()
        failure = found.get("failure")
        if failure is not None:
            raise SparkFailure(self._shown(plain(failure["message"])), condition=failure["condition"])
        return found

    def end(self, why: str = "these sessions are closed") -> None:
        """Ask the driver to stop, and see to it that it does. Its log is kept if it went wrong."""
        with self._state:
            well = self._dead is None
            self._dead = self._dead or SparkFailure(why, transient=True)
        with contextlib.suppress(OSError):
            self._channel.send({"end": True})
        self._end_process()
        self._channel.close()
        if well:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _submit(
        self,
        command: Sequence[str],
        conf: Mapping[str, str],
        environment: Mapping[str, str],
        caller: str,
    ) -> subprocess.Popen[bytes]:
        # A driver that failed must not be started again by the cluster: it would be nobody's.
        settings = {"spark.ui.showConsoleProgress": "false", "spark.yarn.maxAppAttempts": "1", **conf}
        options = [f"{key}={value}" for key, value in settings.items() if not _is_said_to_spark(key)]
        line = [*command, *(part for option in options for part in ("--conf", option))]
        environment = dict(environment)
        if self._mode == "client":
            environment[wire.CALLER] = caller  # readable by this user only, unlike a command line
        else:
            line += ["--files", str(_private(self._folder / wire.CALLER_FILE, caller))]
        with self.log.open("wb") as log:
            try:
                return subprocess.Popen(
                    [*line, wire.__file__],
                    env=environment,
                    cwd=self._folder,  # Derby and Hive write where they are started
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,  # Ctrl-C is ours to handle
                )
            except OSError as error:
                raise SparkFailure(f"{line[0]} cannot be run: {error.strerror}") from None

    def _accept(self, listener: socket.socket, secret: str) -> wire.Channel:
        """The connection of the driver. Anybody may connect: who does not know the secret is left."""
        listener.settimeout(0.2)
        until = time.monotonic() + _START
        while time.monotonic() < until:
            code = self._process.poll()
            if code is not None and (self._mode == "client" or code != 0):
                raise self._why(f"spark-submit ended with exit code {code}")
            try:
                link, _ = listener.accept()
            except TimeoutError:
                continue
            channel = wire.Channel(link)
            channel.patience(_HANDS)
            try:
                wire.shake_hands(channel, secret, "caller", "driver")
            except (EOFError, OSError, ValueError):
                channel.close()
                continue
            channel.patience(None)
            return channel
        raise self._why(f"the driver did not start within {_START:.0f} s")

    def _read(self) -> None:
        """Hand the answers out until there are no more."""
        what = "the driver of Spark has ended"
        try:
            while True:
                answer = self._channel.receive()
                failure = answer.get("failure")
                if failure is not None and failure["transient"]:
                    what = f"{what}: {self._shown(plain(failure['message']))}"
                    continue  # it hangs up next, and then everybody is told
                with self._state:
                    waiting = self._waiting.pop(answer["id"], None)
                if waiting is not None:
                    waiting.set_result(answer)
        except (EOFError, OSError, ValueError):
            self._lost(what)

    def _watch(self) -> None:
        """A driver that lost its Java may not know it yet."""
        if self._process.wait() != 0 or self._mode == "client":
            time.sleep(0.5)  # what it said last is on its way
            self._channel.close()

    def _lost(self, what: str) -> None:
        with self._state:
            if self._dead is not None:  # it was told to end
                what = str(self._dead)
        self._end_process()  # its last words are in the log then
        failure = self._why(what)
        with self._state:
            self._dead = self._dead or failure
            waiting, self._waiting = list(self._waiting.values()), {}
        for answer in waiting:
            answer.set_exception(_again(self._dead))

    def _why(self, what: str) -> SparkFailure:
        """The failure that tells why, in the last words of the log."""
        told = [self._shown(line) for line in _last_words(self.log)]
        message = "\n    ".join([f"{what}; it said last:" if told else what, *told])
        return SparkFailure(f"{message}\n    All of it: {self.log}", transient=True)

    def _end_process(self) -> None:
        """Wait for the end of spark-submit, which follows that of the driver; then see to it."""
        for end in (None, self._process.terminate, self._process.kill):
            if end is not None:
                end()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_STOP)
                return

    def _shown(self, text: str) -> str:
        """A text without the values of settings that look like secrets."""
        for value in self._hidden:
            text = text.replace(value, "***")
        return text


def _again(failure: SparkFailure) -> SparkFailure:
    """The same failure for another thread: an exception that is raised twice mixes its traces."""
    return SparkFailure(str(failure), condition=failure.condition, transient=failure.transient)


def _spark_submit(home: Path | None, environment: dict[str, str]) -> list[str]:
    """The spark-submit that is meant: of the given home, of SPARK_HOME, on PATH, or of pyspark."""
    home = home or (Path(environment["SPARK_HOME"]) if environment.get("SPARK_HOME") else None)
    if home is not None:
        environment["SPARK_HOME"] = str(home)
        found = home / "bin" / "spark-submit"
        if not found.is_file():
            _no_spark_submit(f"there is no {found}")
        return [str(found)]
    on_path = shutil.which("spark-submit", path=environment.get("PATH"))
    if on_path:
        return [on_path]
    try:
        found = installed_spark() / "bin" / "spark-submit"
    except SparkDeployError:
        _no_spark_submit("SPARK_HOME is not set, and there is none on PATH")
    environment["SPARK_HOME"] = str(found.parents[1])
    environment.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    return [str(found)]


def _no_spark_submit(why: str) -> NoReturn:
    raise problem(
        "SD708",
        f"spark-submit was not found: {why}",
        advice="Set SPARK_HOME to the Spark of the cluster, or put its spark-submit on PATH.",
    )


def _is_said_to_spark(key: str) -> bool:
    """Whether a setting is told to the driver rather than to spark-submit, whose command line
    everybody on the machine can read."""
    return bool(_SECRET.search(key)) and key.startswith(_SAID_TO_SPARK)


def _secrets(command: Sequence[str], conf: Mapping[str, str]) -> set[str]:
    """The values of all settings that look like secrets, of ours and of a ready command."""
    pairs = (part.removeprefix("--conf=").partition("=") for part in command)
    named = [*conf.items(), *((key, value) for key, _, value in pairs)]
    return {value for key, value in named if _SECRET.search(key) and value not in ("", "true", "false")}


def _private(path: Path, text: str) -> Path:
    with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _last_words(log: Path) -> list[str]:
    """The lines of a log that tell most: those of errors, without their stack traces."""
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    lines = [line[:240] for line in text.splitlines() if line.strip() and not re.match(r"\s+at |\t", line)]
    telling = [line for line in lines if _TELLING.search(line)]
    return list(dict.fromkeys(telling or lines))[-4:]

"""The embedded Spark: one Connect server per warehouse folder, shared by every process of the machine.

It is started when somebody asks for it, from the installed pyspark, and goes on when they
leave. The folder holds everything: ``tables``, the catalog (``metastore``, Hive on Derby) and
``server`` with the settings, the log, and the file that says where the server listens.

A server is known by the id of its folder, which is in its command line and among its settings.
So a process is ours if it carries the id, and an answer is ours if it names it; the number of
a process or a port that somebody else has taken meanwhile is never mistaken for it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path

from ..core.diagnostics import SparkDeployError, problem
from ..core.names import quote_literal
from .embedded import catalog_url, command, environment, settings, spark_home, write_settings
from .java import require_java
from .processes import carrying
from .session import ConnectSessions, Sessions, SparkFailure

OnWait = Callable[[float], None]
"""Called a few times a second while a server starts, with the seconds so far."""

_START = 180.0  # seconds until a server that does not answer is given up
_SILENT = 60.0  # seconds until a server that used to answer is replaced
_BUSY = 600.0  # seconds until somebody else has started or stopped it: more than both can take
_STOP = 20.0  # seconds to close the catalog before the server is ended by force
_PAUSE = 0.2
_ID = "spark.sparkdeploy.server"
_FOLDERS = uuid.UUID("0c0b6c8e-4d7a-5a0e-8f0e-3a5a9a1f6b42")  # of the paths that become ids


@dataclass(frozen=True, slots=True)
class Server:
    """The server that was started last in a folder. Whether it runs is asked, never remembered."""

    warehouse: Path
    port: int
    started: float
    metastore: str  # the database of its catalog; empty where settings put the catalog elsewhere

    @property
    def address(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    @property
    def log(self) -> Path:
        return _folder(self.warehouse) / "server.log"

    @property
    def sessions(self) -> ConnectSessions:
        return ConnectSessions(self.address, metastore=self.metastore)

    @property
    def pids(self) -> tuple[int, ...]:
        """Its processes: one, or a few while it is being launched."""
        return _processes(self.warehouse)

    def answers(self) -> bool:
        """Does this very server answer, rather than whatever has its port now?"""
        try:
            return self.sessions.setting(_ID) == _id(self.warehouse)
        except SparkFailure:
            return False


def local_sessions(warehouse: Path, on_wait: OnWait | None = None) -> Sessions:
    """Sessions on the server of a warehouse folder, which is started if it does not run."""
    return start(warehouse, on_wait).sessions


def start(warehouse: Path, on_wait: OnWait | None = None, extra: Mapping[str, str] | None = None) -> Server:
    """The server of a folder: the one that answers, or a new one. ``extra`` settings are for a new one."""
    spark_home()  # says what to install before anything else goes wrong
    folder = _folder(warehouse)
    folder.mkdir(parents=True, exist_ok=True)
    begun = time.monotonic()

    def wait() -> None:
        if on_wait is not None:
            on_wait(time.monotonic() - begun)
        time.sleep(_PAUSE)

    server = status(warehouse)
    if server is not None:
        return server
    with _locked(folder, wait):
        server = _recorded(warehouse)  # by whoever had the lock before, or by one that was killed
        if server is not None and _ready(server, wait):
            return server
        _end(warehouse)
        server = _launch(warehouse, extra or {})
        if _ready(server, wait):
            return server
        _end(warehouse)
        raise _did_not_start(server)


def status(warehouse: Path) -> Server | None:
    """The server of a folder, if it answers."""
    server = _recorded(warehouse)
    return server if server is not None and server.pids and server.answers() else None


def may_run(warehouse: Path) -> bool:
    """Whether the folder has a server that lives; whether it answers takes longer to tell."""
    server = _recorded(warehouse)
    return server is not None and bool(server.pids)


def has_run(warehouse: Path) -> bool:
    """Whether there may be anything in the catalog of a folder: a server was started in it, or it was copied."""
    return warehouse.is_dir() and any(warehouse.iterdir())


def stop(warehouse: Path) -> bool:
    """End the server of a folder. False where none runs."""
    folder = _folder(warehouse)
    if not folder.is_dir():
        return False
    with _locked(folder, lambda: time.sleep(_PAUSE)):
        return _end(warehouse)


def _folder(warehouse: Path) -> Path:
    return warehouse.resolve() / "server"


def _record(warehouse: Path) -> Path:
    return _folder(warehouse) / "server.json"


def _id(warehouse: Path) -> str:
    return str(uuid.uuid5(_FOLDERS, str(warehouse.resolve())))


def _processes(warehouse: Path) -> tuple[int, ...]:
    return carrying(f"{_ID}={_id(warehouse)}")


def _recorded(warehouse: Path) -> Server | None:
    try:
        found = json.loads(_record(warehouse).read_text(encoding="utf-8"))
        port, started = int(found["port"]), float(found["started"])
        return Server(warehouse.resolve(), port, started, str(found.get("metastore", "")))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _launch(warehouse: Path, extra: Mapping[str, str]) -> Server:
    """Start a server and write down which, in the opposite order: if this process is killed
    between the two, the next one still finds what it left behind."""
    require_java()
    server = Server(
        warehouse.resolve(), _free_port(), time.time(), "" if extra else catalog_url(warehouse.resolve())
    )
    folder = _folder(warehouse)
    (folder / "tmp").mkdir(exist_ok=True)
    write_settings(folder / "conf", settings(server.warehouse, server.port) | dict(extra))
    record = {"port": server.port, "started": server.started, "metastore": server.metastore}
    _write(_record(warehouse), json.dumps(record))
    if server.log.exists():
        server.log.replace(server.log.with_suffix(".log.1"))
    # Through a shell that leaves at once: the server is nobody's child, so that it outlives who
    # asked for it, and a session of its own, so that their Ctrl-C does not reach it.
    with server.log.open("wb") as log:
        subprocess.run(
            ["/bin/sh", "-c", '"$@" &', "sh", *command(f"{_ID}={_id(warehouse)}")],
            cwd=folder,
            env=environment(folder / "conf"),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            check=True,
        )
    return server


def _ready(server: Server, wait: Callable[[], None]) -> bool:
    """Wait until a server answers and its catalog is open. False if it died, or takes too long:
    one that has just been started has longer than one that has stopped answering."""
    young = server.started + _START - time.time()
    until = time.monotonic() + max(_SILENT, min(young, _START))
    opened: Future[bool] = Future()
    threading.Thread(target=_open_catalog, args=(server, opened), daemon=True).start()
    while server.pids and time.monotonic() < until:
        if opened.done():
            return opened.result()
        wait()
    return False


def _open_catalog(server: Server, opened: Future[bool]) -> None:
    """Ask until the server answers, and then its catalog: the first question to that makes or
    opens the database, which takes seconds."""
    while server.pids:
        if _listens(server.port) and server.answers():
            try:
                with server.sessions.open() as spark:
                    spark.sql("SHOW DATABASES LIKE 'default'")
            except SparkFailure as failure:
                if not failure.transient:
                    return opened.set_result(False)
            else:
                return opened.set_result(True)
        time.sleep(_PAUSE)
    return opened.set_result(False)


def _listens(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
        return True
    return False


def _end(warehouse: Path) -> bool:
    """End a server: asked first, for the catalog's sake, then by force. False if there was none."""
    found = _processes(warehouse)
    server = _recorded(warehouse)
    if found and server is not None and server.answers():
        closing = threading.Thread(target=_close_catalog, args=(server,), daemon=True)
        closing.start()
        closing.join(_STOP)
    for number in (signal.SIGTERM, signal.SIGKILL):
        until = time.monotonic() + _STOP
        for pid in _processes(warehouse):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)
        while _processes(warehouse) and time.monotonic() < until:
            time.sleep(0.05)
    _record(warehouse).unlink(missing_ok=True)
    return bool(found)


def _close_catalog(server: Server) -> None:
    """Spark ends without closing Derby, which then has to recover at the next start. Derby is
    closed by a connection of a certain name, which always ends in an exception."""
    name = quote_literal(f"{catalog_url(server.warehouse)};shutdown=true")
    with contextlib.suppress(SparkFailure), server.sessions.open() as spark:
        spark.sql(f"SELECT java_method('java.sql.DriverManager', 'getConnection', {name})")


def _did_not_start(server: Server) -> SparkDeployError:
    try:
        lines = server.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    told = [line[:240] for line in lines if line.strip() and not line.startswith(("\t", "    at "))]
    return problem(
        "SD704",
        f"the embedded Spark in {server.warehouse} did not start",
        advice="\n    ".join([*list(dict.fromkeys(told))[-4:], f"All of it: {server.log}"]),
    )


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def _write(path: Path, text: str) -> None:
    """All of it or nothing, for readers that take no lock."""
    draft = path.with_name(f"{path.name}.{os.getpid()}")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)


@contextlib.contextmanager
def _locked(folder: Path, wait: Callable[[], None]) -> Iterator[None]:
    """One at a time starts or stops the server of a folder. A killed holder lets go."""
    until = time.monotonic() + _BUSY
    with (folder / "lock").open("ab") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > until:
                    raise _busy(folder) from None
                wait()
        yield


def _busy(folder: Path) -> SparkDeployError:
    return problem(
        "SD709",
        f"somebody else has been starting or stopping the embedded Spark in {folder.parent} for "
        f"{_BUSY / 60:.0f} minutes",
        advice=f"See who has {folder / 'lock'} open (fuser, lsof), end that process, and try again.",
    )

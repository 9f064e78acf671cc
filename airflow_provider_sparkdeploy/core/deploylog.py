"""The deploy log: append-only entries, and the state that they fold to.

``DeployLog`` is the interface; here is the one that needs nothing, a JSON-lines file. Every
append is one write and one fsync. A line that a crash tore was never acknowledged: it is
ignored, reported, and cut off by the next writer. One writer at a time; readers never wait.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import uuid
from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Protocol, Self, get_args, overload

from .diagnostics import Diagnostic, SparkDeployError, problem
from .names import ObjectName
from .snapshot import Snapshot, load_snapshot, save_snapshot
from .state import DeployedObject, Effect, apply_effect, decode_effect, encode_effect

try:
    import fcntl
except ImportError:  # not on Windows
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
_WORTH_A_SNAPSHOT = 200_000  # bytes
EntryType = Literal["run", "intent", "done", "failed", "noted"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the log.

    ``intent`` is written before an operation, ``done`` or ``failed`` after it; ``noted`` are
    effects without an operation (a baseline, an adoption); ``run`` opens or closes a run.
    """

    type: EntryType
    run: str
    at: str = ""
    operation: str = ""
    effects: tuple[Effect, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LogContent:
    """Everything a log says: its entries, what they fold to, the environment that they are
    about, and what was wrong with the log."""

    entries: Sequence[Entry] = ()
    state: Mapping[ObjectName, DeployedObject] = field(default_factory=dict)
    environment: str = ""
    problems: tuple[Diagnostic, ...] = ()


class DeployLog(Protocol):
    """Where entries go and come from."""

    def read(self) -> LogContent: ...

    def append(self, entries: Iterable[Entry]) -> None: ...


class FileLog:
    """A deploy log in a JSON-lines file. Use it as a context manager to write."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock: int | None = None
        self._cut_at: int | None = None

    def read(self) -> LogContent:
        """The whole content; an absent file is an empty log."""
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return LogContent()
        except OSError as error:
            raise _cannot("read", self.path, error) from None
        known = load_snapshot(self.path, data) if len(data) > _WORTH_A_SNAPSHOT else None
        content = read_lines(data, self.path.name, known)
        end = data.rfind(b"\n") + 1
        if end - (known.length if known else 0) > _WORTH_A_SNAPSHOT:
            save_snapshot(self.path, data[:end], content.environment, content.state)
        return content

    def __enter__(self) -> Self:
        """Exclude other writers, and cut off a torn line."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            # Two links to one log are one log, and have one lock.
            lock = os.open(f"{os.path.realpath(self.path)}.lock", os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise _cannot("write", self.path, error) from None
        try:
            self._take(lock)
            self._cut_torn_line()
        except OSError as error:
            os.close(lock)
            raise _cannot("write", self.path, error) from None
        except BaseException:
            os.close(lock)
            raise
        self._lock = lock
        return self

    def _take(self, lock: int) -> None:
        try:
            if fcntl:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.read(lock, 200).decode("utf-8", "replace").strip() or "another process"
            raise problem(
                "SD604",
                f"the deploy log {self.path} is being written by {holder}",
                advice="Wait for it to end; the lock is released when that process exits.",
            ) from None
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"process {os.getpid()} on {socket.gethostname()} since {now()}".encode(), 0)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    @property
    def identity(self) -> str:
        """What only one process at a time can be: the writer of this file on this machine. Whoever
        is it now knows that everybody who was it before has ended."""
        if self._lock is None or fcntl is None:
            return ""
        found = os.fstat(self._lock)
        return f"{_machine()}:{found.st_dev}:{found.st_ino}"

    def _cut_torn_line(self) -> None:
        with contextlib.suppress(FileNotFoundError), open(self.path, "rb+") as file:
            data = file.read()
            if data and not data.endswith(b"\n"):
                first, end, _ = data.partition(b"\n")
                read_lines(first + end, self.path.name)  # what is no log is not cut
                file.truncate(data.rfind(b"\n") + 1)
                os.fsync(file.fileno())

    def append(self, entries: Iterable[Entry]) -> None:
        """Write all entries at once; they are durable when this returns."""
        if self._lock is None:
            raise RuntimeError("append needs the writer's lock: use `with log:`")
        data = b"".join(encode_entry(entry) for entry in entries)
        try:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise _cannot("write", self.path, error) from None
        try:
            self._write(descriptor, data)
        except OSError as error:
            raise _cannot("write", self.path, error) from None
        finally:
            os.close(descriptor)

    def _write(self, descriptor: int, data: bytes) -> None:
        """All of ``data`` or nothing, also when it is interrupted."""
        if self._cut_at is not None:  # what a failed append left could not be cut off then
            os.ftruncate(descriptor, self._cut_at)
            self._cut_at = None
        size = os.fstat(descriptor).st_size
        try:
            _write_all(descriptor, data)
            os.fsync(descriptor)
            if size == 0:
                _sync_folder(self.path.parent)
        except BaseException:
            self._cut_at = size
            with contextlib.suppress(OSError):
                os.ftruncate(descriptor, size)
                self._cut_at = None
            raise


def _cannot(what: str, path: Path, error: OSError) -> SparkDeployError:
    advice = (
        "Pass the --log that baseline or apply wrote, and check its permissions."
        if what == "read"
        else "Nothing was recorded. Free space, or fix the path and its permissions, then run it again."
    )
    return problem("SD603", f"cannot {what} the deploy log {path}: {error.strerror}", advice=advice)


def _machine() -> str:
    """The running system: equal in its containers, different after a restart."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return f"{uuid.getnode():x}"


def _sync_folder(folder: Path) -> None:
    """A new file is durable once its folder is; not every filesystem can be asked for that."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def now() -> str:
    """The time as entries have it: UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def new_run(prefix: str) -> str:
    """The id of a run that no scheduler named."""
    return f"{prefix}-{datetime.now(UTC):%Y%m%dT%H%M%S}-{os.urandom(3).hex()}"


def encode_entry(entry: Entry) -> bytes:
    """One line of the file, with its line end."""
    data: dict[str, Any] = {"v": FORMAT, "type": entry.type, "run": entry.run, "at": entry.at or now()}
    if entry.operation:
        data["operation"] = entry.operation
    if entry.effects:
        data["effects"] = [encode_effect(effect) for effect in entry.effects]
    if entry.detail:
        data["detail"] = dict(entry.detail)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"  # an error message may hold anything


def decode_entry(data: Mapping[str, Any]) -> Entry:
    """The inverse of ``encode_entry``; ValueError, KeyError or TypeError when it is none."""
    if data["type"] not in get_args(EntryType):
        raise ValueError(data["type"])
    return Entry(
        type=data["type"],
        run=data["run"],
        at=data["at"],
        operation=data.get("operation", ""),
        effects=tuple([decode_effect(effect) for effect in data.get("effects", ())]),
        detail=data.get("detail", {}),
    )


def read_lines(data: bytes, name: str, known: Snapshot | None = None) -> LogContent:
    """The content of a log file. Only its last line may be torn.

    ``known`` is what the beginning of the file folds to, if that was found out before.
    """
    problems: list[Diagnostic] = []
    end = data.rfind(b"\n") + 1
    if not end and not _may_be_torn(data):
        raise SparkDeployError([_not_an_entry(name, 1)])
    if end < len(data):
        problems.append(
            Diagnostic(
                name,
                data.count(b"\n") + 1,
                "SD601",
                "the last line is torn: a writer was killed, and the entry was never acknowledged",
                "It is ignored, and cut off by the next write.",
                severity="warning",
            )
        )
        data = data[:end]
    state: MutableMapping[ObjectName, DeployedObject] = known.state if known else {}
    environment = known.environment if known else ""
    begin = known.length if known else 0
    if begin < end:
        for entry in _entries(data[begin:], name, data.count(b"\n", 0, begin)):
            environment = entry.detail.get("environment", environment)
            for effect in entry.effects:
                apply_effect(state, effect, entry.at, entry.run)
    entries = _LazyEntries(data) if end else ()
    return LogContent(entries, state, environment, tuple(problems))


def _may_be_torn(data: bytes) -> bool:
    """Whether a file without a whole line is the beginning of a log, and not of something else
    that was named by mistake. A crash may leave zeros."""
    start = f'{{"v":{FORMAT},'.encode()
    return data[: len(start)] == start[: len(data)] or not data.strip(b"\0")


class _LazyEntries(Sequence[Entry]):
    """The entries of a log, decoded when somebody looks: a plan needs only what they fold to."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._entries: list[Entry] | None = None

    def _all(self) -> list[Entry]:
        if self._entries is None:
            self._entries = [_decode_line(line) for line in self._data.split(b"\n") if line.strip()]
        return self._entries

    def __len__(self) -> int:
        return len(self._all())

    @overload
    def __getitem__(self, index: int) -> Entry: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Entry]: ...
    def __getitem__(self, index: int | slice) -> Entry | Sequence[Entry]:
        return self._all()[index]


def _decode_line(line: bytes) -> Entry:
    return decode_entry(json.loads(line))


def _entries(data: bytes, name: str, before: int) -> Iterator[Entry]:
    """The entries of whole lines; ``before`` lines came before them. All wrong lines are
    reported together, once every line was read."""
    problems: list[Diagnostic] = []
    formats: dict[str, Diagnostic] = {}
    loads = json.loads
    for number, line in enumerate(data.split(b"\n"), before + 1):
        if not line.strip():
            continue
        try:
            value = loads(line)
            found = value["v"]
            entry = decode_entry(value) if found == FORMAT else None
        except (ValueError, KeyError, TypeError, AttributeError, StopIteration, RecursionError):
            problems.append(_not_an_entry(name, number))
            continue
        if entry is None:
            formats.setdefault(str(found), _other_format(name, number, found))
        else:
            yield entry
    if problems or formats:
        raise SparkDeployError([*problems, *formats.values()])


def _not_an_entry(name: str, line: int) -> Diagnostic:
    advice = "Restore the file, or remove the line if you know what it was."
    return Diagnostic(name, line, "SD602", "not an entry of a deploy log", advice)


def _other_format(name: str, line: int, found: object) -> Diagnostic:
    advice = "Use the version of sparkdeploy that wrote it, or a newer one."
    message = f"the log has format {found}, this version reads {FORMAT}"
    return Diagnostic(name, line, "SD602", message, advice)

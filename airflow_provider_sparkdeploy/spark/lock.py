"""One writer per environment: a lock that every catalog can keep.

``CREATE TABLE <log schema>.lock_<n>`` succeeds for one client only, whatever the catalog. A
property of it names the holder. Numbers only grow: taking over a released or an expired lock
creates the next number, so a holder that was paused for too long sees a higher one and stops.
The newest lock table stays when it is released, as the memory of the last number.

Expiry is judged by the clocks of the clients. They must agree to well within ``TTL``. A lock
whose ``log`` only its writer can hold need not expire: whoever holds that log now knows that the
writer is gone.
"""

from __future__ import annotations

import contextlib
import getpass
import json
import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Self

from ..core.diagnostics import SparkDeployError, problem
from ..core.names import in_session_catalog
from .packing import pack, unpack
from .session import Row, Sessions, Spark, SparkFailure

TTL = 900.0  # seconds without a sign of life after which a lock may be taken over
_AGAIN = 5.0  # seconds until a heartbeat that did not reach Spark is tried again
_FRESH = 2 / 3  # of ``TTL``: a lock that has as much left is joined as it is, without writing to it
_RECENT = 0.5  # seconds since the last look at it that a statement may begin without another
_READING = frozenset({"select", "show", "describe", "desc", "use", "explain", "set"})
_TRIES = 50  # to take it, while others do so too
_PREFIX = "lock_"
_KEY = "sparkdeploy.lock"
_VALUE = re.compile(rf"\b{re.escape(_KEY)}=([0-9a-f]+)\b")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, or held it last. Times are seconds since the epoch; ``log`` is the
    identity of a deploy log that one process at a time can write, empty where there is none.
    ``before`` and ``changer`` are set by a run that only refreshes, or only records: the number of the last
    lock of one that did more, and that run. (Older versions did not write down the run.)"""

    number: int
    run: str
    who: str
    since: float
    until: float
    log: str = ""
    released: bool = False
    before: int | None = None
    changer: str = ""

    @property
    def changed(self) -> int:
        """The number of the last lock under which more than contents was changed."""
        return self.number if self.before is None else self.before

    @property
    def changed_by(self) -> str:
        """The run that had that lock; empty where nobody has written that down."""
        return self.run if self.before is None else self.changer

    def active(self, now: float) -> bool:
        return not self.released and now < self.until

    def __str__(self) -> str:
        return f"run {self.run} of {self.who}, since {_shown(self.since)}, until {_shown(self.until)}"


_KNOWN = frozenset(field.name for field in fields(Holder)) - {"number"}  # the table's name says it


class Lock:
    """The lock of one run: ``acquire`` it, ``check`` it before every statement. The end of a
    ``with`` releases it.

    Where it is too early to take it (a plan may turn out empty), ``look`` first: if another run
    has had it when it is acquired then, that is an error, because what was seen of the catalog
    may no longer hold. (One that ``refreshes`` and does nothing else is no such run.)
    """

    def __init__(
        self,
        sessions: Sessions,
        schema: str,
        run: str,
        *,
        log: str = "",
        refreshes: bool = False,
        ttl: float = TTL,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._sessions, self._schema, self._run, self._log = sessions, schema, run, log
        self._refreshes = refreshes
        self._ttl, self._clock = ttl, clock
        self._held: Holder | None = None
        self._seen: int | None = None
        self._looked = float("-inf")
        self._stop = threading.Event()
        self._beat: threading.Thread | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()

    def look(self) -> int:
        """An error if another run has it; otherwise remember who had it last: the number, which
        ``expect`` takes in another process of this run."""
        with self._sessions.open() as spark:
            newest = read_lock(spark, self._schema)
        self._refuse(newest)
        self._seen = newest.changed if newest else 0
        return self._seen

    def holder(self) -> str:
        """The run that has it now; empty where none has."""
        with self._sessions.open() as spark:
            newest = read_lock(spark, self._schema)
        return newest.run if newest is not None and newest.active(self._clock()) else ""

    @property
    def seen(self) -> int:
        """What ``look`` would find now, where the lock is held; 0 where it is not."""
        return self._held.changed if self._held else 0

    def expect(self, seen: int) -> None:
        """What ``look`` found in another process of this run."""
        self._seen = seen

    @contextlib.contextmanager
    def joined(self) -> Iterator[None]:
        """For one operation of a run that has several processes: hold the lock, and leave it to the
        others at the end. Who records the run releases it."""
        self.acquire()
        try:
            yield
        finally:
            self._held = None
            self._stop_beating()

    def acquire(self, *, late: bool = False) -> None:
        """Take the lock, or join the one that this run holds already. An error if another run does.

        ``late`` takes it also where another deployment ran meanwhile, for writing down what this one did
        before: what it has not done it must not do, now as before.
        """
        if self._held is not None:
            return
        with self._sessions.open() as spark:
            self._held = self._take(spark, late)
        self._stop.clear()
        self._beat = threading.Thread(target=self._heartbeat, name="sparkdeploy-lock", daemon=True)
        self._beat.start()

    def _take(self, spark: Spark, late: bool) -> Holder:
        for _ in range(_TRIES):
            locks = _locks(spark, self._schema)
            newest = max(locks, key=lambda holder: holder.number, default=None)
            now = self._clock()
            self._refuse(newest)
            number = newest.number if newest else 0
            changed = newest.changed if newest else 0
            # This run may have had the lock before: it expired, or was released at the end of a first attempt.
            changed_by = newest.changed_by if newest else ""
            outdated = self._seen is not None and changed != self._seen and changed_by != self._run
            if outdated and not late:
                raise problem(
                    "SD806",
                    f"another deployment ran meanwhile: {newest}",
                    advice="Nothing was changed by this one. Run it again: it plans from what is there now.",
                )
            if newest is not None and newest.run == self._run and newest.active(now):
                fresh = newest.until - now > self._ttl * _FRESH  # a heartbeat comes before the rest is over
                return newest if fresh else self._extended(spark, newest)
            taken = Holder(number + 1, self._run, _who(), now, now + self._ttl, self._log)
            if self._refreshes or outdated:
                taken = replace(taken, before=changed, changer=changed_by)
            try:
                spark.sql(_create(self._schema, taken))
            except SparkFailure as failure:
                if failure.condition == "SCHEMA_NOT_FOUND":
                    spark.sql(f"CREATE SCHEMA IF NOT EXISTS {in_session_catalog(self._schema)}")
                elif failure.condition != "TABLE_OR_VIEW_ALREADY_EXISTS":
                    raise
                continue  # somebody else was faster: look who
            for older in locks:
                spark.sql(f"DROP TABLE IF EXISTS {_table(self._schema, older.number)}")
            return taken
        raise problem(
            "SD801",
            f"the lock of this environment could not be taken in {_TRIES} tries: others were faster, or there is "
            f"a table {_PREFIX}<n> in {self._schema} that cannot be read",
            advice="Run it again. If that does not help, look at the tables of that schema.",
        )

    def _refuse(self, newest: Holder | None) -> None:
        if newest is None or newest.run == self._run or not newest.active(self._clock()):
            return
        if not self._log or newest.log != self._log:
            raise problem(
                "SD801",
                f"another deployment has the lock of this environment: {newest}",
                advice="Wait for it. If that process is surely gone: sparkdeploy unlock.",
            )

    def check(self, spark: Spark) -> None:
        """An error if the lock is no longer this run's: nothing more may be done."""
        held = self._held
        if held is None:
            raise _lost("it was never taken")
        if self._clock() >= held.until:
            raise _lost("it expired while this run was stopped or could not reach Spark")
        looked = time.monotonic()
        if _newest_number(spark, self._schema) != held.number:
            raise _lost(f"somebody took it over: {read_lock(spark, self._schema) or 'the lock is gone'}")
        self._looked = looked

    def look_again(self, spark: Spark) -> None:
        """``check``, unless one of the operations of this process has done so a moment ago."""
        if time.monotonic() - self._looked > _RECENT:
            self.check(spark)

    def watching(self, spark: Spark) -> Spark:
        """The session, which looks for the lock before every statement that changes anything."""
        return _Watched(self, spark)

    def release(self) -> None:
        """Let others have it. What cannot be released expires."""
        held, self._held = self._held, None
        self._stop_beating()
        if held is None:
            return
        try:
            with self._sessions.open() as spark:
                # If somebody has taken it over, this table is gone, or nobody looks at it any more.
                spark.sql(_set(self._schema, replace(held, released=True)))
        except SparkFailure:
            return

    def _stop_beating(self) -> None:
        self._stop.set()
        if self._beat is not None:
            self._beat.join(_AGAIN)

    def _heartbeat(self) -> None:
        pause = self._ttl / 3
        while not self._stop.wait(pause):
            held = self._held
            if held is None or self._clock() >= held.until:
                return  # lost: never revive it, `check` says so
            try:
                with self._sessions.open() as spark:
                    if _newest_number(spark, self._schema) != held.number:
                        return
                    extended = self._extended(spark, held)
                pause = self._ttl / 3
            except SparkFailure:
                pause = min(_AGAIN, self._ttl / 3)  # until it has expired there is time
                continue
            if not self._stop.is_set():
                self._held = extended

    def _extended(self, spark: Spark, held: Holder) -> Holder:
        extended = replace(held, until=self._clock() + self._ttl)
        spark.sql(_set(self._schema, extended))
        return extended


class _Watched:
    """A session in which nothing is changed without the lock. The one who made it ends it."""

    def __init__(self, lock: Lock, spark: Spark) -> None:
        self._lock, self._spark = lock, spark

    def sql(self, text: str) -> list[Row]:
        if text.split(None, 1)[0].casefold() not in _READING:
            self._lock.look_again(self._spark)
        return self._spark.sql(text)

    def schema(self, query: str) -> dict[str, Any]:
        return self._spark.schema(query)

    def close(self) -> None: ...

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...


def read_lock(spark: Spark, schema: str) -> Holder | None:
    """The newest lock of an environment; None where there never was one."""
    return max(_locks(spark, schema), key=lambda holder: holder.number, default=None)


def force_unlock(spark: Spark, schema: str) -> Holder | None:
    """Take the lock away from whoever holds it; that run stops before its next statement."""
    holder = read_lock(spark, schema)
    if holder is None or holder.released:
        return None
    now = time.time()
    spark.sql(_create(schema, Holder(holder.number + 1, "unlock", _who(), now, now, released=True)))
    spark.sql(f"DROP TABLE IF EXISTS {_table(schema, holder.number)}")
    return holder


def _locks(spark: Spark, schema: str) -> list[Holder]:
    """All lock tables: one, but for a moment when somebody takes it over. One question for the
    names and the holders, in the text that Spark prints: the property has nothing that it breaks."""
    found = []
    rows = _rows(spark, f"SHOW TABLE EXTENDED IN {in_session_catalog(schema)} LIKE '{_PREFIX}*'")
    for row in rows:
        number = _number(row["tableName"])
        value = _VALUE.search(row["information"])
        if number and value:
            found.append(_holder(number, json.loads(unpack(value.group(1)))))
        elif number:
            found.append(Holder(number, "", "somebody", 0, float("inf")))
    return found


def _holder(number: int, values: dict[str, Any]) -> Holder:
    """What another version has written may have less, or more."""
    return Holder(number, **{key: value for key, value in values.items() if key in _KNOWN})


def _newest_number(spark: Spark, schema: str) -> int:
    rows = _rows(spark, f"SHOW TABLES IN {in_session_catalog(schema)} LIKE '{_PREFIX}*'")
    return max((_number(row["tableName"]) for row in rows), default=0)


def _rows(spark: Spark, question: str, tries: int = 50) -> list[Row]:
    try:
        return spark.sql(question)
    except SparkFailure as failure:
        if failure.condition == "SCHEMA_NOT_FOUND":
            return []
        if failure.condition != "TABLE_OR_VIEW_NOT_FOUND" or tries == 1:
            raise
        return _rows(spark, question, tries - 1)  # dropped between its name and the rest


def _number(table: str) -> int:
    end = table[len(_PREFIX) :]
    return int(end) if end.isdecimal() else 0


def _table(schema: str, number: int) -> str:
    return in_session_catalog(schema, f"{_PREFIX}{number}")


def _create(schema: str, holder: Holder) -> str:
    return f"CREATE TABLE {_table(schema, holder.number)} (nothing INT) USING parquet TBLPROPERTIES ({_property(holder)})"


def _set(schema: str, holder: Holder) -> str:
    return f"ALTER TABLE {_table(schema, holder.number)} SET TBLPROPERTIES ({_property(holder)})"


def _property(holder: Holder) -> str:
    values = {key: value for key, value in asdict(holder).items() if key in _KNOWN}
    if not holder.changer:
        del values["changer"]  # which older versions do not know
    return f"'{_KEY}' = '{pack(json.dumps(values).encode())}'"


def _who() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()} (process {os.getpid()})"


def _shown(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds") if at < 1e11 else "unlocked"


def _lost(why: str) -> SparkDeployError:
    return problem(
        "SD802",
        f"this run no longer has the lock: {why}",
        advice="It stopped before the next statement. Run it again: it goes on where it stopped.",
    )

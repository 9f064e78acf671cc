"""The lock of an environment, on a real catalog and with a clock of the test's own."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator

import pytest

from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.spark import lock as module
from airflow_provider_sparkdeploy.spark.lock import Lock, force_unlock, read_lock
from airflow_provider_sparkdeploy.spark.packing import pack
from airflow_provider_sparkdeploy.spark.session import Sessions, Spark, SparkFailure


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def spark(sessions: Sessions) -> Iterator[Spark]:
    with sessions.open() as opened:
        yield opened


def test_a_lock_has_one_holder_and_says_who(sessions: Sessions, spark: Spark, schema: str) -> None:
    with Lock(sessions, schema, "first") as first:
        first.acquire()
        first.check(spark)
        with pytest.raises(SparkDeployError, match=r"SD801.*run first of"):
            Lock(sessions, schema, "second").acquire()
        with pytest.raises(SparkDeployError, match=r"SD801.*run first of"):
            Lock(sessions, schema, "second").look()
    with Lock(sessions, schema, "second") as second:
        second.acquire()
        second.check(spark)


def test_operations_of_one_run_share_it(sessions: Sessions, spark: Spark, schema: str) -> None:
    with Lock(sessions, schema, "run") as one, Lock(sessions, schema, "run") as other:
        one.acquire()
        other.acquire()
        one.check(spark)
        other.check(spark)


def test_joining_writes_only_when_a_third_of_its_time_is_over(
    sessions: Sessions, spark: Spark, schema: str, clock: Clock
) -> None:
    def until() -> float:
        Lock(sessions, schema, "run", clock=clock).acquire()
        found = read_lock(spark, schema)
        assert found is not None
        return found.until

    first = until()
    clock.now += module.TTL * 0.3
    assert until() == first
    clock.now += module.TTL * 0.1
    assert until() == clock.now + module.TTL


def test_of_many_at_once_one_gets_it(sessions: Sessions, schema: str) -> None:
    locks = [Lock(sessions, schema, f"run {number}") for number in range(5)]
    refused: list[str] = []

    def take(lock: Lock) -> None:
        try:
            lock.acquire()
        except SparkDeployError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=take, args=(lock,)) for lock in locks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for lock in locks:
        lock.release()
    assert len(refused) == 4
    assert all("SD801" in text for text in refused)


def test_an_expired_lock_is_taken_over_and_its_holder_stops(
    sessions: Sessions, spark: Spark, schema: str, clock: Clock
) -> None:
    paused = Lock(sessions, schema, "paused", ttl=60, clock=clock)
    paused.acquire()
    clock.now += 61
    with pytest.raises(SparkDeployError, match=r"SD802.*expired"):
        paused.check(spark)
    with Lock(sessions, schema, "next", ttl=60, clock=clock) as taken:
        taken.acquire()
        clock.now -= 30  # also if its own clock has not noticed
        with pytest.raises(SparkDeployError, match=r"SD802.*run next of"):
            paused.check(spark)
        paused.release()
        taken.check(spark)


def test_who_holds_the_log_of_a_dead_holder_need_not_wait(
    sessions: Sessions, spark: Spark, schema: str
) -> None:
    Lock(sessions, schema, "killed", log="the log").acquire()
    with pytest.raises(SparkDeployError, match="SD801"):
        Lock(sessions, schema, "other", log="another log").acquire()
    with Lock(sessions, schema, "next", log="the log") as taken:
        taken.acquire()
        taken.check(spark)


def test_what_was_seen_before_another_run_no_longer_counts(sessions: Sessions, schema: str) -> None:
    with Lock(sessions, schema, "slow") as slow:
        slow.look()
        with Lock(sessions, schema, "quick") as quick:
            quick.acquire()
        with pytest.raises(SparkDeployError, match=r"SD806.*run quick of"):
            slow.acquire()
        slow.look()
        slow.acquire()


def test_unlock_takes_it_away_for_good(sessions: Sessions, spark: Spark, schema: str) -> None:
    holder = Lock(sessions, schema, "holder")
    holder.acquire()
    taken = force_unlock(spark, schema)
    assert taken is not None
    assert taken.run == "holder"
    assert force_unlock(spark, schema) is None
    with pytest.raises(SparkDeployError, match="SD802"):
        holder.check(spark)
    holder.release()
    with Lock(sessions, schema, "next") as following:
        following.acquire()


def test_one_table_is_left_of_many_locks(sessions: Sessions, spark: Spark, schema: str) -> None:
    for number in range(3):
        with Lock(sessions, schema, f"run {number}") as lock:
            lock.acquire()
    assert [row["tableName"] for row in spark.sql(f"SHOW TABLES IN {schema}")] == ["lock_3"]
    found = read_lock(spark, schema)
    assert found is not None
    assert found.released


def test_no_lock_where_there_is_no_schema(sessions: Sessions, spark: Spark, schema: str) -> None:
    assert read_lock(spark, f"{schema}_nowhere") is None
    name = f"{schema}_new"
    with Lock(sessions, name, "first") as lock:
        lock.acquire()
        lock.check(spark)
    spark.sql(f"DROP SCHEMA {name} CASCADE")


class Away:
    """Sessions that cannot be opened for a while."""

    def __init__(self, sessions: Sessions, failures: int) -> None:
        self.sessions, self.failures = sessions, failures
        self.tried = threading.Event()
        self.metastore = sessions.metastore

    def open(self, key: str = "") -> Spark:
        if threading.current_thread().name == "sparkdeploy-lock" and self.failures:
            self.failures -= 1
            raise SparkFailure("away", transient=True)
        if threading.current_thread().name == "sparkdeploy-lock":
            self.tried.set()
        return self.sessions.open(key)

    def settle(self, key: str) -> bool:
        return self.sessions.settle(key)


def test_a_heartbeat_goes_on_when_spark_was_away(
    sessions: Sessions, spark: Spark, schema: str, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_AGAIN", 0.05)
    away = Away(sessions, failures=3)
    with Lock(away, schema, "run", ttl=0.3, clock=clock) as lock:
        lock.acquire()
        assert away.tried.wait(60)
        assert away.failures == 0
        lock.check(spark)


def test_a_lost_lock_is_never_revived(sessions: Sessions, spark: Spark, schema: str, clock: Clock) -> None:
    lock = Lock(sessions, schema, "run", ttl=0.3, clock=clock)
    lock.acquire()
    clock.now += 1
    assert lock._beat is not None
    lock._beat.join(30)
    assert not lock._beat.is_alive()
    found = read_lock(spark, schema)
    assert found is not None
    assert found.until < clock.now
    lock.release()


def test_a_refresh_in_between_is_no_deployment(sessions: Sessions, spark: Spark, schema: str) -> None:
    """Contents were computed anew; what was planned still holds. A deployment is another matter."""
    waiting = Lock(sessions, schema, "waiting")
    seen = waiting.look()
    for number in range(2):
        with Lock(sessions, schema, f"refresh {number}", refreshes=True) as refresh:
            refresh.acquire()
            assert refresh.seen == seen
    with waiting:
        waiting.acquire()
        waiting.check(spark)
        assert waiting.seen > seen
    late = Lock(sessions, schema, "late")
    late.expect(seen)
    with Lock(sessions, schema, "refresh after it", refreshes=True) as refresh:
        refresh.acquire()
    with pytest.raises(SparkDeployError, match="SD806"):
        late.acquire()


def test_a_run_goes_on_after_a_refresh(sessions: Sessions, spark: Spark, schema: str) -> None:
    """Its first attempt failed and was recorded. A refresh ran, and then somebody cleared what failed."""
    first = Lock(sessions, schema, "deployment")
    seen = first.look()
    with first:
        first.acquire()
    for number in range(2):
        with Lock(sessions, schema, f"refresh {number}", refreshes=True) as refresh:
            refresh.acquire()
    again = Lock(sessions, schema, "deployment")
    again.expect(seen)
    with again:
        again.acquire()
        again.check(spark)
    with Lock(sessions, schema, "another deployment") as other:
        other.acquire()
    with Lock(sessions, schema, "refresh after it", refreshes=True) as refresh:
        refresh.acquire()
    again.expect(seen)
    with pytest.raises(SparkDeployError, match="SD806"):
        again.acquire()


def test_a_run_goes_on_after_a_refresh_that_took_its_expired_lock(
    sessions: Sessions, spark: Spark, schema: str, clock: Clock
) -> None:
    running = Lock(sessions, schema, "deployment", ttl=60, clock=clock)
    seen = running.look()
    with running.joined():
        pass
    clock.now += 61
    with Lock(sessions, schema, "refresh", refreshes=True, ttl=60, clock=clock) as refresh:
        refresh.acquire()
    running.expect(seen)
    with running.joined():
        running.check(spark)


def test_a_run_that_is_recorded_late_goes_on_with_nothing(
    sessions: Sessions, spark: Spark, schema: str
) -> None:
    """It failed, another deployment ran, and somebody clears it, with its recording, as often as they like."""
    early = Lock(sessions, schema, "early")
    seen = early.look()
    with early:
        early.acquire()
    with Lock(sessions, schema, "other") as other:
        other.acquire()
    waiting = Lock(sessions, schema, "waiting")
    waiting.look()
    for _ in range(2):
        again = Lock(sessions, schema, "early")
        again.expect(seen)
        with pytest.raises(SparkDeployError, match="SD806"):
            again.acquire()
        with again:
            again.acquire(late=True)
            again.check(spark)
            joining = Lock(sessions, schema, "early")
            joining.expect(seen)
            with pytest.raises(SparkDeployError, match="SD806"):
                joining.acquire()
    with waiting:  # what was only written down is no deployment
        waiting.acquire()
        waiting.check(spark)


def test_a_lock_of_an_older_or_newer_version_is_read(sessions: Sessions, spark: Spark, schema: str) -> None:
    """That of a refresh did not name the last deployment: nobody can tell that it was this run."""
    with Lock(sessions, schema, "deployment") as first:
        first.acquire()
    written = {
        "run": "refresh",
        "who": "somebody",
        "since": 0,
        "until": 1,
        "log": "",
        "released": True,
        "before": 1,
    }
    for number, more in ((2, {}), (3, {"added": "later"})):
        value = pack(json.dumps({**written, **more}).encode())
        spark.sql(
            f"CREATE TABLE {schema}.lock_{number} (nothing INT) USING parquet "
            f"TBLPROPERTIES ('sparkdeploy.lock' = '{value}')"
        )
        found = read_lock(spark, schema)
        assert found is not None
        assert (found.number, found.run, found.changed, found.changed_by) == (number, "refresh", 1, "")
        again = Lock(sessions, schema, "deployment")
        again.expect(0)
        with pytest.raises(SparkDeployError, match="SD806"):
            again.acquire()
    with Lock(sessions, schema, "next") as following:
        assert following.look() == 1
        following.acquire()

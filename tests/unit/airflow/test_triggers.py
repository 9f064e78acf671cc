"""When the doorbells ring, and what they remember."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from airflow.sdk import AssetWatcher

from airflow_provider_sparkdeploy.airflow import drifting, keeping, triggers
from airflow_provider_sparkdeploy.airflow.drifting import Look
from airflow_provider_sparkdeploy.airflow.hook import SparkDeployHook
from airflow_provider_sparkdeploy.airflow.keeping import View
from airflow_provider_sparkdeploy.airflow.sensors import RepositoryChangeSensor
from airflow_provider_sparkdeploy.airflow.shown import Shown
from airflow_provider_sparkdeploy.airflow.triggers import CatalogDriftTrigger, RepositoryChangeTrigger
from airflow_provider_sparkdeploy.core.fingerprint import repository_fingerprint
from airflow_provider_sparkdeploy.spark.failure import SparkFailure
from airflow_provider_sparkdeploy.spark.submit import SubmitSessions

FAST = 0.01


class Store:
    """What Airflow keeps of an asset."""

    def __init__(self) -> None:
        self.kept: dict[str, Any] = {}

    async def aget(self, key: str) -> Any:
        return self.kept.get(key)

    async def aset(self, key: str, value: Any) -> None:
        self.kept[key] = value


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    edit(folder, "1")
    return folder


def edit(folder: Path, text: str) -> str:
    file = folder / "a" / "view" / "v.sql"
    file.parent.mkdir(parents=True, exist_ok=True)
    draft = folder.with_suffix(".draft")
    draft.write_text(f"CREATE VIEW ${{a}}.v AS SELECT {text} AS x;\n")
    draft.replace(file)  # at once: a look may fall between the opening of a file and its writing
    return repository_fingerprint(folder)


def rings(
    trigger: RepositoryChangeTrigger,
    *steps: Callable[[], object],
    store: Store | None = None,
    looks: int = 3,
) -> list[str]:
    """The fingerprints that it rings with while the steps are done; after each it looks a few times."""
    heard: list[str] = []
    looked: list[None] = []
    trigger.asset_state_store = store  # type: ignore[assignment]
    news = trigger.news

    def counted(told: Any) -> Any:
        try:
            return news(told)
        finally:
            looked.append(None)

    trigger.news = counted  # type: ignore[method-assign]

    async def listen() -> None:
        async for event in trigger.run():
            heard.append(event.payload["fingerprint"])

    async def wait() -> None:
        end = len(looked) + looks
        while len(looked) < end:
            await asyncio.sleep(FAST)
        await asyncio.sleep(5 * FAST)  # what the last look found is told

    async def play() -> None:
        listening = asyncio.create_task(listen())
        await wait()
        for step in steps:
            step()
            await wait()
        listening.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listening

    asyncio.run(play())
    return heard


def deployed(monkeypatch: pytest.MonkeyPatch, view: View | None) -> None:
    monkeypatch.setattr(keeping, "read_view", lambda name: view)


def test_it_rings_once_per_change(repository: Path) -> None:
    trigger = RepositoryChangeTrigger(repository=repository, poll_interval=FAST)
    found: list[str] = []
    heard = rings(
        trigger,
        lambda: found.append(edit(repository, "2")),
        lambda: found.append(edit(repository, "3")),
        lambda: found.append(edit(repository, "2")),
    )
    assert heard == found


def test_with_a_fingerprint_it_rings_for_what_differs_from_it(repository: Path) -> None:
    now = repository_fingerprint(repository)
    same = RepositoryChangeTrigger(repository=repository, since=now, poll_interval=FAST)
    assert rings(same) == []
    other = RepositoryChangeTrigger(repository=repository, since="before", poll_interval=FAST)
    assert rings(other) == [now]


def test_a_restart_neither_misses_a_change_nor_rings_again(repository: Path) -> None:
    store = Store()

    def trigger() -> RepositoryChangeTrigger:
        return RepositoryChangeTrigger(repository=repository, poll_interval=FAST)

    assert rings(trigger(), store=store) == []
    while_away = edit(repository, "2")
    assert rings(trigger(), store=store) == [while_away]
    assert rings(trigger(), store=store) == []


def test_killed_before_the_next_look_it_rings_again(repository: Path) -> None:
    """The event may not have left the process."""
    store = Store()
    rings(RepositoryChangeTrigger(repository=repository, poll_interval=FAST), store=store)
    changed = edit(repository, "2")
    slow = RepositoryChangeTrigger(repository=repository, poll_interval=60)
    assert rings(slow, store=store, looks=1) == [changed]
    slow = RepositoryChangeTrigger(repository=repository, poll_interval=60)
    assert rings(slow, store=store, looks=1) == [changed]


def test_with_a_dag_it_compares_with_what_that_has_deployed(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = repository_fingerprint(repository)
    left = (Shown("setup.a.v", "setup", "create", "a.v", "view", "a", "hash"),)

    def trigger() -> RepositoryChangeTrigger:
        return RepositoryChangeTrigger(repository=repository, dag_id="deploy", poll_interval=FAST)

    for view, expected in (
        (None, [now]),  # never deployed
        (View(now), []),
        (View("before"), [now]),
        (View(now, left), [now]),  # begun and not ended
        (View(now, left, active="run"), []),  # at it
        (View(now, left, active="run", planning=True), [now]),  # its plan may have failed
        (View(now, problems=("SD101",)), [now]),
    ):
        deployed(monkeypatch, view)
        assert rings(trigger()) == expected, view


def test_what_failed_to_deploy_is_not_rung_for_again_and_again(
    repository: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deployed(monkeypatch, View("before"))
    store = Store()
    trigger = RepositoryChangeTrigger(repository=repository, dag_id="deploy", poll_interval=FAST)
    assert len(rings(trigger, store=store, looks=20)) == 1
    again = RepositoryChangeTrigger(repository=repository, dag_id="deploy", poll_interval=FAST)
    assert rings(again, store=store) == []


def test_it_waits_while_the_settings_cannot_be_read(repository: Path) -> None:
    trigger = RepositoryChangeTrigger(repository=repository, poll_interval=FAST)
    settings = repository / "sparkdeploy.yaml"
    heard = rings(
        trigger,
        lambda: settings.write_text("retention: [unbalanced"),
        lambda: settings.write_text("retention: 2h"),
    )
    assert heard == [repository_fingerprint(repository)]


def test_several_assets_of_one_trigger_have_no_memory_and_do_no_harm(repository: Path) -> None:
    from airflow.sdk import Asset
    from airflow.sdk.execution_time.context import AssetStateStoreAccessors

    two = AssetStateStoreAccessors([Asset("one"), Asset("two")])
    found: list[str] = []
    trigger = RepositoryChangeTrigger(repository=repository, poll_interval=FAST)
    assert rings(trigger, lambda: found.append(edit(repository, "2")), store=two) == found  # type: ignore[arg-type]


def test_drift_rings_for_what_is_new_in_it(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SparkDeployHook, "sessions", lambda hook: None)  # else a Spark is started for nobody
    looks: list[Any] = [
        {}, {"a.v": "missing"}, {"a.v": "missing"}, None, {"a.v": "missing", "a.w": "text"},
        {"a.w": "text"}, {"a.w": "comment"}, {}, {"a.w": "comment"},
    ]  # fmt: skip
    trigger = CatalogDriftTrigger(repository=repository)
    told: Any = None
    heard = []
    for drift in looks:
        monkeypatch.setattr(drifting, "look_for_drift", lambda *_, drift=drift: Look(drift))
        payload, told = trigger.news(told)
        heard.append(payload and payload["drift"])
    assert heard == [
        None, {"a.v": "missing"}, None, None, {"a.v": "missing", "a.w": "text"},
        None, {"a.w": "comment"}, None, {"a.w": "comment"},
    ]  # fmt: skip


@pytest.mark.parametrize("well", [True, False])
def test_a_look_leaves_no_driver_behind(
    repository: Path, monkeypatch: pytest.MonkeyPatch, well: bool
) -> None:
    """With a connection of type ``spark`` each look starts one, and the triggerer never ends."""
    opened: list[SubmitSessions] = []

    def look(repository: object, sessions: SubmitSessions, recorded: object) -> Look:
        opened.append(sessions)
        if not well:
            raise SparkFailure("away", transient=True)
        return Look({})

    monkeypatch.setattr(SparkDeployHook, "_connected", lambda hook: SubmitSessions(command=["true"]))
    monkeypatch.setattr(drifting, "look_for_drift", look)
    trigger = CatalogDriftTrigger(repository=repository, conn_id="spark")
    for _ in range(2):
        with contextlib.nullcontext() if well else pytest.raises(SparkFailure):
            trigger.news(None)
    assert len(set(map(id, opened))) == 2
    for sessions in opened:
        with pytest.raises(SparkFailure, match="closed"):
            sessions.ask({})


def test_they_are_written_as_plain_values(repository: Path) -> None:
    import json

    for trigger in (
        RepositoryChangeTrigger(repository=repository, overrides=("retention=1h",), dag_id="deploy"),
        CatalogDriftTrigger(repository=repository, environment="prod", conn_id="spark"),
    ):
        path, arguments = trigger.serialize()
        assert path == f"{triggers.__name__}.{type(trigger).__name__}"
        again = type(trigger)(**json.loads(json.dumps(arguments)))
        assert again.serialize() == (path, arguments)
        AssetWatcher(name="watch", trigger=trigger)


def test_a_relative_folder_is_refused() -> None:
    with pytest.raises(ValueError, match="absolute"):
        RepositoryChangeTrigger(repository="shop")


def test_overrides_are_given_as_a_dag_takes_them(repository: Path) -> None:
    """A mapping was taken for its keys, and the watch complained for ever."""
    (repository / "sparkdeploy.yaml").write_text("tokens: {place: here}\n")
    given = {"tokens.place": "there"}
    told = ["tokens.place=there"]
    for kind in (RepositoryChangeTrigger, CatalogDriftTrigger):
        trigger = kind(repository=repository, overrides=given)
        assert trigger.serialize()[1]["overrides"] == told
        assert kind(**trigger.serialize()[1]).serialize() == trigger.serialize()
    trigger = RepositoryChangeTrigger(repository=repository, overrides=given, since="another")
    payload, _ = trigger.news(None)
    assert payload == {
        "repository": str(repository),
        "fingerprint": repository_fingerprint(repository, overrides=told),
    }
    sensor = RepositoryChangeSensor(
        task_id="wait", repository=repository, overrides=given, since=payload["fingerprint"]
    )
    waiting, trigger = sensor._first_look()
    assert waiting is None
    assert trigger.serialize()[1]["overrides"] == told

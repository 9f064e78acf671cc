"""Deployments that are killed, and deployments after that."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from click.testing import CliRunner
from world import World

from airflow_provider_sparkdeploy.cli import main

DRIVER = Path(__file__).with_name("driver.py")


@dataclass(frozen=True)
class Crash:
    """How a deployment ended that was to be killed. ``at`` is the operation that it died in; None
    if it did not die, and then ``answer`` is how it went."""

    at: str | None
    answer: dict[str, Any] = field(default_factory=dict)

    @property
    def errors(self) -> list[str]:
        return [code for code, _ in self.answer.get("errors", ())]


class Killer:
    """One driver, which is asked for one deployment after the other."""

    def __init__(self, address: str) -> None:
        self.address = address

    def __enter__(self) -> Self:
        self.driver = subprocess.Popen(
            [sys.executable, str(DRIVER), self.address],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        return self

    def __exit__(self, *_: object) -> None:
        self.driver.communicate(timeout=60)

    def start(self, world: World, boundary: str, *, recording: bool = False, **rest: Any) -> int:
        """Begin a deployment; gives the id of its process. It does not die while it writes the history,
        unless it is to."""
        place = world.folder.parent
        rest["spared"] = [*rest.get("spared", ()), *([] if recording else ["record"])]
        request = {
            "folder": str(world.folder), "prefix": world.prefix, "options": world.options, "boundary": boundary,
            "note": str(place / "note"), "answer": str(place / "answer"), **rest,
        }  # fmt: skip
        assert self.driver.stdin is not None
        self.driver.stdin.write(json.dumps(request) + "\n")
        self.driver.stdin.flush()
        self.world = world
        pid: int = self._answer()["pid"]
        return pid

    def _answer(self) -> dict[str, Any]:
        assert self.driver.stdout is not None
        found: dict[str, Any] = json.loads(self.driver.stdout.readline())
        return found

    def wait(self) -> Crash:
        ended = self._answer()
        place = self.world.folder.parent
        if ended["killed"] is not None:
            note = place / "note"
            return Crash(note.read_text() if note.exists() else "")
        assert ended["code"] == 0, "the deployment itself failed: see its stack trace"
        return Crash(None, json.loads((place / "answer").read_text()))

    def deploy(self, world: World, boundary: str, **rest: Any) -> Crash:
        """A deployment that dies at a boundary, if it comes there."""
        self.start(world, boundary, **rest)
        return self.wait()

    def deploy_dying(
        self,
        world: World,
        boundary: str,
        *,
        decide: Callable[[World, str], str] | None = None,
        spared: Sequence[str] = (),
        **rest: Any,
    ) -> list[str]:
        """Deployments until one lives: each dies in the first operation in which none has died, and that
        is not ``spared``.

        An operation that is uncertain then is resolved as ``decide`` says. Gives where they died.
        """
        died: list[str] = []
        for _ in range(60):
            crash = self.deploy(world, boundary, spared=[*spared, *died], **rest)
            if crash.at is not None:
                died.append(crash.at)
            elif crash.errors == ["SD810"]:
                assert decide is not None, crash.answer
                assert crash.answer["errors"][0][1].startswith(died[-1])
                resolve(world, died[-1], decide(world, died[-1]))
            else:
                assert not crash.errors, crash.answer
                assert not crash.answer["failed"], crash.answer
                assert not crash.answer["left"], crash.answer
                assert not crash.answer["problems"], crash.answer
                return died
        raise AssertionError(f"no end of it: {died}")


def resolve(world: World, operation: str, verdict: str) -> None:
    result = CliRunner().invoke(
        main, ["resolve", operation, f"--{verdict}", "--repository", str(world.folder)]
    )
    assert result.exit_code == 0, result.output

"""Where a command works: a repository, an environment, a deploy log. Reads both."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ..core.deploylog import FileLog, LogContent
from ..core.diagnostics import Diagnostic, problem
from ..core.files import read_settings_text
from ..core.repository import Repository, empty_remark, open_repository
from ..core.settings import Settings, load_settings
from ..core.settingsfile import FILE as SETTINGS_FILE
from .progress import progress


@dataclass(frozen=True, slots=True)
class Place:
    """The options that every command has."""

    repository: Path
    env: str | None = None
    log: Path | None = None
    overrides: tuple[str, ...] = ()

    def open(self) -> Repository:
        with progress("Reading the repository") as report:
            found = open_repository(
                self.repository, environment=self.env, overrides=self.overrides, progress=report
            )
        if not found.objects and found.problems and all(item.code == "SD110" for item in found.problems):
            self._is_beside()
        return found

    def _is_beside(self) -> None:
        """Where every file is in the wrong place, and the settings are in a folder above or below, it is
        the folder that is wrong: one error, not one for each file."""
        if (self.repository / SETTINGS_FILE).exists():
            return
        here = self.repository.resolve()
        above = [parent for parent in here.parents[:2] if (parent / SETTINGS_FILE).exists()]
        below = sorted(
            path.parent for depth in ("*", "*/*") for path in here.glob(f"{depth}/{SETTINGS_FILE}")
        )
        for folder in (*above, *below):
            shown = os.path.relpath(folder)
            raise problem(
                "SD100",
                f"{self.repository} is not a repository: {SETTINGS_FILE} is in {shown}",
                advice=f"Run it there, or pass it: --repository {shown}",
            )

    def settings(self) -> Settings:
        """The settings of the environment that is meant, without reading any object."""
        text = read_settings_text(self.repository)
        return load_settings(text, environment=self.env, overrides=self.overrides)

    def environment(self) -> str:
        return self.settings().environment

    def file_log(self, environment: str) -> FileLog:
        return FileLog(self.log or self.repository / ".sparkdeploy" / f"{environment}.jsonl")

    def read_log(self, environment: str) -> LogContent:
        """What the log says; a log that does not exist says that nothing is deployed."""
        content = self.file_log(environment).read()
        if content.environment and content.environment != environment:
            raise problem(
                "SD606",
                f"this deploy log is of environment {content.environment}, not {environment}",
                advice="Every environment has a log of its own: pass another --log or --env.",
            )
        return content

    def remarks(self, found: Repository) -> tuple[Diagnostic, ...]:
        return empty_remark(found, self.repository)

"""Where a command works: a repository, an environment, a deploy log. Reads both."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.deploylog import FileLog, LogContent
from ..core.diagnostics import Diagnostic, problem
from ..core.files import read_settings_text
from ..core.repository import Repository, empty_remark, open_repository
from ..core.settings import Settings, load_settings
from ..core.settingsfile import FILE as SETTINGS_FILE
from .progress import progress

_MISPLACED = ("SD107", "SD110", "SD111", "SD112")  # what is said of files that declare no object
_MANY = 5  # of these are mistakes in a repository; more, and it is none


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
        misplaced = [item for item in found.problems if item.code in _MISPLACED]
        if (
            misplaced
            and not found.objects
            and not found.broken
            and not (self.repository / SETTINGS_FILE).exists()
        ):
            self._is_no_repository(misplaced)
        return found

    def _is_no_repository(self, misplaced: Sequence[Diagnostic]) -> None:
        """Where every file is in the wrong place, and the settings are in a folder above or below, or there
        is nothing that looks like a repository at all, it is the folder that is wrong: one error, not one
        for each file."""
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
        if len(misplaced) > _MANY and not any(item.advice.startswith("Did you mean") for item in misplaced):
            raise problem(
                "SD100",
                f"{self.repository} is not a repository: none of its files is at <schema>/<kind>/<object>.sql, "
                f"and it has no {SETTINGS_FILE}",
                advice="Run it in another folder, or name one (--repository). sparkdeploy init makes an example.",
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

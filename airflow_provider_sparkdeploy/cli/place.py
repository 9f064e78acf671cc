"""Where a command works: a repository, an environment, a deploy log. Reads both."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..core.deploylog import FileLog, LogContent
from ..core.diagnostics import Diagnostic, SparkDeployError, problem
from ..core.files import read_settings_text
from ..core.repository import Repository, empty_remark, open_repository, wrong_folder
from ..core.settings import Settings, load_settings
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
        if wrong := wrong_folder(found, self.repository):
            raise SparkDeployError([wrong])
        return found

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

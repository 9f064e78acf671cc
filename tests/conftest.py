"""What all tests share: no test reads or writes the user's cache, and none hangs."""

from __future__ import annotations

import faulthandler
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci")


@pytest.fixture(autouse=True, scope="session")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache folder of its own per session; a test that is about the cache sets another."""
    folder = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARKDEPLOY_CACHE", str(folder))
        yield folder


_HANGS = 900  # seconds: more than a test may take, and the teardown that follows when it took too long
_TOLD = pytest.StashKey[int]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_TOLD] = os.dup(2)  # nothing is captured at this moment


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test that takes too long fails, but its teardown may hang in turn: then the worker shows where
    it is, and ends."""
    watch = threading.Timer(_HANGS, _end, [item])  # pytest itself switches off the one of faulthandler
    watch.daemon = True
    watch.start()
    try:
        return (yield)
    finally:
        watch.cancel()


def _end(item: pytest.Item) -> None:
    told = item.config.stash[_TOLD]
    os.write(told, f"\n{item.nodeid} hangs:\n".encode())
    faulthandler.dump_traceback(file=told)
    os._exit(1)

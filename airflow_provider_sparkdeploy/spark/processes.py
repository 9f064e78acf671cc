"""Processes of this machine, found by what their command line carries."""

from __future__ import annotations

import contextlib
import subprocess
import time
from pathlib import Path

_PROC = Path("/proc")
_KERNEL = 0x00200000  # the flag of a thread of the kernel, which never has a command line


def carrying(mark: str) -> tuple[int, ...]:
    """The processes that have ``mark`` in their command line. A dead one has none."""
    return _from_proc(mark) if (_PROC / "self" / "cmdline").exists() else _from_ps(mark)


def _from_proc(mark: str) -> tuple[int, ...]:
    folders = (folder for folder in _PROC.iterdir() if folder.name.isdigit())
    return tuple(sorted(int(folder.name) for folder in folders if mark.encode() in _command_line(folder)))


def _command_line(folder: Path) -> bytes:
    with contextlib.suppress(OSError):  # it ended meanwhile
        for _ in range(100):
            line = (folder / "cmdline").read_bytes()
            if line or not _has_one(folder):
                return line
            time.sleep(0.01)  # it is replacing itself by another program, and has none for a moment
    return b""


def _has_one(folder: Path) -> bool:
    """Neither a zombie nor of the kernel."""
    fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return fields[0] not in "ZX" and not int(fields[6]) & _KERNEL


def _from_ps(mark: str) -> tuple[int, ...]:
    listed = subprocess.run(
        ["ps", "-axww", "-o", "pid=,command="], capture_output=True, text=True, errors="replace", check=False
    )
    lines = (line.split(None, 1) for line in listed.stdout.splitlines())
    return tuple(sorted(int(parts[0]) for parts in lines if len(parts) == 2 and mark in parts[1]))

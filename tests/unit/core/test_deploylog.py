"""The deploy log as a file: what survives a crash, a second writer and a full disk."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from full_disk import largest_file

from airflow_provider_sparkdeploy.core import deploylog
from airflow_provider_sparkdeploy.core.deploylog import (
    FORMAT,
    Entry,
    FileLog,
    decode_entry,
    encode_entry,
    new_run,
    read_lines,
)
from airflow_provider_sparkdeploy.core.diagnostics import SparkDeployError
from airflow_provider_sparkdeploy.core.names import Node, ObjectName
from airflow_provider_sparkdeploy.core.objects import Column, TableDef
from airflow_provider_sparkdeploy.core.state import (
    DeployedChange,
    DeployedIndex,
    DeployedObject,
    DropChange,
    DropIndex,
    DropObject,
    Effect,
    Observe,
    PutChange,
    PutIndex,
    PutObject,
    Settle,
)

NAME = ObjectName("verkäufe", "straße `1`.x")
FULL = DeployedObject(
    name=NAME,
    kind="table",
    physical=("katalog", "Verkäufe", "Straße `1`.x"),
    hash="1:abc",
    text="CREATE TABLE x (a INT COMMENT '日本語 🦆\u2028')",
    dependencies=(ObjectName("ref", "länder"), ObjectName("a_b", "c")),
    definition=TableDef(
        (Column("größe", "decimal(9,2)", False, "in m²"), Column("b", "int")),
        "iceberg",
        ("days(b)",),
        (("k", "v"), ("leer", "")),
        "Ein 'Kommentar'",
    ),
    lifecycle="protected",
    computes=("etl", "groß"),
    replacement=True,
    comment="",
    changes=(DeployedChange("init", ("1:a", "1:b"), 3, "SELECT '\n'", ("DROP TABLE x", "")),),
    digest="1:digest",
    indexes=(DeployedIndex("nach_größe", "1:i", "CREATE INDEX ...", "etl"), DeployedIndex("z", "1:z", "")),
)
EFFECTS: list[Effect] = [
    PutObject(FULL),
    PutObject(DeployedObject(ObjectName("s", "v"), "view", ("s", "v"))),
    PutObject(DeployedObject(ObjectName("s", "v"), "view", ("s", "v"), comment=None, definition=TableDef())),
    PutChange(NAME, DeployedChange("init", (), 0)),
    PutChange(NAME, DeployedChange("ünï", ("1:a",), 2, "text", ("undo",)), ("alt", "älter")),
    PutChange(
        NAME, DeployedChange("c", ("1:a",), 1, baselines=("z",), squashed=(("z", ("ü", "x")),)), ("z",)
    ),
    DropChange(NAME, "ünï"),
    PutIndex(NAME, DeployedIndex("i", "1:i", "CREATE INDEX i")),
    PutIndex(NAME, DeployedIndex("i", "1:i", "CREATE INDEX i", "etl")),
    DropIndex(NAME, "i\"'\\"),
    Settle(NAME, "1:abc"),
    Observe(NAME, ("c", "s", "o")),
    Observe(
        NAME,
        ("s", "o"),
        TableDef((Column("ä", "int", False, "\n"),), "parquet", ("ä",), (("k", ""),), "of it"),
    ),
    DropObject(NAME),
]


def entry(number: int, *effects: Effect) -> Entry:
    return Entry("done", "run", f"2024-01-0{number}T00:00:00+00:00", f"setup.s.o{number}", effects)


def put(text: str) -> PutObject:
    return PutObject(DeployedObject(ObjectName("s", text), "view", ("s", text), hash=text))


@pytest.fixture
def log(tmp_path: Path) -> FileLog:
    return FileLog(tmp_path / "logs" / "dev.jsonl")


def write(log: FileLog, *entries: Entry) -> None:
    with log:
        log.append(entries)


def failure(log: FileLog) -> SparkDeployError:
    with pytest.raises(SparkDeployError) as caught:
        log.read()
    return caught.value


# --- entries -----------------------------------------------------------------------------


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda effect: type(effect).__name__)
def test_every_effect_comes_back_as_it_was(effect: Effect) -> None:
    before = Entry("done", "läuft", "2024-01-01T00:00:00+00:00", "setup.ß", (effect,), {"größe": [1, None]})
    line = encode_entry(before)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode_entry(json.loads(line)) == before
    assert encode_entry(decode_entry(json.loads(line))) == line


@pytest.mark.parametrize("type", ["run", "intent", "done", "failed", "noted"])
def test_every_type_of_entry_comes_back(type: str) -> None:
    before = Entry(type, "r", "2024-01-01T00:00:00+00:00")  # type: ignore[arg-type]
    assert decode_entry(json.loads(encode_entry(before))) == before


def test_an_entry_says_when_it_was_written_and_in_which_format() -> None:
    data = json.loads(encode_entry(Entry("run", "r")))
    assert data["v"] == FORMAT
    assert data["at"]


def test_run_ids_are_unique_and_say_what_they_are() -> None:
    assert len({new_run("baseline") for _ in range(50)}) == 50
    assert new_run("baseline").startswith("baseline-")


# --- append-only -------------------------------------------------------------------------


def test_an_absent_log_is_empty(log: FileLog) -> None:
    content = log.read()
    assert (content.entries, dict(content.state), content.problems) == ((), {}, ())
    assert not log.path.exists()


def test_an_empty_file_is_an_empty_log(log: FileLog) -> None:
    log.path.parent.mkdir()
    log.path.touch()
    assert log.read().entries == ()


def test_appends_keep_every_byte_that_was_there(log: FileLog) -> None:
    write(log, entry(1, put("a")))
    first = log.path.read_bytes()
    write(log, entry(2, put("b")), entry(3, DropObject(ObjectName("s", "a"))))
    assert log.path.read_bytes().startswith(first)
    content = log.read()
    assert [item.operation for item in content.entries] == ["setup.s.o1", "setup.s.o2", "setup.s.o3"]
    assert list(content.state) == [ObjectName("s", "b")]


def test_the_state_says_when_and_by_which_run(log: FileLog) -> None:
    write(log, entry(1, put("a")), entry(2, PutIndex(ObjectName("s", "a"), DeployedIndex("i", "h", "sql"))))
    record = log.read().state[ObjectName("s", "a")]
    assert (record.at, record.run) == ("2024-01-02T00:00:00+00:00", "run")


def test_intents_and_failures_change_nothing(log: FileLog) -> None:
    write(log, Entry("intent", "r", "t", "setup.s.a"), Entry("failed", "r", "t", "setup.s.a"))
    content = log.read()
    assert len(content.entries) == 2
    assert not content.state


def test_appending_nothing_leaves_the_log_alone(log: FileLog) -> None:
    write(log, entry(1, put("a")))
    before = log.path.read_bytes()
    write(log)
    assert log.path.read_bytes() == before


def test_appending_needs_the_lock(log: FileLog) -> None:
    with pytest.raises(RuntimeError):
        log.append([entry(1)])
    with log:
        pass
    with pytest.raises(RuntimeError):
        log.append([entry(1)])


# --- torn lines --------------------------------------------------------------------------


@pytest.mark.parametrize("keep", [1, 2, 30, -1])
def test_a_torn_last_line_is_ignored_reported_and_cut_by_the_next_writer(log: FileLog, keep: int) -> None:
    write(log, entry(1, put("a")))
    whole = log.path.read_bytes()
    torn = encode_entry(entry(2, put("ä")))[:keep]
    log.path.write_bytes(whole + torn)

    content = log.read()
    assert list(content.state) == [ObjectName("s", "a")]
    (problem,) = content.problems
    assert (problem.code, problem.severity, problem.line) == ("SD601", "warning", 2)
    assert log.path.read_bytes() == whole + torn, "reading does not write"

    write(log, entry(3, put("c")))
    assert log.path.read_bytes() == whole + encode_entry(entry(3, put("c")))
    assert log.read().problems == ()


def test_a_line_without_its_end_was_never_acknowledged_even_if_it_reads_well(log: FileLog) -> None:
    write(log, entry(1, put("a")))
    log.path.write_bytes(log.path.read_bytes().rstrip(b"\n"))
    content = log.read()
    assert not content.state
    assert [item.code for item in content.problems] == ["SD601"]


def test_a_torn_character_does_not_matter() -> None:
    line = encode_entry(entry(1, put("ä")))
    cut = line[: line.index("ä".encode()) + 1]
    assert [item.code for item in read_lines(cut, "log").problems] == ["SD601"]


def test_a_tail_of_zeros_is_torn(log: FileLog) -> None:
    write(log, entry(1, put("a")))
    with open(log.path, "ab") as file:
        file.write(bytes(100))
    assert [item.code for item in log.read().problems] == ["SD601"]
    write(log, entry(2, put("b")))
    assert len(log.read().entries) == 2


@pytest.mark.parametrize(
    "garbage",
    [
        b"garbage",
        b"{",
        b"[]",
        b"1",
        b"null",
        b'"v"',
        b"{}",
        b'{"v":1}',
        b'{"v":1,"type":"done","run":"r"}',
        b'{"v":1,"type":"done","run":"r","at":"t","effects":[{}]}',
        b'{"v":1,"type":"done","run":"r","at":"t","effects":[{"unknown":{"object":["s","a"]}}]}',
        b'{"v":1,"type":"done","run":"r","at":"t","effects":[{"drop":{"object":["s"]}}]}',
        b'{"v":1,"type":"done","run":"r","at":"t","effects":["text"]}',
        b'{"v":1,"type":"done","run":"r","at":"t","effects":7}',
        b"\xff\xfe",
        b"\x00" * 20,
    ],
)
def test_garbage_in_the_middle_is_an_error_with_its_line(log: FileLog, garbage: bytes) -> None:
    write(log, entry(1, put("a")))
    log.path.write_bytes(log.path.read_bytes() + garbage + b"\n" + encode_entry(entry(2, put("b"))))
    (problem,) = failure(log).diagnostics
    assert (problem.code, problem.line, problem.file) == ("SD602", 2, "dev.jsonl")
    assert problem.advice


def test_garbage_with_a_line_end_is_an_error_also_in_the_last_line(log: FileLog) -> None:
    write(log, entry(1, put("a")))
    log.path.write_bytes(log.path.read_bytes() + b"garbage\n")
    assert [item.line for item in failure(log).diagnostics] == [2]


def test_an_unknown_type_of_entry_is_not_an_entry(log: FileLog) -> None:
    write(log, entry(1, put("a")))
    log.path.write_bytes(log.path.read_bytes() + b'{"v":1,"type":"dnoe","run":"r","at":"t"}\n')
    assert [item.code for item in failure(log).diagnostics] == ["SD602"]


def test_blank_lines_do_not_matter_and_lines_are_counted_with_them(log: FileLog) -> None:
    line = encode_entry(entry(1, put("a")))
    log.path.parent.mkdir()
    log.path.write_bytes(line + b"\n\r\n" + line + b"garbage\n")
    assert [item.line for item in failure(log).diagnostics] == [5]


@pytest.mark.parametrize("version", [0, 2, 99, "2"])
def test_another_format_is_refused_with_what_to_do(log: FileLog, version: object) -> None:
    write(log, entry(1, put("a")))
    other = json.loads(encode_entry(entry(2))) | {"v": version, "new": "field"}
    log.path.write_bytes(log.path.read_bytes() + json.dumps(other).encode() + b"\n")
    (problem,) = failure(log).diagnostics
    assert (problem.code, problem.line) == ("SD602", 2)
    assert str(version) in problem.message
    assert "version" in problem.advice


# --- one writer at a time ----------------------------------------------------------------

HOLDER = """
import sys, time
from pathlib import Path
from airflow_provider_sparkdeploy.core.deploylog import Entry, FileLog
log = FileLog(Path(sys.argv[1]))
with log:
    log.append([Entry("run", "first")])
    print("holding", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the log open for writing, until it is told to end."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert process.stdout
        assert select.select([process.stdout], [], [], 60)[0], "the holder did not start"
        assert process.stdout.readline() == "holding\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_second_writer_is_refused_and_told_who_writes(log: FileLog) -> None:
    with holder(log.path) as process:
        with pytest.raises(SparkDeployError) as caught, log:
            pass
        (problem,) = caught.value.diagnostics
        assert problem.code == "SD604"
        assert f"process {process.pid} on {os.uname().nodename} since " in problem.message
        assert problem.advice
        assert [item.run for item in log.read().entries] == ["first"], "readers never wait"
        process.communicate("\n")
        write(log, Entry("run", "second"))
    assert [item.run for item in log.read().entries] == ["first", "second"]


def test_a_refused_writer_cuts_nothing(log: FileLog) -> None:
    with holder(log.path):
        with open(log.path, "ab") as file:
            file.write(b"half a li")  # what a writer in the middle of an append looks like
        with pytest.raises(SparkDeployError), log:
            pass
        assert log.path.read_bytes().endswith(b"half a li")


def test_the_lock_is_free_once_its_holder_is_killed(log: FileLog) -> None:
    with holder(log.path) as process:
        process.send_signal(signal.SIGKILL)
        process.wait()
        write(log, Entry("run", "second"))
    assert [item.run for item in log.read().entries] == ["first", "second"]


def test_two_writers_in_one_process_exclude_each_other_too(log: FileLog) -> None:
    with log, pytest.raises(SparkDeployError) as caught, FileLog(log.path):
        pass
    assert f"process {os.getpid()}" in str(caught.value)


def test_a_writer_can_be_used_again_after_an_error(log: FileLog) -> None:
    def fail() -> None:
        with log:
            log.append([entry(1, put("a"))])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    write(log, entry(2, put("b")))
    assert len(log.read().entries) == 2


# --- full disks and wrong places ---------------------------------------------------------


def test_what_does_not_fit_is_not_recorded_at_all(log: FileLog) -> None:
    write(log, entry(1, put("a")))
    before = log.path.read_bytes()
    with log:
        with largest_file(len(before) + 200), pytest.raises(SparkDeployError) as caught:
            log.append([entry(2, put("b")), entry(3, put("c" * 500))])
        assert log.path.read_bytes() == before, "nothing half-written stays"
        log.append([entry(4, put("d"))])
    (problem,) = caught.value.diagnostics
    assert problem.code == "SD603"
    assert str(log.path) in problem.message
    assert problem.advice
    assert log.read().problems == ()
    assert set(log.read().state) == {ObjectName("s", "a"), ObjectName("s", "d")}


def test_a_disk_too_full_for_the_lock_is_an_error_for_people(log: FileLog) -> None:
    write(log, entry(1, put("a")))
    with largest_file(0), pytest.raises(SparkDeployError) as caught, log:
        pass
    assert [item.code for item in caught.value.diagnostics] == ["SD603"]
    write(log, entry(2, put("b")))


def test_a_log_that_is_a_folder_is_an_error_for_people(tmp_path: Path) -> None:
    log = FileLog(tmp_path / "log")
    log.path.mkdir()
    assert [item.code for item in failure(log).diagnostics] == ["SD603"]
    with pytest.raises(SparkDeployError), log:
        log.append([entry(1)])


def test_a_log_below_a_file_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SparkDeployError) as caught, FileLog(tmp_path / "file" / "log"):
        pass
    assert [item.code for item in caught.value.diagnostics] == ["SD603"]


def test_a_file_that_is_no_log_is_refused_and_never_cut(log: FileLog) -> None:
    log.path.parent.mkdir()
    for text in (b"hello", b"# a file\nof somebody", b"{", b"{}"):
        log.path.write_bytes(text)
        if text != b"{":
            assert [item.code for item in failure(log).diagnostics] == ["SD602"]
            with pytest.raises(SparkDeployError), log:
                pass
            assert log.path.read_bytes() == text


def test_a_first_entry_may_be_torn_too(log: FileLog) -> None:
    log.path.parent.mkdir()
    line = encode_entry(entry(1, put("a")))
    for torn in (line[:1], line[:20], line[:-1], bytes(50)):
        log.path.write_bytes(torn)
        assert [item.code for item in log.read().problems] == ["SD601"]
        write(log, entry(2, put("b")))
        assert list(log.read().state) == [ObjectName("s", "b")]


def test_all_wrong_lines_are_reported_at_once(log: FileLog) -> None:
    line = encode_entry(entry(1, put("a")))
    log.path.parent.mkdir()
    other = line.replace(b'"v":1', b'"v":9')
    log.path.write_bytes(line + b"garbage\n" + line + b"[" * 100_000 + b"\n" + other + other)
    assert [item.line for item in failure(log).diagnostics] == [2, 4, 5], "another format is reported once"


def test_two_links_to_one_log_have_one_lock(log: FileLog, tmp_path: Path) -> None:
    write(log, entry(1, put("a")))
    link = tmp_path / "link.jsonl"
    link.symlink_to(log.path)
    with log, pytest.raises(SparkDeployError) as caught, FileLog(link):
        pass
    assert [item.code for item in caught.value.diagnostics] == ["SD604"]


def test_an_interrupted_append_leaves_nothing(log: FileLog, monkeypatch: pytest.MonkeyPatch) -> None:
    write(log, entry(1, put("a")))
    before = log.path.read_bytes()

    def interrupted(descriptor: int, data: bytes) -> None:
        os.write(descriptor, data[:30])
        raise KeyboardInterrupt

    with log:
        with monkeypatch.context() as patch:
            patch.setattr(deploylog, "_write_all", interrupted)
            with pytest.raises(KeyboardInterrupt):
                log.append([entry(2, put("b"))])
        assert log.path.read_bytes() == before
        log.append([entry(3, put("c"))])
    assert len(log.read().entries) == 2


def test_what_could_not_be_cut_off_is_cut_by_the_next_append(
    log: FileLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(log, entry(1, put("a")))

    def no_cut(descriptor: int, size: int) -> None:
        raise OSError(5, "Input/output error")

    with log:
        with monkeypatch.context() as patch, largest_file(log.path.stat().st_size + 50):
            patch.setattr(os, "ftruncate", no_cut)
            with pytest.raises(SparkDeployError):
                log.append([entry(2, put("b"))])
        log.append([entry(3, put("c"))])
    assert [item.operation for item in log.read().entries] == ["setup.s.o1", "setup.s.o3"]


def test_an_error_message_may_hold_anything(log: FileLog) -> None:
    write(log, Entry("failed", "r", "t", "setup.s.a", detail={"error": "\ud800 \x00 \u2028"}))
    assert log.read().entries[0].detail["error"] == "\ud800 \x00 \u2028"


# --- snapshots ---------------------------------------------------------------------------


def test_a_log_reads_the_same_with_a_snapshot_and_without(
    log: FileLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARKDEPLOY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(deploylog, "_WORTH_A_SNAPSHOT", 100)
    change = DeployedChange(
        "c", ("h",), 1, "text", ("undo",), 1, (Node("a", "b", "c"),), ("z",), (("z", ("x", "y")),)
    )
    write(log, Entry("noted", "r", "t", effects=(PutObject(FULL), PutChange(NAME, change))))
    first = log.read().state
    (snapshot,) = (tmp_path / "cache").glob("*.state")
    assert dict(log.read().state) == first
    assert log.read().state[NAME].changes[-1] == change
    write(log, entry(2, put("b")), Entry("noted", "r", "t", effects=(DropObject(NAME),)))
    assert list(log.read().state) == [ObjectName("s", "b")]
    for damage in (
        b"",
        b"\0\0\0\0",
        snapshot.read_bytes()[:-1],
        snapshot.read_bytes().replace(b"sdstate", b"sdother"),
    ):
        snapshot.write_bytes(damage)
        assert list(log.read().state) == [ObjectName("s", "b")]

"""What may run when: needs, phases, and what a failure leaves."""

from __future__ import annotations

from collections.abc import Collection

from airflow_provider_sparkdeploy.core.names import ObjectName
from airflow_provider_sparkdeploy.core.operations import Operation, Phase
from airflow_provider_sparkdeploy.core.schedule import Schedule


def operation(id: str, *needs: str) -> Operation:
    """Its phase is the beginning of its id."""
    phase: Phase = next(phase for phase in ("teardown", "setup", "export") if id.startswith(phase))
    return Operation(id, phase, "run", ObjectName("s", id), "sink", "", "", depends_on=needs)


def ran(operations: Collection[Operation], failing: Collection[str] = ()) -> list[list[str]]:
    """What ran side by side, wave after wave."""
    schedule = Schedule(operations)
    waves = []
    while True:
        wave = []
        while found := schedule.take():
            wave.append(found)
        if not wave:
            ids = {one for wave in waves for one in wave}
            assert {one.id for one in schedule.left} == {one.id for one in operations} - ids
            return waves
        waves.append([one.id for one in wave])
        for one in wave:
            (schedule.failed if one.id in failing else schedule.done)(one)


PLAN = [
    operation("teardown.a"),
    operation("teardown.b", "teardown.a"),
    operation("setup.a"),
    operation("setup.b", "setup.a", "teardown.a"),
    operation("setup.c", "setup.b"),
    operation("setup.d"),
    operation("export.a", "setup.a"),
    operation("export.b", "setup.b"),
    operation("export.c", "export.a"),
    operation("export.d"),
]


def test_phases_follow_each_other() -> None:
    assert ran(PLAN) == [
        ["teardown.a"], ["teardown.b"], ["setup.a", "setup.d"], ["setup.b"], ["setup.c"],
        ["export.d", "export.a", "export.b"], ["export.c"],
    ]  # fmt: skip


def test_a_failed_teardown_stops_everything_that_comes_after_it() -> None:
    assert ran(PLAN, ["teardown.b"]) == [["teardown.a"], ["teardown.b"]]
    assert ran(PLAN, ["teardown.a"]) == [["teardown.a"]]


def test_what_needs_a_failure_does_not_run_and_everything_else_of_its_phase_does() -> None:
    independent = [*PLAN, operation("setup.e", "setup.d")]
    assert ran(independent, ["setup.b"])[2:] == [["setup.a", "setup.d"], ["setup.b", "setup.e"]]
    assert ran(independent, ["setup.a"])[2:] == [["setup.a", "setup.d"], ["setup.e"]]
    assert ran(PLAN, ["export.a"])[-1] == ["export.d", "export.a", "export.b"]


def test_an_export_waits_for_setup_that_it_does_not_need() -> None:
    schedule = Schedule([operation("setup.slow"), operation("export.a")])
    slow = schedule.take()
    assert slow is not None
    assert schedule.take() is None
    schedule.done(slow)
    assert schedule.take() == operation("export.a")


def test_a_failed_setup_stops_all_exports() -> None:
    """A sink tells others what is deployed: not of half a deployment."""
    assert ran([operation("setup.a"), operation("setup.b"), operation("export.a")], ["setup.a"]) == [
        ["setup.a", "setup.b"]
    ]


def test_a_plan_of_exports_alone_runs() -> None:
    assert ran([operation("export.a"), operation("export.b", "export.a")]) == [["export.a"], ["export.b"]]
    assert ran([operation("teardown.a"), operation("export.a")]) == [["teardown.a"], ["export.a"]]


def test_two_failures_below_one_operation_count_once() -> None:
    both = [operation("setup.a"), operation("setup.b"), operation("setup.c", "setup.a", "setup.b")]
    assert ran([*both, operation("setup.d", "setup.c")], ["setup.a", "setup.b"]) == [["setup.a", "setup.b"]]

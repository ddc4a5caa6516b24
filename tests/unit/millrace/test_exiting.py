"""Code of an author that calls os._exit has failed, whatever the code says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from millrace import App, OperatorFailed, Stream, tumbling
from millrace.runtime.exiting import guarded
from tests.places import ROOT

PROGRAM = """
import os, threading
from millrace.runtime.exiting import end_process, guard
guard(lambda code: 10)
{then}
"""


@dataclass
class Number:
    value: int


def ended(then: str) -> int:
    command = [sys.executable, "-c", PROGRAM.format(then=then)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


def test_code_of_an_author_that_ends_the_process_is_a_failure() -> None:
    assert ended("os._exit(0)") == 10
    thread = "threading.Thread(target=os._exit, args=[0]).start()\nthreading.Event().wait()"
    assert ended(thread) == 10


def test_the_runtime_and_processes_that_are_forked_end_as_they_say() -> None:
    assert ended("end_process(0)") == 0
    forked = "pid = os.fork()\nif not pid: os._exit(0)\nend_process(os.waitpid(pid, 0)[1])"
    assert ended(forked) == 0


def test_a_run_in_one_process_does_not_look_well_where_a_function_ends_it() -> None:
    command = [sys.executable, "-m", "tests.unit.millrace.test_exiting"]
    run = subprocess.run(command, cwd=ROOT, check=False, capture_output=True, text=True)
    assert run.returncode == 1
    assert "operator Op failed on Number(value=3): SystemExit: os._exit(0)" in run.stderr


def plain() -> Iterator[Number]:
    yield Number(0)
    os._exit(7)  # with 0 a run of tests that ends here would look well


async def asynchronous() -> AsyncIterator[Number]:
    yield Number(0)
    os._exit(7)


def at_once() -> Iterator[Number]:
    os._exit(7)


@pytest.mark.parametrize("source", [plain, asynchronous, at_once])
def test_a_source_that_ends_the_process_is_named(source: Any) -> None:
    app = App("demo::Ends")
    app.source(source, name="Op").sink(lambda number: None)
    with pytest.raises(OperatorFailed, match=r"operator Op failed: SystemExit: os\._exit\(7\)"):
        app.run()


def ends(*_: object) -> Any:
    os._exit(7)


STEPS: dict[str, Callable[[Stream[Number]], object]] = {
    "flat_map": lambda stream: stream.flat_map(ends, returns=Number, name="Op").sink(print),
    "filter": lambda stream: stream.filter(ends, name="Op").sink(print),
    "aggregate": lambda stream: (
        stream.window(tumbling(count=1)).aggregate(ends, returns=Number, name="Op").sink(print)
    ),
    "sink": lambda stream: stream.sink(ends, name="Op"),
}


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
def test_a_function_that_ends_the_process_is_named(step: Any) -> None:
    app = App("demo::Ends")
    step(app.source(lambda: [Number(3)], returns=Number))
    with pytest.raises(OperatorFailed, match=r"operator Op failed on Number\(value=3\): System"):
        app.run()


class Ends:
    """A function that ends the process where it is flushed."""

    def __call__(self, number: Number) -> None:
        """Take it."""

    def flush(self) -> None:
        os._exit(7)


def test_a_flush_that_ends_the_process_is_named() -> None:
    app = App("demo::Ends")
    app.source(lambda: [Number(0)], returns=Number).sink(Ends(), name="Op")
    with pytest.raises(OperatorFailed, match=r"operator Op failed in flush: SystemExit: os"):
        app.run()


def test_a_fork_of_a_function_ends_as_it_says() -> None:
    codes: list[int] = []

    def forks(number: Number) -> None:
        if not (pid := os.fork()):
            os._exit(number.value)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))

    app = App("demo::Forks")
    app.source(lambda: [Number(3)], returns=Number).sink(forks)
    app.run()
    assert codes == [3]


def test_after_a_run_os_exit_is_what_it_was() -> None:
    before = os._exit
    with guarded():
        assert os._exit is not before
    assert os._exit is before


def test_runs_that_overlap_are_guarded_until_the_last_of_them_ends() -> None:
    before = os._exit
    first, second = guarded(), guarded()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert os._exit is not before
    second.__exit__(None, None, None)
    assert os._exit is before


def leaves(number: Number) -> None:
    os._exit(0)


if __name__ == "__main__":
    run = App("demo::Leaves")
    run.source(lambda: [Number(3)], returns=Number).sink(leaves, name="Op")
    run.run()

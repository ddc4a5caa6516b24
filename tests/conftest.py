"""What holds for every test of the project."""

from __future__ import annotations

import asyncio
import gc
import os
from collections.abc import Generator, Iterator

import pytest
import structlog
from hypothesis import settings

from tests import tries, virtual_time
from tests.patience import NoPatience, patient
from tests.pieces import noting, selecting

pytest_plugins = ["pytester"]
PAIR_SETTINGS = ("MILLRACE_KUBECONFIG", "MILLRACE_BOOTSTRAP_SERVERS")

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("searching", print_blob=True, deadline=None)
settings.load_profile("repeatable")
"""A change is judged by what it changed: the same examples for everybody until a test changes.
New ones are looked for by `make search`; otherwise an old defect that one example in a million
shows stops a change that has nothing to do with it. No example has a deadline: which one is the
first to be slow says more about the machine than about the change."""


WORKERS_MAX = 8
"""Each has a system of its own for the tests of it, which is seven processes."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """How many `-n auto` is: one more than cores, since tests of a running system mostly wait."""
    return min((os.cpu_count() or 1) + 1, WORKERS_MAX)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """No test finds an event loop that it did not ask for, and the time of a test is stretched.

    Otherwise the plugin for virtual time makes one in every plain test and leaves it open, and
    warnings are errors. Markers stretch their time themselves.
    """
    asyncio.set_event_loop(None)
    given = config.option.timeout
    try:
        config.option.timeout = patient(float(config.getini("timeout") if given is None else given))
    except NoPatience as refused:
        raise pytest.UsageError(str(refused)) from None


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Count what is tried again, which CI has a limit on, and note what each test takes."""
    tries.note(report)
    noting.note(report)


@pytest.fixture(autouse=True)
def _logging_is_plain_and_ends_with_the_test() -> Iterator[None]:
    """A test that sets up logging writes to a stream that is closed when it ends.

    Before it does, tracebacks are plain: with the values of all variables, which structlog prints
    otherwise, one of a service takes seconds.
    """
    plain = structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[structlog.processors.add_log_level, plain])
    yield
    structlog.reset_defaults()


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Spare the garbage collector what lives as long as the run: modules, ten thousand tests.

    A test makes much and keeps little, and what it leaves in cycles can wait.
    """
    virtual_time.note_threads_of_runner()
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.set_threshold(20_000, 20, 50)
        gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Tests on the real pair want one; `make test` has none, `make test-real` brings it up.

    Tests of a whole system are tried twice on either backend, and `-rR` tells which were: their
    machine may stand still for seconds. A test that no such thing excuses says so by `flaky`.
    """
    selecting.leave_out(config, items)
    has_pair = all(os.environ.get(name) for name in PAIR_SETTINGS)
    reason = f"no real pair: `make test-real` brings one up and sets {' and '.join(PAIR_SETTINGS)}"
    for item in items:
        marks = {mark.name for mark in item.iter_markers()}
        if "e2e" in marks and "flaky" not in marks:
            item.add_marker(pytest.mark.flaky(reruns=1))
        if "wheel" in marks and config.option.markexpr != "wheel":
            item.add_marker(pytest.mark.skip(reason="needs a package index: `make test-wheel`"))
        if "compose" in marks and config.option.markexpr != "compose":
            item.add_marker(pytest.mark.skip(reason="needs a Docker engine: `make test-compose`"))
        if "real" in marks and not has_pair:
            item.add_marker(pytest.mark.skip(reason=reason))

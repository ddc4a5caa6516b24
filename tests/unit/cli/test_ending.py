"""A signal ends a command after its cleanup, with the exit code of the signal."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Iterator

import pytest
import typer

from cli.ending import run
from cli.failing import TimedOut


@pytest.fixture
def _interruptible() -> Iterator[None]:
    """Enable SIGINT, also if a shell started the tests in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interruptible")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_a_command_after_its_cleanup(number: int, code: int) -> None:
    """Temporary folders and children are removed in a `finally`; a signal must not skip it."""
    cleaned: list[str] = []

    async def work() -> None:
        try:
            os.kill(os.getpid(), number)
            await asyncio.sleep(10)
        finally:
            cleaned.append("up")

    with pytest.raises(typer.Exit) as ended:
        run(work)
    assert (ended.value.exit_code, cleaned) == (code, ["up"])


def test_a_failure_is_a_sentence_and_its_exit_code(capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback."""

    async def work() -> None:
        raise TimedOut("it did not come")

    with pytest.raises(typer.Exit) as ended:
        run(work)
    assert ended.value.exit_code == 4
    assert capsys.readouterr().err == "millrace: it did not come\n"

"""Children are restarted with a growing delay, which is reset after a long run."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import pytest

from cli.children import RESTART_DELAY_S, RESTART_RESETS_AFTER_S, Child, ChildEnded, ChildSpec
from services.chassis.process.settings import EXIT_USAGE
from tests.virtual_time import virtually


class _Ending(Child):
    """A child whose runs last `lives_s`, and that stops after the last one."""

    def __init__(self, lives_s: list[float]) -> None:
        super().__init__(ChildSpec("c", ("true",)), Path("c.log"))
        self._lives_s = lives_s
        self.began_s: list[float] = []

    async def _run_once(self) -> int:
        self.began_s.append(asyncio.get_running_loop().time())
        await asyncio.sleep(self._lives_s.pop(0))
        self._stopping = not self._lives_s
        return 1


@virtually
async def test_the_delay_doubles_and_is_reset_after_a_long_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lives_s = [0.0, 0.0, 0.0, RESTART_RESETS_AFTER_S + 1.0, 0.0, 0.0]
    child = _Ending(list(lives_s))
    await child.keep_running()
    ended_s = [began + lived for began, lived in zip(child.began_s, lives_s, strict=True)]
    delays = [b - e for b, e in zip(child.began_s[1:], ended_s[:-1], strict=True)]
    assert delays == pytest.approx([RESTART_DELAY_S * n for n in (1, 2, 4, 1, 2)])
    assert "starting it again in" in capsys.readouterr().err


async def test_a_child_that_ends_over_its_settings_is_not_started_again(tmp_path: Path) -> None:
    """Its output is in the message; a restart would read the same settings."""
    problem = "MILLRACE_X='y': has to be z"
    program = f"import sys; sys.stderr.write({problem!r}); sys.exit({EXIT_USAGE})"
    command = (sys.executable, "-c", program)
    child = Child(ChildSpec("fusion-backend", command), tmp_path / "log")
    with pytest.raises(ChildEnded, match="fusion-backend ended with code 2") as caught:
        await child.keep_running()
    assert problem in str(caught.value)
    assert child.restarts == 0

"""What is shown of a job that does not exist."""

from __future__ import annotations

import asyncio
import io
from typing import Any, cast

import pytest

from cli.ending import after_time_out
from cli.failing import NotBegun, TimedOut
from cli.following import Follower, following, shown_meanwhile
from cli.showing import Screen
from tests.virtual_time import virtually


class Views:
    """A follower whose job has these views, one after the other."""

    job = "j"

    def __init__(self, *views: object) -> None:
        self._views = list(views)

    @property
    def view(self) -> Any:
        return self._views.pop(0) if self._views else None


@pytest.mark.parametrize(("first", "when"), [(None, "yet"), (object(), "any more")])
async def test_a_job_that_is_gone_is_not_one_that_will_come(first: object, when: str) -> None:
    """During a deletion the table said that the job did not exist yet."""
    file = io.StringIO()
    async with shown_meanwhile(cast(Follower, Views(first)), Screen(file=file, width=200)):
        pass
    assert file.getvalue() == f"job j does not exist {when}\n"


@virtually
@pytest.mark.parametrize("has_written", [False, True])
async def test_a_time_out_before_the_first_list_says_whether_a_request_stands(
    monkeypatch: pytest.MonkeyPatch, has_written: bool
) -> None:
    """`scale` lists before it writes, `submit` writes before it lists."""

    async def never_listed(_self: Follower, _resource: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr(Follower, "run", never_listed)
    with pytest.raises(TimedOut, match="the first list did not come") as caught:
        async with following(cast(Any, None), "default", "j", has_written=has_written):
            pass
    assert isinstance(caught.value, NotBegun) is not has_written
    (line,) = await after_time_out(None, has_written=has_written)
    assert ("stands" in line) is has_written

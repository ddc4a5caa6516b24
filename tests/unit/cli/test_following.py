"""What is shown of a job that does not exist."""

from __future__ import annotations

import io
from typing import Any, cast

import pytest

from cli.following import Follower, shown
from cli.showing import Screen


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
    async with shown(cast(Follower, Views(first)), Screen(file=file, width=200)):
        pass
    assert file.getvalue() == f"job j does not exist {when}\n"

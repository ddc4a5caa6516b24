"""The region that `millrace scale` names, or why there is none."""

from __future__ import annotations

import pytest

from cli.failing import Failure
from cli.jobs import like_job, region_of
from tests.builders import a_job
from tests.sandboxed import Sandboxed
from tests.virtual_time import virtually


@virtually
async def test_a_job_that_is_not_planned_yet_has_its_regions_later() -> None:
    sandboxed = Sandboxed()
    sandboxed.create(a_job("shop"))
    with pytest.raises(Failure, match="job shop is not planned yet: try again"):
        await region_of(sandboxed.client(), "default", "shop", "Counted")


@virtually
async def test_a_job_that_is_planned_and_has_no_region_says_so() -> None:
    sandboxed = Sandboxed()
    sandboxed.create(a_job("shop").with_status(phase="Submitted", generation=0))
    with pytest.raises(Failure, match="job shop has no parallel region"):
        await region_of(sandboxed.client(), "default", "shop", "Counted")


@virtually
async def test_a_job_that_does_not_exist_is_named() -> None:
    with pytest.raises(Failure, match="there is no job shop in namespace default"):
        await region_of(Sandboxed().client(), "default", "shop", "Counted")


@virtually
async def test_names_like_a_misspelt_one_are_offered() -> None:
    sandboxed = Sandboxed()
    sandboxed.create(a_job("wordcount"))
    kube = sandboxed.client()
    assert await like_job(kube, "default", "wordcuont") == "did you mean wordcount?"
    assert await like_job(kube, "default", "shop") == ""

"""Values of 500 generated types are the same in one process and in PEs, restarted and resized.

tests/values/app.py is the application. What its sinks wrote is compared line by line.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from cli.bundling import pack_source
from tests.e2e.watching import Cluster, JobObjects
from tests.numbered.sandboxed import COMPLETED, FLOW_S_MAX, Numbered, Prepared, spec_of, with_claim
from tests.patience import patient
from tests.places import ROOT
from tests.values.app import KINDS, PARTS, TYPES, app, values_of_submission

COVERS = (
    "millrace/codecs.py",
    "millrace/converting.py",
    "millrace/remaking.py",
    "millrace/state_types.py",
    "millrace/tuple_types.py",
    "millrace/runtime/checking.py",
    "millrace/runtime/stores.py",
    "tests/unit/millrace/odd_values.py",
    "tests/values/*",
)
pytestmark = [
    pytest.mark.e2e,
    pytest.mark.piece("exact/0"),
    pytest.mark.timeout(patient(600) + FLOW_S_MAX),
    pytest.mark.flaky(reruns=0),
    pytest.mark.skipif(
        "MILLRACE_EXACT_SCHEDULES" not in os.environ,
        reason="it takes about a minute of both cores: `make exact`",
    ),
]
BUNDLE: Final = "tests.Values.sab"
PES: Final = (1, 6)
"""Into so many PEs the operators of each job are fused."""
WIDTHS: Final = {2: 3, 3: 1}
"""The width that the regions get before a part; before the first one all PEs are restarted."""
MARK_S_MAX: Final = patient(240.0)
POLL_S: Final = 0.2


def packed(folder: Path) -> Path:
    """The application, and the module that generates types: in a folder without other tests."""
    shutil.copy(ROOT / "tests" / "values" / "app.py", folder)
    generating = Path("tests", "unit", "millrace", "odd_values.py")
    (folder / generating).parent.mkdir(parents=True)
    shutil.copy(ROOT / generating, folder / generating)
    return pack_source(folder / "app.py:app", folder / BUNDLE)


def written(folder: Path) -> Counter[str]:
    """The lines that all sinks wrote; those of a stream begin with its number."""
    found = Counter[str]()
    for kind in KINDS:
        lines = (folder / f"{kind.number}.txt").read_text("utf-8").split("\n")[:-1]
        found.update(f"{kind.number} {line}" for line in lines)
    return found


async def until_given(folder: Path, part: int) -> None:
    """Return when all sources have given what comes before a part, and wait."""
    async with asyncio.timeout(MARK_S_MAX):
        while not all((folder / f"given-{kind.number}-{part}").exists() for kind in KINDS):  # noqa: ASYNC110
            await asyncio.sleep(POLL_S)


async def resize_all(around: Prepared, job: JobObjects, width: int) -> None:
    """Give all regions a width; returns when it is in force."""
    names = [f"Region{kind.number}" for kind in KINDS]
    for name in names:
        await around.cluster.resize(job, name, width)
    await job.until(
        f"width {width}",
        lambda: all(job.width_in_force(each) == width for each in names) and job.all_running(),
        FLOW_S_MAX,
    )


async def one(around: Prepared, pes: int) -> Counter[str]:
    """What the sinks of a job wrote that was restarted and resized."""
    async with around.cluster.job(f"values-{pes}") as job:
        values = {**values_of_submission(), "waits": True}
        spec = spec_of(job.job, {"manual": pes}, values, BUNDLE)
        await around.cluster.submit(job.job, spec)
        folder = around.claim / f"data-{job.job}"
        for part in range(1, PARTS):
            await until_given(folder, part)
            if part in WIDTHS:
                await resize_all(around, job, WIDTHS[part])
            else:
                numbered = Numbered(around, job, 0)
                places = [(each + 0.5) / len(job.of("pes")) for each in range(len(job.of("pes")))]
                await asyncio.gather(*map(numbered.restart, places))
            (folder / f"go-{part}").touch()
        await job.until("completed", lambda: job.phase == COMPLETED, FLOW_S_MAX)
        return written(folder)


@pytest.mark.parametrize("pes", PES)
async def test_values_are_the_same_in_one_process_and_in_pes(
    pes: int,
    cluster: Cluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    request: pytest.FixtureRequest,
) -> None:
    if request.node.callspec.params["system"] == "real":
        pytest.skip("kwok plays the pods of the real pair: no tuple flows there")
    (tmp_path / "data").mkdir()
    monkeypatch.setenv("MILLRACE_ROOT", str(tmp_path))
    await app.run_async(values_of_submission())
    here = written(tmp_path / "data")
    assert here.total() > len(KINDS) * TYPES * PARTS // 2, "most fit"
    (tmp_path / "packed").mkdir()
    shutil.copy(packed(tmp_path / "packed"), cluster.system.bundles / BUNDLE)
    around = await with_claim(cluster)
    there = await one(around, pes)
    more, less = sorted((there - here).elements()), sorted((here - there).elements())
    assert (more, less) == ([], [])

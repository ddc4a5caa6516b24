"""`millrace events` shows what was seen and decided about a job, from a log that is written to."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import pytest
import zstandard

from tests.e2e.examples import with_example
from tests.e2e.test_asking import interrupted, ran
from tests.e2e.watching import TEST_S_MAX, Cluster, JobObjects
from tests.patience import patient

COVERS = (
    "history/sources.py",
    "history/recording.py",
    "history/recordings.py",
    "history/entries.py",
    "history/facts.py",
    "history/finding.py",
    "cli/history_commands.py",
    "cli/job_events.py",
    "cli/recording_jobs.py",
    "docs/history.md",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]


LOGGED_S = 20.0


async def all_is_logged(cluster: Cluster, job: JobObjects) -> None:
    """Wait until the log has the last decision about each PE.

    A decision is appended once it is carried out, to the partition of its PE: on a busy machine
    that of one PE may come some time after that of the next one, and after the status.
    """
    async with asyncio.timeout(patient(LOGGED_S)):
        while True:
            _, lines = await ran(cluster, f"events {job.job} --service pod-state-machine")
            if all(f"ProcessingElement/{pe}: PodRunning" in lines for pe in job.of("pes")):
                return
            await asyncio.sleep(0.2)


async def test_the_events_of_a_job_are_what_was_seen_and_decided_in_order(
    cluster: Cluster,
) -> None:
    async with cluster.job("history") as job:
        await with_example(cluster, job, 1)
        await all_is_logged(cluster, job)
        code, lines = await ran(cluster, f"events {job.job}")
        assert code == 0, lines
        first_launch = lines.index(f"ProcessingElement/{job.job}-0: FirstLaunch")
        running = lines.index(f"ProcessingElement/{job.job}-0: PodRunning")
        assert lines.index(f"saw       Job/{job.job}: exists") < first_launch < running
        assert "event     " in lines
        assert f"(because of ProcessingElement/{job.job}-0)" in lines
        code, lines = await ran(cluster, f"events {job.job} --service pod-state-machine -o json")
        found = [json.loads(line) for line in lines.splitlines()]
        assert {each["service"] for each in found} == {"pod-state-machine"}
        assert [each["time"] for each in found] == sorted(each["time"] for each in found)
        created = [effect for each in found for effect in each["effects"]]
        assert "CreatePod" in {effect["name"] for effect in created}
        assert await interrupted(cluster, f"events {job.job} --follow --since 1h") == (130, "")
    code, lines = await ran(cluster, f"events {job.job} --since 10m")
    assert (code, f"Job/{job.job}: is gone" in lines) == (0, True)


async def test_a_job_is_recorded_and_its_events_are_those_of_the_log(
    cluster: Cluster, tmp_path: Path
) -> None:
    async with cluster.job("recorded") as job:
        await with_example(cluster, job, 1)
        await all_is_logged(cluster, job)
        out, redacted = tmp_path / "h.zst", tmp_path / "r.zst"
        code, output = await ran(cluster, f"record --out {out} --job {job.job}")
        assert code == 0, output
        assert f"{out}: " in output
        assert await ran(cluster, f"record --out {out}") == (
            2,
            f"millrace: {out} exists and is not replaced: name another file\n",
        )
        pods = f"events {job.job} --service pod-state-machine"
        _, lines = await ran(cluster, f"{pods} --recording {out}")
        assert f"ProcessingElement/{job.job}-0: FirstLaunch" in lines
        assert lines == (await ran(cluster, pods))[1]
        words = f"record --out {redacted} --recording {out} --redact"
        code, output = await ran(cluster, words)
        assert code == 0, output
        text = zstandard.ZstdDecompressor().stream_reader(
            redacted.read_bytes(), read_across_frames=True
        )
        assert job.job.encode() not in text.read()
        assert set(os.listdir(tmp_path)) == {"h.zst", "r.zst"}


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("record --out /nowhere/h.zst", 1, "/nowhere/h.zst cannot be written"),
        ("record --out h.zst --job nothing", 1, "no decision about job nothing"),
        ("events nothing", 1, "there is nothing about job nothing"),
        ("events j --since yesterday", 2, "say an age"),
        ("events j --service scheduler", 2, "the services are"),
        ("events j --recording nowhere.zst", 2, "nowhere.zst cannot be read"),
        ("events j --bus sqlite:///nowhere/log.sqlite", 3, "there is no log at"),
        ("events j --bus nowhere", 2, "neither sqlite:///PATH nor kafka://"),
        ("events j --bus sqlite:///etc/hostname", 1, "cannot be read as a log of millrace"),
    ],
)
async def test_a_log_that_cannot_be_read_is_a_sentence(
    cluster: Cluster, words: str, code: int, sentence: str
) -> None:
    found, output = await ran(cluster, words)
    assert (found, sentence in output) == (code, True), output

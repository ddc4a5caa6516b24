"""The commands of docs/cli.md answer about a running job."""

from __future__ import annotations

import asyncio
import json
import re
import shlex
import signal
import sys

import pytest

from tests.e2e.commands import run_command
from tests.e2e.examples import with_example
from tests.e2e.watching import TEST_S_MAX, Cluster
from tests.places import ROOT

COVERS = (
    "cli/describing.py",
    "cli/inspecting.py",
    "cli/look_commands.py",
    "cli/job_commands.py",
    "cli/watching_commands.py",
    "cli/flowing.py",
    "cli/printing.py",
    "cli/phrasing.py",
    "cli/jobs.py",
    "cli/__main__.py",
    "cli/commands.py",
    "docs/cli.md",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]
EXAMPLES = [
    words
    for words in re.findall(
        r"^millrace ([^#\n]*)", (ROOT / "docs" / "cli.md").read_text(), flags=re.MULTILINE
    )
    if not words.startswith("tap ")  # the image of this job has no tap: tests/unit/cli/test_tapping
]
AT_ONCE = 2
INTERRUPTIBLE = (
    "import signal; signal.signal(signal.SIGINT, signal.default_int_handler);"
    "from cli.__main__ import main; main()"
)
"""Also if a shell started the tests in the background."""


async def ran(cluster: Cluster, words: str) -> tuple[int, str]:
    """The exit code and the output of a command."""
    return await run_command(words, cluster.system.kubeconfig)


async def test_every_example_of_the_page_answers_and_changes_no_more_than_it_says(
    cluster: Cluster,
) -> None:
    """Of all PEs, one is restarted. A misspelled value is shown, which no phase does."""
    async with cluster.job("wordcount") as job:
        await with_example(cluster, job, 3, submissionTimeValues={"width": "3", "widht": "9"})
        before = set(job.of("pods"))
        turn = asyncio.Semaphore(AT_ONCE)

        async def answer(words: str) -> tuple[str, int, str]:
            async with turn:
                return (words.strip(), *(await ran(cluster, words)))

        found = await asyncio.gather(*map(answer, EXAMPLES))
        answers = {words: output for words, _, output in found}
        has_logs = not cluster.system.bus.startswith("kafka")
        failed = {
            words: output
            for words, code, output in found
            if code and (has_logs or not words.startswith("logs"))
        }
        assert not failed
        assert "WithoutEffect: spec.submissionTimeValues.widht" in answers["get wordcount"]
        document = json.loads(answers["get wordcount -o json"])
        assert [each["widthInForce"] for each in document["regions"]] == [3]
        assert "wordcount-6" in answers["describe wordcount"]
        assert "SubmissionSucceeded" in answers["events wordcount"]
        assert "wordcount-7  new" in answers["scale wordcount Counted=4 --dry-run"]
        assert "nothing changes" in answers["scale wordcount Counted=3"]
        await job.until("the restarted PE", job.is_settled)
        assert len(before - set(job.of("pods"))) == 1


async def interrupted(cluster: Cluster, words: str) -> tuple[int | None, str]:
    """The exit code and the errors of a command that gets Ctrl-C after its first line."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", INTERRUPTIBLE, *shlex.split(words)),
        *("--kubeconfig", str(cluster.system.kubeconfig)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    assert await process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, errors = await process.communicate()
    return process.returncode, errors.decode()


async def test_ctrl_c_ends_a_command_that_watches_with_130_and_no_traceback(
    cluster: Cluster,
) -> None:
    async with cluster.job("watched") as job:
        await with_example(cluster, job, 1)
        watching = ("get --watch", f"get {job.job} --watch", f"events {job.job} --watch")
        found = await asyncio.gather(*(interrupted(cluster, words) for words in watching))
        assert found == [(130, "")] * len(watching)

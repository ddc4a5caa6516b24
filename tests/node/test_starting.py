"""How long a service's pod takes from its start to ready where there are many PEs; not for CI.

`make bench-node` says how many. Aimed at: 3 s with 1,000 PEs.
"""

from __future__ import annotations

import os
import sys
from datetime import datetime

import pytest

from tests.e2e.examples import OUTSIDE
from tests.e2e.following import ordeal
from tests.e2e.watching import Obj
from tests.node.grounds import Ground
from tests.node.installation import installed
from tests.node.pods import ServicePods, delete_at_once, drain
from tests.node.steps import Steps
from tests.patience import patient

PES_SETTING = "MILLRACE_NODE_PES"
PES = int(os.environ.get(PES_SETTING, "0"))
WAIT_S = patient(120.0 + PES)
pytestmark = [
    pytest.mark.node,
    pytest.mark.timeout(patient(1800)),
    pytest.mark.skipif(not PES, reason=f"{PES_SETTING} says with how many PEs: `make bench-node`"),
]


async def test_the_start_of_every_service_beside_many_pes(
    up: Ground, steps: Steps, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the creation of the pod to its readiness, as the cluster records them, in seconds."""
    async with installed(up, steps) as there:
        steps.began(f"{PES} PEs until they run")
        async with ordeal(there.cluster, "many", PES - OUTSIDE, WAIT_S):
            steps.passed(f"{PES} PEs until they run")
            lines = []
            for service in there.services:
                for how, end in (("drained", drain), ("deleted at once", delete_at_once)):
                    before = frozenset(await service.containers())
                    await end(service)
                    await service.until_ready(without=before)
                    lines.append(f"{service.service}, {how}: {await _times(service)}")
    with capsys.disabled():
        sys.stdout.write("\n" + "".join(f"  {line}\n" for line in lines))


async def _times(service: ServicePods) -> str:
    (pod,) = await service.pods()
    (status,) = pod["status"]["containerStatuses"]
    created = _moment(pod["metadata"]["creationTimestamp"])
    started = _moment(status["state"]["running"]["startedAt"])
    ready = _moment(_condition(pod, "Ready")["lastTransitionTime"])
    return (
        f"{(started - created).total_seconds():.0f} s until its process started, "
        f"{(ready - started).total_seconds():.0f} s more until it was ready"
    )


def _condition(pod: Obj, kind: str) -> Obj:
    return next(each for each in pod["status"]["conditions"] if each["type"] == kind)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)

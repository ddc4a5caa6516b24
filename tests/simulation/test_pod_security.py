"""What a Job may ask of its pods, with every service at work: refused early, and met by pods."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from services.fusion_backend.core.spec.pod_security import Level, excesses
from tests.simulation.applications import submit_example
from tests.simulation.world import World, simulate

Obj = dict[str, Any]
TOKEN: Obj = {"spec": {"serviceAccountName": "builder", "automountServiceAccountToken": True}}


def status(world: World) -> Obj:
    found: Obj = world.objects("streamsjobs")["j"].get("status") or {}
    return found


def test_a_job_that_asks_for_another_account_fails_and_leaves_nothing(tmp_path: Path) -> None:
    """Condition and Event name field, value and setting; a job beside it runs."""

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=2, more={"processingElement": {"podTemplate": TOKEN}})
        await world.until("failed", lambda: status(world).get("phase") == "Failed")
        await world.settle()
        (accepted,) = (each for each in status(world)["conditions"] if each["type"] == "Accepted")
        (event,) = (
            each for each in world.objects("events").values() if each["reason"] == "PodSecurity"
        )
        for text in (accepted["message"], event["message"]):
            for words in (
                "podTemplate.spec.serviceAccountName",
                "builder",
                "MILLRACE_POD_SECURITY",
            ):
                assert words in text
        for plural in ("pods", "streamspes", "services", "streamsprs"):
            assert world.objects(plural) == {}, plural

    simulate(tmp_path, test)


def test_pods_of_a_system_at_restricted_meet_restricted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fusion-backend writes and pod-state-machine renders, as the API server has it.

    Pods get one token, for pe-gateway alone.
    """
    monkeypatch.setenv("MILLRACE_POD_SECURITY", "restricted")

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=2, more={"processingElement": {}})
        await world.until("running", lambda: world.is_running("j"))
        pods = world.objects("pods")
        assert pods
        for name, pod in pods.items():
            beyond = [each.field for each in excesses(pod, Level.RESTRICTED, name)]
            assert beyond == []
            token = pod["spec"]["volumes"][2]["projected"]["sources"][0]["serviceAccountToken"]
            assert token["audience"] == "streams-api"

    simulate(tmp_path, test)

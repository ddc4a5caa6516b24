"""What facts of pods carry, and when it changes."""

from __future__ import annotations

from typing import Any

from contracts.facts import project
from tests.builders import a_pod


def seen(**status: Any) -> Any:
    return project("Pod", a_pod().with_status(**status).build())


def test_the_address_of_a_pod_is_in_its_facts_once_it_runs() -> None:
    assert seen(phase="Running", podIP="10.0.0.7")["ip"] == "10.0.0.7"
    assert "ip" not in seen(phase="Running")
    assert "ip" not in seen(phase="Succeeded", podIP="10.0.0.7")


def test_an_address_that_comes_before_the_pod_runs_makes_no_fact() -> None:
    assert seen(phase="Pending", podIP="10.0.0.7") == seen(phase="Pending")

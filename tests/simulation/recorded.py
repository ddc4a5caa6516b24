"""Objects of a running job as the release before wrote them, put into a simulated cluster.

`recorded/before_packs.jsonl` holds the example with width 2 as commit 4a0af8d left it in this
simulation: a Service and a ConfigMap for each PE, plan records of schema version 4. One line is
one object; owners come before what they own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson

from services.chassis.kube.resources import resource_of
from tests.simulation.applications import put_example
from tests.simulation.world import World

BEFORE_PACKS = Path(__file__).parent / "recorded" / "before_packs.jsonl"
JOB = "j"
OTHER_UIDS = 1
"""A seed of the simulation under which no new object gets the uid of a recorded one."""


def load(world: World, file: Path = BEFORE_PACKS) -> None:
    """Store the objects as they are, with uids and times, and the bundle of their job."""
    for line in file.read_bytes().splitlines():
        obj: dict[str, Any] = orjson.loads(line)
        world.store._state.commit(world.kind(resource_of(obj["kind"]).plural), obj, None)
    put_example(world)

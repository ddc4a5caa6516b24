"""The floor writes what the design counts, in the order that any writer has to keep."""

from __future__ import annotations

from typing import Any

from loadtest.floor import Floor
from loadtest.profiles import resize_floor_writes, submit_floor_writes


class Recording:
    """An API that accepts and records every request."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    async def call(self, method: str, path: str, body: dict[str, Any] | None, _: str) -> None:
        name = f"/{body['metadata']['name']}" if body and method == "POST" else ""
        self.calls.append(f"{method} {path}{name}")


async def test_the_floor_makes_as_many_writes_as_the_design_counts() -> None:
    api = Recording()
    floor = Floor(api, "n", "run")  # type: ignore[arg-type]
    await floor.submit(7)
    assert len(api.calls) == submit_floor_writes(7)
    api.calls.clear()
    await floor.resize(pes=7, added=2, changed=5)
    assert len(api.calls) == resize_floor_writes(added=2, changed=5)


async def test_a_pod_comes_after_its_pe_and_after_the_end_of_the_old_pod() -> None:
    api = Recording()
    floor = Floor(api, "n", "run")  # type: ignore[arg-type]
    await floor.submit(1)
    await floor.resize(pes=1, added=0, changed=1)
    await floor.resize(pes=1, added=0, changed=1)
    core, pes = "/api/v1/namespaces/n", "/apis/streams.ibm.com/v1/namespaces/n/streamspes"
    order = [
        f"POST {pes}/run-0",
        f"POST {core}/pods/run-0-1",
        f"DELETE {core}/pods/run-0-1",
        f"POST {core}/pods/run-0-2",
        f"DELETE {core}/pods/run-0-2",
        f"POST {core}/pods/run-0-3",
    ]
    assert [call for call in api.calls if call in order] == order

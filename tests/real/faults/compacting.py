"""etcd forgets: what is older than now can be requested no more, as after its compaction.

kube-apiserver compacts every five minutes and still answers from its cache; where it starts again
after a compaction, no version from before is known to anybody.
"""

from __future__ import annotations

import base64
from typing import Any

import aiohttp

from tools.real.pair import Pair, start_part, stop_part
from tools.real.parts import API_SERVER, ETCD

ANY_KEY = base64.b64encode(b"/registry/").decode()


async def compact(pair: Pair) -> int:
    """Let etcd forget everything before its newest revision, which is returned."""
    assert pair.folder is not None
    plan = pair.folder.plan()
    assert plan is not None
    async with aiohttp.ClientSession(f"http://{plan.address(ETCD)}") as etcd:
        newest = int((await _ask(etcd, "range", {"key": ANY_KEY}))["header"]["revision"])
        await _ask(etcd, "compaction", {"revision": str(newest), "physical": True})
    return newest


async def forget_everything(pair: Pair) -> None:
    """Start the API server again on a compacted etcd: every version from before is gone."""
    await stop_part(pair, API_SERVER)
    await compact(pair)
    await start_part(pair, API_SERVER)


async def _ask(etcd: aiohttp.ClientSession, what: str, question: dict[str, Any]) -> dict[str, Any]:
    async with etcd.post(f"/v3/kv/{what}", json=question) as answer:
        said: dict[str, Any] = await answer.json()
        assert answer.status == 200, said
        return said

"""Carries out the effects of this service: one `match`, every write through the chassis's Writer.

Guards that need a look at the API server are here. What a look finds enters the table; if the key
shows anything else after it than the decision saw, the decision is superseded and made again.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from typing import Any

from contracts import labels
from contracts.facts import project
from contracts.scheduling.nodes import node_of
from services.chassis.kube.port import KubeClient
from services.chassis.kube.resources import resource_of
from services.chassis.kube.writing import Outcome, Writer
from services.chassis.process.errors import Expired, Superseded, Transient
from services.chassis.table.entries import Entry
from services.chassis.table.table import Table
from services.node_tainter.adapters.intake import HOST_POOL, NODE, snapshot_of
from services.node_tainter.core.effects import AddFinalizer, Effect, RemoveFinalizer, SetMarks
from services.node_tainter.core.marking import marking_patch, marks_of
from services.node_tainter.core.snapshot import Key, PoolKey, Snapshot

GONE_UIDS_MAX = 10_000


class CarryOut:
    """Executes effects; each returns its outcome in a word."""

    def __init__(self, table: Table, writer: Writer, kube: KubeClient) -> None:
        self._table = table
        self._writer = writer
        self._kube = kube
        self._gone: OrderedDict[str, None] = OrderedDict()
        self._listing_pools = asyncio.Lock()
        self._released: set[str] = set()
        self._listing_nodes = asyncio.Lock()

    async def run(self, key: Key, snapshot: Snapshot, effect: Effect) -> str:
        """One effect; raises the chassis's Transient, Rejected or Superseded."""
        match effect:
            case SetMarks():
                return await self._set_marks(key, snapshot, effect)
            case AddFinalizer():
                return await self._set_finalizer(key, snapshot, is_there=True)
            case RemoveFinalizer():
                await self._look_for_carriers(effect.uid)
                return await self._set_finalizer(key, snapshot, is_there=False)

    # ------------------------------------------------------------------ nodes

    async def _set_marks(self, key: Key, snapshot: Snapshot, effect: SetMarks) -> str:
        for pool in effect.believed_left:
            await self._look_at(pool)
        if effect.believed_gone:
            await self._look_for_pools(effect.believed_gone)
        entry = self._as_decided(key, snapshot, NODE, effect.name)
        node = entry.data
        patch = marking_patch(node["metadata"]["labels"], node["taints"], effect.marks)
        return await self._writer.patch(entry, patch) if patch else Outcome.UNCHANGED

    def _as_decided(self, key: Key, snapshot: Snapshot, kind: str, name: str) -> Entry:
        """The entry of the object that is to be written, if all is as the decision saw it."""
        namespace = key.namespace if isinstance(key, PoolKey) else ""
        entry = self._table.get(kind, namespace, name)
        if entry is None or snapshot_of(self._table, key) != snapshot:
            raise Superseded(f"{key} is not what was decided on")
        return entry

    # ------------------------------------------------------------------ pools

    async def _set_finalizer(self, key: Key, snapshot: Snapshot, *, is_there: bool) -> str:
        assert isinstance(key, PoolKey)
        entry = self._as_decided(key, snapshot, HOST_POOL, key.name)
        others = [
            each
            for each in entry.data["metadata"]["finalizers"]
            if each != labels.NODE_CLAIMS_FINALIZER
        ]
        finalizers = [*others, labels.NODE_CLAIMS_FINALIZER] if is_there else others
        return await self._writer.patch(entry, {"metadata": {"finalizers": finalizers or None}})

    # ------------------------------------------------------------------ looks at the API

    async def _look_at(self, pool: PoolKey) -> None:
        """A pool that lives: its members may be newer than the cache."""
        await self._writer.confirm_absent(resource_of(HOST_POOL), pool.namespace, pool.name)

    async def _look_for_pools(self, uids: tuple[str, ...]) -> None:
        """Pools that are known by uid only, in any namespace; what is found enters the table.

        A uid that a node carries and no pool has will never come back: it is looked for once.
        """
        async with self._listing_pools:
            unknown = [uid for uid in uids if uid not in self._gone]
            if not unknown:
                return
            read_at = self._table.heard
            found = set()
            async for pool in self._all_of(HOST_POOL):
                uid = str(pool["metadata"]["uid"])
                if uid in unknown:
                    found.add(uid)
                    self._writer.observe(HOST_POOL, pool, read_at=read_at)
            for uid in unknown:
                if uid not in found:
                    self._gone[uid] = None
            while len(self._gone) > GONE_UIDS_MAX:
                self._gone.popitem(last=False)

    async def _look_for_carriers(self, uid: str) -> None:
        """Nodes that carry the uid of a pool: another instance may have marked one just now.

        Pools are often deleted together, so calls that wait for a list share the next one.
        """
        self._released.add(uid)
        async with self._listing_nodes:
            looked_for = frozenset(self._released)
            if uid not in looked_for:
                return
            read_at = self._table.heard
            async for node in self._all_of(NODE):
                if not looked_for.isdisjoint(_owners(node)):
                    self._writer.observe(NODE, node, read_at=read_at)
            self._released -= looked_for

    async def _all_of(self, kind: str) -> AsyncIterator[Mapping[str, Any]]:
        try:
            async for page in self._kube.list_pages(resource_of(kind), None):
                for obj in page.items:
                    yield obj
        except Expired as problem:
            raise Transient(f"the list of {kind}s expired", outcome_unknown=False) from problem


def _owners(node: Mapping[str, Any]) -> frozenset[str]:
    """The uids that a node carries."""
    seen = project(NODE, node)
    assert seen is not None
    return marks_of(node_of(node["metadata"]["name"], seen)).owners

"""All controllers of the embedded cluster, wired to one store and run as one task.

Make it with the store, `await run()` until cancelled. `kubelet` and `nodes` are the ports through
which tests and demos let pods fail and nodes go away.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sandbox.controllers.autoscaling import Autoscaling
from sandbox.controllers.eviction import Eviction
from sandbox.controllers.garbage_collector import GarbageCollector
from sandbox.controllers.informers import Informers
from sandbox.controllers.kubelet import Kubelet
from sandbox.controllers.kubelet_processes import Running
from sandbox.controllers.namespaces import Namespaces
from sandbox.controllers.node_life_cycle import NodeLifeCycle
from sandbox.controllers.nodes import Nodes
from sandbox.controllers.scheduler import Scheduler
from sandbox.controllers.settings import Settings
from sandbox.controllers.writes import Writes
from sandbox.store.store import Store


class Controllers:
    """The living part of the cluster. `now` gives unix seconds; timers are those of the loop."""

    def __init__(
        self,
        store: Store,
        *,
        now: Callable[[], float],
        settings: Settings | None = None,
        running: Running | None = None,
    ) -> None:
        settings = settings or Settings()
        writes = Writes(store)
        self._informers = Informers(store)
        self.nodes = Nodes(writes, self._informers, now, settings)
        self.kubelet = Kubelet(writes, self._informers, self.nodes, now, settings, running)
        self._works = [
            Scheduler(writes, self._informers, now, settings).work.run,
            self.kubelet.work.run,
            self.nodes.work.run,
            NodeLifeCycle(writes, self._informers, now, settings).work.run,
            Eviction(writes, self._informers, now, settings).work.run,
            GarbageCollector(writes, self._informers, now, settings).work.run,
            Namespaces(writes, self._informers, settings).work.run,
            Autoscaling(writes, self._informers, now, settings).work.run,
        ]

    async def run(self) -> None:
        """Keep the cluster going until cancelled."""
        self._informers.open()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._informers.run(), name="informers")
            for work in self._works:
                tasks.create_task(work())

"""The row of watch-ingest."""

from __future__ import annotations

from contracts.topics import CLUSTER, RESOURCES
from services.chassis.running.service import Service

ROW = Service(
    name="watch-ingest",
    settings="services.watch_ingest.settings:WatchIngestSettings",
    main="services.watch_ingest.adapters.leading:ingest_main",
    permissions="services.watch_ingest.adapters.permissions:PERMISSIONS",
    writes=(RESOURCES, CLUSTER),
    compose_port=18_081,
)

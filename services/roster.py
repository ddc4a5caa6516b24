"""The services of millrace: the one list of them, in the order in which `millrace up` starts them.

Everything that lists services is derived from these rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from contracts.topics import Topic
from services.chassis.running.service import Service
from services.fusion_backend.service import ROW as FUSION_BACKEND
from services.hostpool_manager.service import ROW as HOSTPOOL_MANAGER
from services.node_tainter.service import ROW as NODE_TAINTER
from services.pe_gateway.service import ROW as PE_GATEWAY
from services.pod_state_machine.service import ROW as POD_STATE_MACHINE
from services.watch_ingest.service import ROW as WATCH_INGEST

SERVICES: Final = (
    WATCH_INGEST,
    FUSION_BACKEND,
    HOSTPOOL_MANAGER,
    NODE_TAINTER,
    PE_GATEWAY,
    POD_STATE_MACHINE,
)
BY_NAME: Final[Mapping[str, Service]] = {row.name: row for row in SERVICES}
NAMES: Final = tuple(BY_NAME)
DECIDING: Final = tuple(row.name for row in SERVICES if row.stage)
"""The services that decide, by name."""
OWNERS: Final[Mapping[str, str]] = {kind: row.name for row in SERVICES for kind in row.objects}
"""The name of the service that decides on objects of each kind."""


def keeper_of(mount: str) -> str:
    """The name of the service that writes to a mount; StopIteration without one."""
    return next(row.name for row in SERVICES if row.keeps(mount))


def writers(topic: Topic) -> tuple[Service, ...]:
    """The services that write a topic."""
    return tuple(row for row in SERVICES if topic in row.writes)


def readers(topic: Topic) -> tuple[Service, ...]:
    """The services that read a topic."""
    return tuple(row for row in SERVICES if topic in row.reads)

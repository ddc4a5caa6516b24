"""The stage of each service that decides, made from the settings that its start recorded.

A stage that is made here decides and carries out nothing: it has no cluster, no log and no clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from contracts.topics import TopicLayout
from services.chassis.kube.writing import Writer
from services.chassis.process.clock import SystemClock
from services.chassis.process.settings import ServiceSettings, explained
from services.chassis.running.stage import Stage
from services.chassis.running.wiring import MakeStage, Runtime, Wiring
from services.chassis.table.table import Table
from services.fusion_backend.adapters.stage import stage_maker as fusion_backend_stage
from services.fusion_backend.settings import FusionBackendSettings
from services.hostpool_manager.adapters.stage import stage_maker as hostpool_manager_stage
from services.hostpool_manager.settings import HostpoolManagerSettings
from services.node_tainter.adapters.stage import stage_maker as node_tainter_stage
from services.node_tainter.settings import NodeTainterSettings
from services.pe_gateway.adapters.stage import stage_maker as pe_gateway_stage
from services.pe_gateway.settings import PeGatewaySettings
from services.pod_state_machine.adapters.stage import stage_maker as pod_state_machine_stage
from services.pod_state_machine.settings import PodStateMachineSettings


class SettingsRefused(ValueError):
    """Settings of a start that this release cannot use; the message says which and why."""


@dataclass(frozen=True, slots=True)
class _Deciding:
    """A service that decides: its settings, and the factory of its stage."""

    settings: type[ServiceSettings]
    make: Callable[[Any], MakeStage]


_NOWHERE: Final = Path("nowhere")
_SERVICES: Final[Mapping[str, _Deciding]] = {
    "fusion-backend": _Deciding(
        FusionBackendSettings, lambda settings: fusion_backend_stage(settings, planner="inline")
    ),
    "hostpool-manager": _Deciding(
        HostpoolManagerSettings,
        lambda settings: hostpool_manager_stage(settings, in_threads=False),
    ),
    "node-tainter": _Deciding(NodeTainterSettings, lambda _settings: node_tainter_stage()),
    "pe-gateway": _Deciding(PeGatewaySettings, pe_gateway_stage),
    "pod-state-machine": _Deciding(PodStateMachineSettings, pod_state_machine_stage),
}
DECIDING: Final = tuple(_SERVICES)
"""The services that decide, by name."""


def default_settings() -> frozenset[tuple[str, str]]:
    """Name and text of every setting whose default is a text, of all services."""
    return frozenset(
        (name, each.default)
        for deciding in _SERVICES.values()
        for name, each in deciding.settings.model_fields.items()
        if isinstance(each.default, str)
    )


def unknown_settings(service: str, recorded: Mapping[str, Any]) -> list[str]:
    """The recorded settings that the service does not have in this release."""
    return sorted(recorded.keys() - _SERVICES[service].settings.model_fields.keys())


def settings_of(service: str, recorded: Mapping[str, Any]) -> ServiceSettings:
    """The settings of a start; what is not recorded has its default, whatever the environment has.

    Raises SettingsRefused.
    """
    settings = _SERVICES[service].settings
    defaults: dict[str, Any] = {
        name: _NOWHERE if each.is_required() else each.get_default(call_default_factory=True)
        for name, each in settings.model_fields.items()
    }
    known: dict[str, Any] = {name: value for name, value in recorded.items() if name in defaults}
    try:
        return settings(**defaults | known)
    except ValidationError as problem:
        raise SettingsRefused(explained(problem, "").replace("\n", "; ")) from None


def stage_of(
    service: str, recorded: Mapping[str, Any], topics: TopicLayout
) -> Callable[[Table], Stage[Any, Any, Any]]:
    """A factory of the stage of a service around a table. Raises SettingsRefused."""
    make_stage = _SERVICES[service].make(settings_of(service, recorded))
    runtime = Runtime(
        service=service,
        bus=None,  # type: ignore[arg-type]
        kube=None,  # type: ignore[arg-type]
        clock=SystemClock(),
        random=random.SystemRandom(),
        new_id=str,
        topics=topics,
    )

    def new_stage(table: Table) -> Stage[Any, Any, Any]:
        writer = Writer(None, table, now=runtime.clock.now)  # type: ignore[arg-type]
        return make_stage(Wiring(table, writer, runtime, lambda _key: None))

    return new_stage

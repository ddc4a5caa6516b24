"""The stage of each service that decides, made from the settings that its start recorded.

A stage that is made here decides and carries out nothing: it has no cluster, no log and no clock.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from contracts.topics import TopicLayout
from services.chassis.kube.writing import Writer
from services.chassis.process.clock import SystemClock
from services.chassis.process.settings import ServiceSettings, explained
from services.chassis.running.service import loaded
from services.chassis.running.stage import Stage
from services.chassis.running.wiring import MakeStage, Runtime, Wiring
from services.chassis.table.table import Table
from services.roster import BY_NAME, SERVICES


class SettingsRefused(ValueError):
    """Settings of a start that this release cannot use; the message says which and why."""


_NOWHERE: Final = Path("nowhere")


def _class_of(service: str) -> type[ServiceSettings]:
    found: type[ServiceSettings] = loaded(BY_NAME[service].settings)
    return found


def default_settings() -> frozenset[tuple[str, str]]:
    """Name and text of every setting whose default is a text, of all services."""
    return frozenset(
        (name, each.default)
        for row in SERVICES
        if row.stage
        for name, each in _class_of(row.name).model_fields.items()
        if isinstance(each.default, str)
    )


def unknown_settings(service: str, recorded: Mapping[str, Any]) -> list[str]:
    """The recorded settings that the service does not have in this release."""
    return sorted(recorded.keys() - _class_of(service).model_fields.keys())


def settings_of(service: str, recorded: Mapping[str, Any]) -> ServiceSettings:
    """The settings of a start; what is not recorded has its default, whatever the environment has.

    Raises SettingsRefused.
    """
    settings = _class_of(service)
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
    make_stage: MakeStage = loaded(BY_NAME[service].stage)(settings_of(service, recorded))
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

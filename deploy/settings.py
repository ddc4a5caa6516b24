"""Makes `docs/settings.md`, the page of all settings, from the classes that read them.

The description of a setting is in the `settings.py` of its service.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings

from services.chassis.log.kafka_security import KafkaSecurity
from services.chassis.process.settings import ServiceSettings
from services.chassis.process.span_export import TracingSettings
from services.chassis.running.service import loaded
from services.roster import SERVICES as ROWS

SERVICES: Mapping[str, type[ServiceSettings]] = {row.name: loaded(row.settings) for row in ROWS}
"""The class of the settings of each service."""

_INTRODUCTION = """# Settings

<!-- Generated from services/*/settings.py by `make generate`; edit those instead. -->

Services read their settings from environment variables when they start. A service whose setting
cannot be used names the variable, the value and what is allowed, and ends with exit code 2.
Variables that end with `_S` or `_S_MAX` are in seconds.
"""


def page() -> str:
    """The whole page."""
    shared = _section("Every service", ServiceSettings, ServiceSettings.model_fields)
    kafka = _section("Connections to Kafka", KafkaSecurity, KafkaSecurity.model_fields)
    tracing = _section("OpenTelemetry", TracingSettings, TracingSettings.model_fields)
    own = [
        _section(service, settings, _own_fields(settings))
        for service, settings in SERVICES.items()
        if _own_fields(settings)
    ]
    return "\n".join([_INTRODUCTION, shared, kafka, tracing, *own])


def _own_fields(settings: type[ServiceSettings]) -> list[str]:
    return [name for name in settings.model_fields if name not in ServiceSettings.model_fields]


def _section(title: str, settings: type[BaseSettings], names: Iterable[str]) -> str:
    prefix = str(settings.model_config["env_prefix"])
    rows = [_row(prefix + name.upper(), settings.model_fields[name]) for name in names]
    head = f"## {title}\n\n| variable | default | allowed | meaning |\n|---|---|---|---|\n"
    return head + "".join(rows)


def _row(variable: str, field: FieldInfo) -> str:
    """The row of a setting. Raises ValueError if the setting has no description."""
    if not field.description:
        raise ValueError(f"{variable} has no description")
    cells = (f"`{variable}`", _default_of(field), _allowed(field), field.description)
    return "| " + " | ".join(each.replace("|", "\\|") for each in cells) + " |\n"


def _default_of(field: FieldInfo) -> str:
    if field.is_required():
        return "none: it is required"
    value = field.default.value if isinstance(field.default, Enum) else field.default
    value = str(value).lower() if isinstance(value, bool) else value
    return f"`{value}`" if value not in ("", ()) else "empty"


def _allowed(field: FieldInfo) -> str:
    kind: Any = field.annotation
    if kind is bool:
        return "`true`, `false`"
    if get_origin(kind) is Literal:
        return ", ".join(f"`{each}`" for each in get_args(kind))
    if isinstance(kind, type) and issubclass(kind, Enum):
        return ", ".join(f"`{each.value}`" for each in kind)
    return ", ".join(_bound(each) for each in field.metadata if _bound(each))


def _bound(constraint: Any) -> str:
    match constraint:
        case Ge(ge=bound):
            return f"at least {bound:,}"
        case Gt(gt=bound):
            return f"above {bound:,}"
        case Le(le=bound):
            return f"at most {bound:,}"
        case Lt(lt=bound):
            return f"below {bound:,}"
    pattern = getattr(constraint, "pattern", None)
    return f"`{pattern}`" if pattern else ""

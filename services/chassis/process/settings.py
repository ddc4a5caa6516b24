"""Settings that every service has, from the environment (prefix MILLRACE_).

What they are turned into (a log, a transport, a port) is `hosting.py`.
"""

from __future__ import annotations

import re
import sys
from ipaddress import ip_address
from typing import Annotated, Any, ClassVar, Literal, TypeVar

from pydantic import Field, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from contracts.servers import are_servers
from contracts.topics import PARTITIONS, PARTITIONS_MAX

T = TypeVar("T", bound=BaseSettings)

ENV_PREFIX = "MILLRACE_"
EXIT_USAGE = 2
_SQLITE_URL = re.compile(r"sqlite:///.+")
KAFKA_SCHEME = "kafka://"


def variable_of(setting: str) -> str:
    """The environment variable of a setting."""
    return ENV_PREFIX + setting.upper()


class ServiceSettings(BaseSettings):
    """Subclass it for a service's own settings; each field is MILLRACE_<FIELD>."""

    model_config = SettingsConfigDict(env_prefix=ENV_PREFIX, extra="ignore")

    unrecorded: ClassVar[frozenset[str]] = frozenset()
    """Own fields that no decision uses: places of the machine, and what may hold a secret."""

    kubeconfig: str = Field(default="", description="path of a kubeconfig; empty: in-cluster")
    bus: str = Field(default="memory:", description="memory:, sqlite:///PATH or kafka://HOST:PORT")
    topic_prefix: str = Field(
        default="millrace",
        pattern=r"^[a-z0-9][a-z0-9.-]*$",
        description="what the names of the topics begin with",
    )
    partitions: int = Field(
        default=PARTITIONS,
        ge=1,
        le=PARTITIONS_MAX,
        description="of the topics that instances share: the number with which "
        "`millrace topics apply --partitions` created them",
    )
    instance: str = Field(
        default="",
        pattern=r"^[A-Za-z0-9._-]*$",
        description="name of this instance, which no two processes have at a time and the one that "
        "starts in its place has again (the uid of its pod): it takes its Lease and its part of "
        "the work over at once; empty: it has none",
    )
    topics_wait_s: float = Field(
        default=0.0,
        ge=0,
        description="how long topics may be missing at the start, where they come with the same "
        "installation; 0: a missing topic ends the process",
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="the least severe log lines that are written"
    )
    metrics_port: int = Field(
        default=0, ge=0, le=65535, description="of /metrics, /healthz and /readyz; 0: no port"
    )
    metrics_host: str = Field(
        default="",
        description="the address on which that port is served; empty: all addresses, as a kubelet "
        "needs it of a pod",
    )
    grace_s: float = Field(default=10.0, ge=0, description="time for effects in flight at a stop")
    effects_in_flight_max: int = Field(
        default=32, ge=1, le=1024, description="how many effects are carried out at a time"
    )
    namespaces: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="comma-separated; empty: all"
    )

    def recorded(self) -> dict[str, Any]:
        """The service's own settings as JSON, as each start records them for replays."""
        own = type(self).model_fields.keys() - ServiceSettings.model_fields.keys()
        return self.model_dump(mode="json", include=set(own - self.unrecorded))

    @field_validator("namespaces", mode="before")
    @classmethod
    def split_at_commas(cls, value: Any) -> Any:
        """A list in an environment variable is written with commas."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("metrics_host")
    @classmethod
    def name_an_address(cls, value: str) -> str:
        """Refuse early what no socket can be bound to: a name may have several addresses."""
        return checked_address(value)

    @field_validator("bus")
    @classmethod
    def name_a_bus(cls, value: str) -> str:
        """Refuse early what no adapter would understand."""
        servers = value.removeprefix(KAFKA_SCHEME)
        is_kafka = servers != value and are_servers(servers)
        if value == "memory:" or _SQLITE_URL.fullmatch(value) or is_kafka:
            return value
        raise ValueError("is neither memory:, sqlite:///PATH nor kafka://HOST:PORT[,HOST:PORT]")


def checked_address(value: str) -> str:
    """An IP address, or nothing. Raises ValueError for any other text."""
    try:
        return str(ip_address(value)) if value else value
    except ValueError as problem:
        raise ValueError("is no IP address, such as 127.0.0.1 or ::1") from problem


def read_settings(settings: type[T]) -> T:
    """The settings from the environment; exits with a sentence per field that is wrong."""
    try:
        return settings()
    except ValidationError as problem:
        sys.stderr.write(explained(problem, settings.model_config["env_prefix"]) + "\n")
        raise SystemExit(EXIT_USAGE) from problem


def explained(problem: ValidationError, prefix: str = ENV_PREFIX) -> str:
    """One line for each variable that cannot be used: its name, its value and why.

    What does not fit together names its variables itself.
    """
    lines = []
    for error in problem.errors():
        message = error["msg"].removeprefix("Value error, ")
        if not error["loc"]:
            lines.append(message)
            continue
        variable = prefix + "_".join(str(part) for part in error["loc"][:1]).upper()
        given = "" if error["type"] == "missing" else f"={error.get('input')}"
        lines.append(f"{variable}{given}: {message}")
    return "\n".join(lines)

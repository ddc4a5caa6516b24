"""What a PE is given by its pod: environment variables and paths of files, read once at the start.

Variables `STREAMS_…` are those of the original; `MILLRACE_…` are ours. Files are below
`MILLRACE_ROOT`, which only a sandbox sets.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from millrace.protocol import HAND_OVER_S
from millrace.runtime.endings import Ending, PeFailed
from millrace.runtime.tracing import TraceLevel

T = TypeVar("T")
GATEWAY_PORT: Final = 10_000
SECURITY_TYPES: Final = ("none", "TLSv1", "TLSv1.0", "TLSv1.1", "TLSv1.2", "TLSv1.3")
REPOSITORIES: Final = ("fileSystem", "redis")


class EnvironmentRefused(PeFailed):
    """Variables are missing or wrong; the message names all of them."""

    ending = Ending.ENVIRONMENT_REFUSED


@dataclass(frozen=True, slots=True)
class Paths:
    """The files of a pod."""

    root: Path

    @property
    def aadl(self) -> Path:
        """The description of the PE."""
        return self.root / "etc/config/pe/aadl.xml"

    @property
    def port_labels(self) -> Path:
        """Which PE has which port of an operator, for the whole job."""
        return self.root / "etc/config/job/operator_port_labels.properties"

    @property
    def certificate(self) -> Path:
        """The certificate of the job, in PEM."""
        return self.root / "etc/config/job/transport.cert"

    @property
    def key(self) -> Path:
        """The private key of the certificate, in PEM."""
        return self.root / "etc/config/job/transport.key"

    @property
    def token(self) -> Path:
        """The PE's token for pe-gateway. It rotates: read it for every request."""
        return self.root / "var/run/secrets/streams-api/token"

    @property
    def live(self) -> Path:
        """The file that the liveness probe reads."""
        return self.root / "tmp/live"

    @property
    def termination_log(self) -> Path:
        """The file whose text becomes the termination message."""
        return self.root / "dev/termination-log"

    @property
    def app_configuration(self) -> Path:
        """The folder of application configurations."""
        return self.root / "etc/config/app"

    @property
    def restricted(self) -> Path:
        """The folder of restricted properties."""
        return self.root / "etc/config/restricted"

    @property
    def bundle(self) -> Path:
        """Where the bundle is written to."""
        return self.root / "tmp/bundle.sab"

    @property
    def assets(self) -> Path:
        """The folder that the bundle is unpacked to."""
        return self.root / "tmp/assets"

    def checkpoints(self, folder: str) -> Path:
        """The folder of the checkpoint repository, as its configuration names it."""
        return self.root / folder.lstrip("/")


@dataclass(frozen=True, slots=True)
class Repository:
    """Where states are kept. `kind`: fileSystem or redis; `configuration`: its JSON text."""

    kind: str
    configuration: str


@dataclass(frozen=True, slots=True)
class Environment:
    """All that a pod gives to its PE. `hand_over_s`: how long stopping may take; 0 is not at all.

    `generation`: that of the plan that the launch belongs to.
    `domain`: where PEs of the job are in the DNS. `checkpoints`: left out without a store.
    """

    job: str
    job_uid: str
    namespace: str
    pe: int
    launch: int
    pod_ip: str
    gateway_url: str
    sab: str
    domain: str
    runtime_trace: TraceLevel
    app_trace: TraceLevel | None
    transport_security: str
    checkpoints: Repository | None
    generation: int
    hand_over_s: float
    paths: Paths

    @property
    def is_secure(self) -> bool:
        """Whether PEs speak TLS with each other."""
        return self.transport_security != "none"


def read_environment(variables: Mapping[str, str]) -> Environment:
    """The environment of a PE. Raises EnvironmentRefused, which names every wrong variable."""
    read = _Reading(variables)
    namespace = read.required("STREAMS_INSTANCE_ID", _name)
    kind = read.optional("STREAMS_CHECKPOINT_REPOSITORY", _one_of(REPOSITORIES), None)
    text = read.optional("STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION", str, None)
    if kind is not None and text is None:
        read.refuse("STREAMS_CHECKPOINT_REPOSITORY_CONFIGURATION", "is missing")
    found: dict[str, Any] = {
        "job": read.required("STREAMS_JOB_NAME", _name),
        "job_uid": read.required("MILLRACE_JOB_UID", _name),
        "namespace": namespace,
        "pe": read.required("STREAMS_PE_ID", _natural),
        "launch": read.required("STREAMS_PE_LAUNCH_COUNT", _natural),
        "pod_ip": read.required("MILLRACE_POD_IP", _address),
        "gateway_url": read.optional(
            "MILLRACE_GATEWAY_URL", _url, f"http://streams-api.{namespace}:{GATEWAY_PORT}"
        ),
        "sab": read.required("STREAMS_SAB_NAME", str),
        "domain": read.optional("STREAMS_PE_DOMAIN", str, namespace),
        "runtime_trace": read.optional(
            "STREAMS_INITIAL_TRACE_LEVEL", TraceLevel.parsed, TraceLevel.INFO
        ),
        "app_trace": read.optional("STREAMS_APP_TRACE_LEVEL", TraceLevel.parsed, None),
        "transport_security": read.optional(
            "STREAMS_TRANSPORT_SECURITY_TYPE", _one_of(SECURITY_TYPES), "none"
        ),
        "checkpoints": None if kind is None or text is None else Repository(kind, text),
        "generation": read.optional("MILLRACE_GENERATION", _natural, 0),
        "hand_over_s": read.optional("MILLRACE_HAND_OVER_SECONDS", _seconds, HAND_OVER_S),
        "paths": Paths(Path(variables.get("MILLRACE_ROOT") or "/")),
    }
    if read.problems:
        raise EnvironmentRefused("environment of the PE: " + "; ".join(read.problems))
    return Environment(**found)


class _Reading:
    """Collects all that is wrong. An empty value is a missing one."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = variables
        self.problems: list[str] = []

    def required(self, name: str, parse: Callable[[str], T]) -> T | None:
        if not self._variables.get(name):
            self.refuse(name, "is missing")
            return None
        return self.optional(name, parse, None)

    def optional(self, name: str, parse: Callable[[str], T], default: T | None) -> T | None:
        text = self._variables.get(name)
        if not text:
            return default
        try:
            return parse(text)
        except ValueError as problem:
            self.refuse(name, f"is wrong: {problem}")
            return None

    def refuse(self, name: str, what: str) -> None:
        self.problems.append(f"{name} {what}")


def _name(text: str) -> str:
    """A name of Kubernetes: it becomes a part of paths and of host names."""
    if len(text) > 253 or not text.replace("-", "").replace(".", "").isalnum() or ".." in text:
        raise ValueError(f"{text[:60]!r} is no name of Kubernetes")
    return text


def _natural(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise ValueError(f"{text[:40]!r} is no number from 0")
    return int(text)


def _seconds(text: str) -> float:
    try:
        found = float(text)
    except ValueError:
        found = -1.0
    if not 0 <= found <= 86_400:
        raise ValueError(f"{text[:40]!r} is no number of seconds from 0 to 86400")
    return found


def _address(text: str) -> str:
    return str(ipaddress.ip_address(text))


def _url(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{text[:100]!r} is no URL of http or https")
    return text.rstrip("/")


def _one_of(known: tuple[str, ...]) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in known:
            raise ValueError(f"{text[:40]!r} is not one of {', '.join(known)}")
        return text

    return parse

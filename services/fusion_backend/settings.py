"""Settings of fusion-backend; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

from pydantic import Field, field_validator
from pydantic_settings import NoDecode

from contracts.resources.fields import WIDTH_MAX
from contracts.runtime_image import image_of_release
from services.chassis.process.release import release
from services.chassis.process.settings import ServiceSettings
from services.fusion_backend.core.spec.addresses import Network, networks_of
from services.fusion_backend.core.spec.bundle_urls import why_no_root_url
from services.fusion_backend.core.spec.pod_rules import PodRules
from services.fusion_backend.core.spec.pod_security import Level

SOME_ROOT_URL: Final = "https://bundle-root.invalid"
"""What a start records of a bundle root behind a URL: a decision uses only that there is one."""


class FusionBackendSettings(ServiceSettings):
    """Where bundles are, and what planning may cost."""

    unrecorded: ClassVar[frozenset[str]] = frozenset(
        {"bundle_root", "bundle_store", "bundle_ca_file"}
    )

    bundle_root: Path = Field(description="directory from which bundles are taken")
    bundle_store: Path = Field(description="directory in which bundles are kept by digest")
    bundle_root_url: str = Field(
        default="",
        description="a store that has bundles by name, instead of the bundle root: an http(s) URL, "
        "or s3://BUCKET/PREFIX (AWS_… in the environment)",
    )
    bundle_allowed_networks: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(),
        description="comma-separated networks (10.1.0.0/16, fd00::/8) or addresses that are not "
        "public and from which bundles may be fetched; empty: none",
    )
    bundle_ca_file: str = Field(
        default="", description="a file of roots in PEM that are trusted when a bundle is fetched"
    )
    bundle_fetch_s_max: float = Field(default=120.0, gt=0, description="for one bundle in all")
    bundle_fetches_max: int = Field(default=16, ge=1, description="how many at a time")
    bundle_fetches_of_namespace_max: int = Field(default=4, ge=1, description="of those, by one")
    bundle_unused_days_max: float = Field(
        default=30.0,
        ge=0,
        description="after how many days a bundle that no Job names leaves the store; 0: never",
    )
    planner_workers: int = Field(
        default=2, ge=1, le=64, description="processes that plan, side by side"
    )
    planner_memory_bytes_max: int = Field(
        default=4 * 1024**3, ge=256 * 1024**2, description="memory of one of them"
    )
    planner_cpu_s_max: int = Field(default=120, ge=1, description="CPU time of one plan")
    planner_answer_s_max: float = Field(
        default=240.0, gt=0, description="how long a plan may take before its process is ended"
    )
    width_max: int = Field(
        default=WIDTH_MAX, ge=1, le=WIDTH_MAX, description="widest parallel region planned"
    )

    pod_security: Level = Field(
        default=Level.BASELINE,
        description="level of the Pod Security Standards that pod templates of Jobs keep to",
    )
    allow_host_paths: bool = Field(
        default=True,
        description="whether a Job may keep data and checkpoints on a path of the host",
    )
    allow_ptrace: bool = Field(
        default=True, description="whether a Job may ask for the capabilities of a debugger"
    )

    runtime_image: str = Field(
        default="",
        description="image of PEs whose application is in Python and whose Job names none; empty: "
        "millrace/runtime:VERSION, of the version of this service",
    )

    cluster_domain: str = Field(
        default="cluster.local", description="what the DNS names of the cluster's Services end with"
    )
    redis_host: str = Field(
        default="{service}.{namespace}.svc.cluster.local",
        description="the DNS name whose addresses are the servers of a redis checkpoint store",
    )
    dns_answer_s_max: float = Field(
        default=5.0, gt=0, description="how long an answer of the DNS may take"
    )

    @field_validator("redis_host")
    @classmethod
    def name_a_service(cls, value: str) -> str:
        """Refuse early what could not be filled in."""
        try:
            value.format(service="redis", namespace="default")
        except (KeyError, IndexError, ValueError) as problem:
            raise ValueError("may have {service} and {namespace} in it, nothing else") from problem
        return value

    @field_validator("bundle_root_url")
    @classmethod
    def name_a_store(cls, value: str) -> str:
        """Refuse early what nothing could be fetched from."""
        if why := why_no_root_url(value, os.environ):
            raise ValueError(why)
        return value

    @field_validator("bundle_root")
    @classmethod
    def name_a_folder(cls, value: Path) -> Path:
        """Refuse early what is meant for the other setting."""
        if ":/" in str(value):
            raise ValueError("is no directory; a URL is given in MILLRACE_BUNDLE_ROOT_URL")
        return value

    @field_validator("bundle_allowed_networks", mode="before")
    @classmethod
    def name_networks(cls, value: Any) -> Any:
        """A list in an environment variable is written with commas; each is a network."""
        texts = value.split(",") if isinstance(value, str) else value
        return tuple(map(str, networks_of(texts)))

    def recorded(self) -> dict[str, Any]:
        """As of every service; of the URL of the bundle root only whether there is one.

        The image of the runtime is that in force: a replay by another version uses the same.
        """
        url = SOME_ROOT_URL if self.bundle_root_url else ""
        image = self.image_of_runtime
        return super().recorded() | {"bundle_root_url": url, "runtime_image": image}

    @property
    def image_of_runtime(self) -> str:
        """The image of PEs of applications in Python."""
        return self.runtime_image or image_of_release(release())

    @property
    def allowed_networks(self) -> tuple[Network, ...]:
        """Networks that are not public and allowed."""
        return networks_of(self.bundle_allowed_networks)

    @property
    def pod_rules(self) -> PodRules:
        """What a Job may ask of its pods."""
        return PodRules(
            level=self.pod_security, host_paths=self.allow_host_paths, ptrace=self.allow_ptrace
        )

    @property
    def bundle_unused_s(self) -> float:
        """How long nobody has used a bundle that is removed; 0: none is."""
        return self.bundle_unused_days_max * 24 * 3600

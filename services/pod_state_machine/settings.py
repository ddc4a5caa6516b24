"""Settings of pod-state-machine; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

from pydantic import Field

from contracts.resources.checkpoint_store import CHECKPOINT_PATH
from contracts.resources.processing_element import BuildType
from services.chassis.process.settings import ServiceSettings
from services.launching.core.snapshot import Timing
from services.pod_state_machine.core.pod_spec import RuntimeImage


class PodStateMachineSettings(ServiceSettings):
    """The runtime image, and the times of the state machine."""

    image_registry: str = Field(default="docker.io", description="registry of the runtime image")
    image_repository: str = Field(
        default="openstreams", description="repository of the runtime image in the registry"
    )
    build_type: BuildType = Field(
        default=BuildType.DEBUG, description="build of the runtime where a PE names none"
    )
    data_path: str = Field(
        default="", description="path on nodes mounted at /data where a PE names none; empty: none"
    )
    checkpoint_path: str = Field(
        default=CHECKPOINT_PATH,
        description="path on nodes for checkpoints where a PE names none; empty: it gets no pod",
    )
    gateway_url: str = Field(
        default="",
        pattern="^(https?://[^/]+)?$",
        description="where PEs reach pe-gateway; empty: http://streams-api.NAMESPACE:10000",
    )
    status_settle_s: float = Field(
        default=5.0,
        ge=0,
        description="how long the status of a starting pod waits, since the pod will soon run",
    )
    status_busy_s: float = Field(
        default=60.0,
        ge=0,
        description="how long statuses of pods wait while their job is submitted or resized",
    )
    report_wait_s: float = Field(
        default=2.0,
        ge=0,
        description="how long status Running waits for the first report of a PE of our runtime,"
        " so that both are one write",
    )
    restart_first_s: float = Field(
        default=1.0,
        gt=0,
        description="pause before the first restart; it doubles with every restart in a row",
    )
    restart_max_s: float = Field(default=300.0, gt=0, description="longest pause before a restart")
    restart_reset_s: float = Field(
        default=600.0,
        gt=0,
        description="a pod that lived this long resets the count of its restarts",
    )
    stuck_s: float = Field(
        default=10.0,
        ge=0,
        description="how long after its deletion a pod on a node that is not ready counts as stuck",
    )

    @property
    def runtime_image(self) -> RuntimeImage:
        """The runtime image and the defaults of pods."""
        return RuntimeImage(
            registry=self.image_registry,
            repository=self.image_repository,
            build_type=self.build_type,
            data_path=self.data_path,
            checkpoint_path=self.checkpoint_path,
            gateway_url=self.gateway_url,
        )

    @property
    def timing(self) -> Timing:
        """The clocks that decisions use."""
        return Timing(
            status_settle_s=self.status_settle_s,
            status_busy_s=self.status_busy_s,
            report_wait_s=self.report_wait_s,
            restart_first_s=self.restart_first_s,
            restart_max_s=self.restart_max_s,
            restart_reset_s=self.restart_reset_s,
            stuck_s=self.stuck_s,
        )

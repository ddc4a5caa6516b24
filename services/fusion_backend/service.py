"""The row of fusion-backend."""

from __future__ import annotations

from contracts.topics import CLUSTER, RESOURCES
from contracts.waits import Wait
from services.chassis.running.service import Decides, Given, Mount, Need, Resources, Service


def _of_job(subject: str, rules: str, about: str) -> Decides:
    """The rules of one decision on a job; `rules` is MODULE:ATTRIBUTE in the core."""
    return Decides(subject, f"services.fusion_backend.core.{rules}", f"A job: {subject}", about)


ROW = Service(
    name="fusion-backend",
    settings="services.fusion_backend.settings:FusionBackendSettings",
    main="services.fusion_backend.adapters.main:main_of",
    stage="services.fusion_backend.adapters.stage:stage_maker",
    permissions="services.fusion_backend.adapters.permissions:PERMISSIONS",
    reads=(RESOURCES, CLUSTER),
    shares=(RESOURCES,),
    decides=(
        _of_job("status", "status_rules:STATUS_RULES", "What the status of the Job says next."),
        _of_job(
            "generation",
            "generation_rules:GENERATION_RULES",
            "How the plan that comes next is made, placed and recorded.",
        ),
        _of_job("children", "child_rules:CHILD_RULES", "Which children are written."),
        _of_job("clean-up", "clean_up_rules:CLEAN_UP_RULES", "What of the job is deleted."),
        _of_job(
            "predecessors",
            "clean_up_rules:PREDECESSOR_RULES",
            "What former Jobs of the same name left over.",
        ),
        _of_job("regions", "region_rules:REGION_RULES", "The statuses of ParallelRegions."),
        _of_job(
            "provisions",
            "provision_rules:PROVISION_RULES",
            "The certificate and the redis servers of its PEs.",
        ),
        _of_job(
            "references",
            "reference_rules:REFERENCE_RULES",
            "ParallelRegions and HostPools that name the job and that no Job controls.",
        ),
        _of_job("bundle", "bundle_rules:BUNDLE_RULES", "Whether its missing bundle is looked for."),
    ),
    objects=("Job", "ParallelRegion"),
    awaited=(Wait.SPEC, Wait.WIDTH, Wait.DELETION, Wait.PROGRESS),
    mounts=(
        Mount("bundle-root", "bundle_root", read_only=True),
        Mount("bundle-store", "bundle_store"),
    ),
    # The service replaces {service} by the name of a Service.
    without_dns={"redis_host": "{service}"},
    needs=(Need("bundles", "bundlePorts", ("bundle_root_url", "bundle_ca_file")),),
    given=(
        Given("pod_security", "podSecurity"),
        Given("runtime_image", "runtime.image", if_set=True),
    ),
    # Of each of the two processes that plan; they and the service fit into the limits.
    defaults={"planner_memory_bytes_max": 1_610_612_736},
    resources=Resources("200m", "512Mi", "4Gi", "2G", "2.0"),
    compose_port=18_082,
)

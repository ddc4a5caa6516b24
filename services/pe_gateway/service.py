"""The row of pe-gateway."""

from __future__ import annotations

from contracts.topics import RESOURCES
from contracts.waits import Wait
from services.chassis.running.service import Alias, Decides, Mount, Port, Service

ROW = Service(
    name="pe-gateway",
    settings="services.pe_gateway.settings:PeGatewaySettings",
    main="services.pe_gateway.adapters.serving:main_of",
    stage="services.pe_gateway.adapters.stage:stage_maker",
    permissions="services.pe_gateway.adapters.permissions:PERMISSIONS",
    reads=(RESOURCES,),
    decides=(
        Decides(
            "report",
            "services.pe_gateway.core.report_rules:REPORT_RULES",
            "What a PE reports of its connections",
        ),
        Decides(
            "losses",
            "services.pe_gateway.core.loss_rules:LOSS_RULES",
            "What PEs report as lost",
            "The tuples of all PEs of a Job.",
        ),
    ),
    awaited=(Wait.REPORT,),
    ports=(
        Port("api", "gateway_port", 10_000, "gateway_host", given_as="MILLRACE_GATEWAY_URL"),
        Port(
            "repository",
            "bundle_port",
            6_379,
            "gateway_host",
            switch="peGateway.redis",
            gives="bundle-store",
        ),
    ),
    mounts=(
        Mount("bundle-root", "bundle_root", read_only=True, optional=True),
        Mount("bundle-store", "bundle_store", read_only=True, optional=True),
    ),
    enabled="peGateway.enabled",
    alias=Alias("streams-api", "peGateway.namespaces", "peGateway.clusterDomain"),
    compose_port=18_086,
)

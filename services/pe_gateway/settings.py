"""Settings of pe-gateway; each field is MILLRACE_<FIELD> in the environment."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from pydantic import Field, field_validator

from services.chassis.process.settings import ServiceSettings, checked_address


class PeGatewaySettings(ServiceSettings):
    """Where PEs reach the service, and whom it believes."""

    unrecorded: ClassVar[frozenset[str]] = frozenset(
        {"gateway_port", "gateway_host", "bundle_port", "bundle_store", "bundle_root"}
    )

    gateway_port: int = Field(
        default=10_000, ge=0, le=65535, description="on which PEs are answered; 0: no port"
    )
    gateway_host: str = Field(
        default="", description="the address of that port; empty: all addresses"
    )
    anonymous: bool = Field(
        default=False,
        description="take requests without a token, as the image of the original sends them; "
        "anybody who reaches the port may then speak for every PE",
    )
    token_audience: str = Field(
        default="streams-api",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9:/._-]*$",
        description="for which the tokens of pods have to be made",
    )
    bundle_store: Path | None = Field(
        default=None,
        description="the bundle store of fusion-backend, to read; empty: it is not reached",
    )
    bundle_root: Path | None = Field(
        default=None,
        description="the bundle root, for bundles that are not in the store; empty: it is not"
        " reached",
    )
    bundle_port: int = Field(
        default=0,
        ge=0,
        le=65535,
        description="on which PEs get their bundle in the protocol of redis (`HGET apps NAME`), as "
        "the image of the original asks for it; 0: no port",
    )
    connectivity_settle_s: float = Field(
        default=2.0,
        ge=0,
        description="how long a PE may take to connect before its status shows what is missing",
    )

    @field_validator("bundle_store", "bundle_root", mode="before")
    @classmethod
    def name_a_folder(cls, value: object) -> object:
        """An empty text names none."""
        return None if value == "" else value

    @field_validator("gateway_host")
    @classmethod
    def name_own_address(cls, value: str) -> str:
        """Refuse early what no socket can be bound to."""
        return checked_address(value)

"""Settings that every service has, from the environment (prefix MILLRACE_)."""

from __future__ import annotations

from typing import Literal, TypeVar

from pydantic import Field
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

T = TypeVar("T", bound="ServiceSettings")


class ServiceSettings(BaseSettings):
    """Subclass it for a service's own settings; each field is MILLRACE_<FIELD> in the environment."""

    model_config = SettingsConfigDict(env_prefix="MILLRACE_", extra="ignore")

    kubeconfig: str = Field(default="", description="path of a kubeconfig; empty: in-cluster")
    bus: str = Field(default="memory:", description="sqlite:///PATH or memory:")
    topic_prefix: str = "millrace"
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = "INFO"
    metrics_port: int = Field(default=0, ge=0, le=65535, description="0: no port")
    grace_s: float = Field(default=10.0, ge=0, description="time for effects in flight at a stop")
    namespaces: tuple[str, ...] = ()


def read_settings(settings: type[T]) -> T:
    """The settings from the environment; exits with a sentence per field that is wrong."""
    raise NotImplementedError

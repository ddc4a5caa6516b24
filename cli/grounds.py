"""What services run on (a "ground"): a Kubernetes API, a log, and the accounts of the services.

`running.py` makes the ground of the sandbox, `tools/real/grounds.py` that of the real pair.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from cli.kubeconfigs import read_as_kubeconfig
from services.chassis.kube.kubeconfig_files import access_of, read_kubeconfig

PREFIX_SETTING = "MILLRACE_TOPIC_PREFIX"


@dataclass(frozen=True, slots=True)
class Ground:
    """Where services run; `kubeconfig` is the administrator's, `accounts` are the services'."""

    server: str
    kubeconfig: Path
    bus: str
    accounts: Mapping[str, Path] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def account_of(self, service: str) -> Path:
        """The kubeconfig of a service."""
        return self.accounts.get(service, self.kubeconfig)


def server_of(kubeconfig: Path) -> str:
    """The address of the API server of a kubeconfig's current context. Raises Misused."""
    with read_as_kubeconfig():
        return str(access_of(read_kubeconfig(kubeconfig)).cluster["server"])

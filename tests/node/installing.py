"""Installs the chart on the real node with Helm, upgrades and uninstalls it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import yaml

from loadtest.api import Api, Refused
from tests.node.grounds import Ground
from tests.patience import patient
from tests.places import ROOT
from tools.real.node.plan import KEY

RELEASE = NAMESPACE = "millrace"
JOBS_NAMESPACE = "default"
"""Where the Jobs of these tests are."""
CHART = ROOT / "deploy" / "chart"
REPOSITORY = "localhost/millrace"
TAGS = ("dev", "next")
"""Both of the same image: rolling to the other one is an upgrade that changes nothing else."""
RUNTIME_IMAGE = "localhost/millrace/runtime:dev"
KAFKA_IMAGE = "localhost/kafka:test"
CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qg"
PROPERTIES = "/etc/millrace-kafka/server.properties"
JAVA = ["java", "-Xmx384m", "-cp", "/opt/kafka/libs/*"]
SHARED_STORE = {"kind": "claim", "accessMode": "ReadWriteMany"}
"""pe-gateway reads it, too, and gives PEs their bundles."""
HELM_S_MAX = patient(240.0)
SELECTOR = f"app.kubernetes.io/instance={RELEASE}"


@dataclass(frozen=True, slots=True)
class Installer:
    """Helm with the kubeconfig of a pair."""

    helm: Path
    ground: Ground
    bundles_port: int
    shares_store: bool = False

    async def install(self, tag: str) -> None:
        """Install, and return when every service is ready."""
        # The pair has the definitions already; the release takes them over.
        more = ("--take-ownership", "--create-namespace")
        await self._run("install", *more, *self._values(tag))

    async def upgrade(self, tag: str) -> None:
        """Upgrade to an image of another tag, and return when every service is ready."""
        await self._run("upgrade", *self._values(tag))

    async def uninstall(self) -> None:
        """Uninstall, and return when everything of the release is gone."""
        await self._call("uninstall", RELEASE, f"--namespace={NAMESPACE}", "--wait")

    async def _run(self, verb: str, *options: str) -> None:
        where = (f"--namespace={NAMESPACE}", "--wait", f"--timeout={HELM_S_MAX:.0f}s")
        await self._call(verb, RELEASE, str(CHART), *where, *options)

    async def _call(self, *words: str) -> None:
        process = await asyncio.create_subprocess_exec(
            str(self.helm),
            *words,
            f"--kubeconfig={self.ground.pair.kubeconfig}",
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        printed, _ = await process.communicate()
        assert process.returncode == 0, printed.decode()

    def _values(self, tag: str) -> tuple[str, ...]:
        file = self.ground.folder.path / f"values-{tag}.yaml"
        file.write_text(
            yaml.safe_dump(values(self.ground, tag, self.bundles_port, self.shares_store))
        )
        return (f"--values={file}",)


def values(ground: Ground, tag: str, bundles_port: int, shares_store: bool) -> dict[str, Any]:
    """The values: images of the node, Kafka in a pod, no storage but a shared bundle store."""
    host = ground.node.host_ip
    return {
        "image": {"repository": REPOSITORY, "tag": tag, "pullPolicy": "Never"},
        "runtime": {"image": RUNTIME_IMAGE},
        "peGateway": {"namespaces": [JOBS_NAMESPACE]},
        "kafka": {
            "embedded": {
                "enabled": True,
                "persistent": False,
                "image": KAFKA_IMAGE,
                "format": [
                    *JAVA,
                    "kafka.tools.StorageTool",
                    "format",
                    "--ignore-formatted",
                    f"--cluster-id={CLUSTER_ID}",
                    f"--config={PROPERTIES}",
                ],
                "command": [*JAVA, "kafka.Kafka", PROPERTIES],
            }
        },
        "bundles": {
            "rootUrl": f"http://{host}:{bundles_port}/",
            "store": SHARED_STORE if shares_store else {"kind": "emptyDir"},
        },
        "networkPolicies": {
            "apiServerPorts": [443, ground.api_server_port],
            "apiServer": [
                {"ipBlock": {"cidr": f"{host}/32"}},
                {"ipBlock": {"cidr": "10.96.0.1/32"}},
            ],
            "bundlePorts": [bundles_port],
            "bundles": [{"ipBlock": {"cidr": f"{host}/32"}}],
        },
        "services": {"fusion-backend": {"env": {"MILLRACE_BUNDLE_ALLOWED_NETWORKS": f"{host}/32"}}},
    }


async def make_namespace(api: Api, name: str) -> None:
    """A namespace of services, whose pods go to the real node."""
    toleration = [{"key": KEY, "operator": "Exists"}]
    annotations = {
        "scheduler.alpha.kubernetes.io/node-selector": f"{KEY}=true",
        "scheduler.alpha.kubernetes.io/defaultTolerations": orjson.dumps(toleration).decode(),
    }
    metadata = {"name": name, "annotations": annotations}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
    try:
        await api.call("POST", "/api/v1/namespaces", body)
    except Refused as refused:  # an earlier installation made it
        if "409" not in str(refused):
            raise

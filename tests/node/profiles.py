"""What a person prepares before an installation that has Kafka elsewhere, and volumes."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from loadtest.api import Api
from services.roster import NAMES
from tests.node.grounds import Ground
from tests.node.installing import REPOSITORY, TAGS
from tests.real.secured import PASSWORD, Secured, broker_beside, scram_login

CLAIM = "millrace-bundles"
AUTHORITY = "kafka-ca"
ADMINISTRATOR = "topics"
CLIENTS = (ADMINISTRATOR, *sorted(NAMES))
_VOLUMES = "/api/v1/persistentvolumes"
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    # The broker itself, and the Job that makes topics and ACLs.
    "super.users": f"User:ANONYMOUS;User:millrace-{ADMINISTRATOR}",
}


@contextmanager
def secured_kafka(up: Ground, folder: Path) -> Iterator[Secured]:
    """A broker at the node's link: TLS, a login of each client, and no right without an ACL."""
    plan = up.folder.plan()
    assert plan is not None
    login = scram_login(tuple(f"millrace-{client}" for client in CLIENTS))
    with broker_beside(plan, folder, login, AUTHORIZER, up.node.host_ip) as broker:
        yield broker


async def make_secrets(api: Api, namespace: str, broker: Secured) -> None:
    """The Secrets that the chart's values name by default, and that of the authority."""
    contents = {
        f"millrace-kafka-{client}": {"username": f"millrace-{client}", "password": PASSWORD}
        for client in CLIENTS
    }
    contents[AUTHORITY] = {"ca.crt": (broker.folder / "ca.pem").read_text()}
    for name, content in contents.items():
        data = {key: base64.b64encode(text.encode()).decode() for key, text in content.items()}
        body = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}
        await api.call("POST", f"/api/v1/namespaces/{namespace}/secrets", body)


async def make_volume(
    api: Api, namespace: str, folder: Path, *, claim: str = CLAIM, mode: str = "ReadWriteOnce"
) -> None:
    """A volume for the claim of the release: the cluster has nobody who makes one."""
    await asyncio.to_thread(_open_folder, folder)
    spec = {
        "capacity": {"storage": "10Gi"},
        "accessModes": [mode],
        "hostPath": {"path": str(folder), "type": "Directory"},
        "claimRef": {"namespace": namespace, "name": claim},
    }
    metadata = {"name": f"{claim}-{namespace}"}
    body = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": metadata, "spec": spec}
    await api.call("POST", _VOLUMES, body)


async def make_store(api: Api, namespace: str, claim: str, folder: Path) -> None:
    """A claim that every node reaches, bound to a folder of this machine; it is made."""
    await make_volume(api, namespace, folder, claim=claim, mode="ReadWriteMany")
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
        "volumeName": f"{claim}-{namespace}",
    }
    body = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": claim}}
    await api.call("POST", _claims(namespace), body | {"spec": spec})


async def remove_store(api: Api, namespace: str, claim: str) -> None:
    """A claim and its volume, which an uninstallation keeps."""
    await api.call("DELETE", f"{_claims(namespace)}/{claim}")
    await api.call("DELETE", f"{_VOLUMES}/{claim}-{namespace}")


def _claims(namespace: str) -> str:
    return f"/api/v1/namespaces/{namespace}/persistentvolumeclaims"


def _open_folder(folder: Path) -> None:
    """For the user of the pods: the kubelet gives a folder of the node to nobody."""
    folder.mkdir()
    folder.chmod(0o777)


def common_values(up: Ground, prefix: str, bundles_port: int) -> Mapping[str, Any]:
    """What every one of these installations sets, as `--values` has it."""
    host = up.node.host_ip
    return {
        "image": {"repository": REPOSITORY, "tag": TAGS[0], "pullPolicy": "Never"},
        "kafka": {"topicPrefix": prefix},
        "bundles": {"rootUrl": f"http://{host}:{bundles_port}/"},
        "services": {"fusion-backend": {"env": {"MILLRACE_BUNDLE_ALLOWED_NETWORKS": f"{host}/32"}}},
    }

"""The Job of `millrace submit` is stored completely, or refused with the server's message."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from cli import connecting
from cli.connecting import JOBS, connected
from cli.failing import Failure
from cli.jobs import Submission, submit
from tests.sandboxed import SandboxTransport, new_cluster


@pytest.fixture
def kubeconfig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Of a sandbox in this process."""
    cluster = new_cluster(now=lambda: 1_800_000_000.0, nodes=1)

    @asynccontextmanager
    async def transport(_: Path) -> AsyncIterator[SandboxTransport]:
        yield SandboxTransport(cluster)

    monkeypatch.setattr(connecting, "aclosing_transport", transport)
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump({"clusters": []}))
    return path


def submission(tmp_path: Path, **pod: Any) -> Submission:
    bundle = tmp_path / "a.sab"
    bundle.write_bytes(b"PK\x03\x04")
    return Submission(bundle, spec={"processingElement": {"podTemplate": {"spec": pod}}})


async def test_a_field_that_the_server_would_drop_is_refused_with_its_name(
    kubeconfig: Path, tmp_path: Path
) -> None:
    """Else the job would run without it, and only a warning that is not shown would report it."""
    async with connected(kubeconfig) as cluster:
        field = r"spec\.processingElement\.podTemplate\.spec\.nodeSelectr"
        with pytest.raises(Failure, match=f'the job was refused: .*unknown field "{field}"'):
            await submit(cluster, submission(tmp_path, nodeSelectr={"disk": "ssd"}), tmp_path)
        name = await submit(cluster, submission(tmp_path, nodeSelector={"disk": "ssd"}), tmp_path)
        stored = await cluster.kube.get(JOBS, "default", name)
    pod = stored["spec"]["processingElement"]["podTemplate"]["spec"]
    assert pod == {"nodeSelector": {"disk": "ssd"}}

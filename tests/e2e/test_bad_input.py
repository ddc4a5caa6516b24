"""Bad input ends in phase Failed with a reason and a sentence; nothing half-made stays behind."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from contracts.bundle_format import pack
from loadtest.api import STREAMS, Refused
from tests.e2e.watching import TEST_S_MAX, Cluster, Obj
from tests.places import ROOT

COVERS = (
    "services/fusion_backend/core/wording_failures.py",
    "services/fusion_backend/core/spec/*",
    "services/fusion_backend/adapters/bundles/root.py",
    "planner/refusals.py",
    "planner/application/submission.py",
    "contracts/bundle_limits.py",
    "contracts/untrusted_xml.py",
)

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(TEST_S_MAX)]


def example_adl() -> bytes:
    (path,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    return path.read_bytes()


def good() -> bytes:
    return pack(example_adl())


def rebuilt(change: Callable[[str, bytes], tuple[str, bytes] | None]) -> bytes:
    """The good bundle with every member changed or dropped."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(good())) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            changed = change(name, old.read(name))
            if changed is not None:
                new.writestr(*changed)
    return out.getvalue()


def with_path_escape() -> bytes:
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        info = tarfile.TarInfo("../../escape.adl")
        info.size = 4
        archive.addfile(info, io.BytesIO(b"evil"))
    return rebuilt(lambda n, d: (n, tar.getvalue()) if n.endswith("bundle.tar") else (n, d))


def with_entity_bomb() -> bytes:
    bomb = '<!DOCTYPE a [<!ENTITY b "bbbbbbbbbb"><!ENTITY c "&b;&b;&b;&b;">]><a>&c;</a>'
    return rebuilt(lambda n, d: (n, bomb.encode()) if n == "bundleInfo.xml" else (n, d))


BUNDLES: dict[str, tuple[Callable[[], bytes], str]] = {
    "truncated": (lambda: good()[:-200], "BundleInvalid"),
    "not-a-zip": (lambda: b"hello", "BundleInvalid"),
    "without-adl": (
        lambda: rebuilt(lambda n, d: None if n.endswith("bundle.tar") else (n, d)),
        "BundleInvalid",
    ),
    "path-escape": (with_path_escape, "BundleInvalid"),
    "entity-bomb": (with_entity_bomb, "BundleInvalid"),
    "invalid-adl": (
        lambda: pack(example_adl().replace(b'definitionIndex="0"', b'definitionIndex="99"')),
        "AdlInvalid",
    ),
}


async def refused(cluster: Cluster, name: str, spec: Obj) -> Obj:
    """Submit; wait for Failed; nothing is left; returns the status."""
    async with cluster.job(name) as job:
        await cluster.submit(name, spec)
        await job.until("phase Failed", lambda: job.phase == "Failed")
        kinds = ("pes", "pods", "services", "config_maps", "regions", "pools")
        await job.until("nothing left", lambda: not any(job.of(kind) for kind in kinds))
        status = job.status
        reason = status["reason"]
        failed = [
            c for c in status["conditions"] if c["status"] == "False" and c["reason"] == reason
        ]
        assert failed, status
        events = [e for e in await cluster.events(name) if e["type"] == "Warning"]
        assert any(status["message"] in event["message"] for event in events)
        return status


@pytest.mark.scenario(6)
@pytest.mark.parametrize("name", sorted(BUNDLES))
async def test_a_bundle_that_cannot_be_used_fails_the_job(cluster: Cluster, name: str) -> None:
    """Each kind of broken bundle has its reason; the message names field and value."""
    make, reason = BUNDLES[name]
    file = f"{name}.sab"
    (cluster.system.bundles / file).write_bytes(make())
    status = await refused(cluster, f"bad-{name}", {"bundle": {"name": file}})
    assert status["reason"] == reason, status
    assert "spec.bundle.name" in status["message"]
    assert file in status["message"]


@pytest.mark.scenario(6)
async def test_a_missing_bundle_fails_the_job(cluster: Cluster) -> None:
    """The message names the field and the bundle that is not there."""
    status = await refused(cluster, "missing", {"bundle": {"name": "nowhere.sab"}})
    assert status["reason"] == "BundleMissing"
    assert "spec.bundle.name" in status["message"]
    assert "nowhere.sab" in status["message"]


async def test_a_bundle_outside_the_root_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    """A name with a path in it, or a link that leads outside, never leaves the bundle root."""
    (tmp_path / "outside.sab").write_bytes(good())
    (cluster.system.bundles / "linked.sab").symlink_to(tmp_path / "outside.sab")
    for number, name in enumerate(("../../etc/passwd", "linked.sab")):
        status = await refused(cluster, f"outside-{number}", {"bundle": {"name": name}})
        assert status["reason"].startswith(("Bundle", "SpecInvalid")), status
        assert name in status["message"]


async def test_unknown_regions_and_bad_widths_fail_the_job(cluster: Cluster) -> None:
    """An alias that matches no region, and a width below 1 by a submission-time value."""
    (cluster.system.bundles / "good.sab").write_bytes(good())
    regions = [{"alias": "Nowhere", "width": 2}]
    bundle = {"name": "good.sab"}
    status = await refused(
        cluster, "unknown-region", {"bundle": bundle, "parallelRegions": regions}
    )
    assert status["reason"] == "UnknownRegion"
    assert "Nowhere" in status["message"]
    values = {"width": "0"}
    status = await refused(cluster, "bad-width", {"bundle": bundle, "submissionTimeValues": values})
    assert status["reason"] in ("WidthRefused", "SubmissionValueInvalid")
    assert "0" in status["message"]


@pytest.mark.scenario(7)
@pytest.mark.parametrize(
    "spec",
    [
        {"bundle": {"name": "x.sab"}, "fusion": {"legacy": True, "manual": 2}},
        {"bundle": {"name": "x.sab"}, "fusion": {"manual": 0}},
        {"bundle": {"name": "x.sab"}, "parallelRegions": [{"alias": "R", "width": 0}]},
    ],
)
async def test_what_the_schema_sees_the_api_server_refuses(cluster: Cluster, spec: Obj) -> None:
    """Two fusion modes and numbers below their minimum never become objects."""
    with pytest.raises(Refused, match="422"):
        await cluster.submit("never", spec)
    listing = await cluster.api.call("GET", f"{STREAMS}/streamsjobs")
    assert "never" not in [item["metadata"]["name"] for item in listing["items"]]

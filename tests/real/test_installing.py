"""`millrace install`, `upgrade` and `uninstall` on a real API server and its controllers."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest

from cli.connecting import aclosing_transport
from cli.failing import Failure, Misused, TimedOut
from cli.installing.cluster import Target
from cli.installing.filling import MANAGED_BY, MANAGER
from cli.installing.objects import Ref, inventory_object
from cli.installing.sequence import Waiting, install, installed, uninstall, upgrade
from tests.real.installing import NAMESPACE, Words, a_trial, taken_back, transport_of
from tools.real.pair import existing_pair

COVERS = ("cli/installing/*", "cli/install_commands.py")

pytestmark = [pytest.mark.real]
BACKEND = Ref("Deployment", NAMESPACE, "millrace-fusion-backend")
STRAY = Ref("ConfigMap", NAMESPACE, "of-the-release-before")
SELECTOR = "app.kubernetes.io/name=millrace"


@pytest.fixture
async def target(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Target]:
    monkeypatch.setattr("cli.installing.sequence.LOOK_EVERY_S", 0.1)
    pair = existing_pair(os.environ)
    if pair is None:
        pytest.skip("no pair: set MILLRACE_KUBECONFIG and MILLRACE_BOOTSTRAP_SERVERS (real-up)")
    async with aclosing_transport(pair.kubeconfig) as transport:
        try:
            yield Target(transport)
        finally:
            await taken_back(transport)


async def test_an_installation_is_upgraded_and_leaves_only_definitions(target: Target) -> None:
    words = Words()
    await install(target, a_trial(), words.waiting)
    first = await installed(target, NAMESPACE)
    assert first is not None
    assert first.is_complete
    # The release before had one object more.
    stray = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": STRAY.name,
            "namespace": NAMESPACE,
            "labels": {MANAGED_BY: MANAGER},
        },
    }
    await target.apply(stray)
    await _note(target, STRAY)

    wanted = replace(first.wanted, values={**first.wanted.values, "image.tag": "next"})
    with pytest.raises(Failure, match="millrace upgrade"):
        await install(target, wanted, words.waiting)
    await upgrade(target, wanted, words.waiting)
    assert await target.get(STRAY) is None
    pods = await target.list_of("Pod", NAMESPACE, SELECTOR)
    images = {
        pod["spec"]["containers"][0]["image"]
        for pod in pods
        if pod["metadata"]["labels"]["app.kubernetes.io/component"] == "fusion-backend"
    }
    assert images == {"localhost/millrace:next"}

    await uninstall(target, NAMESPACE, words.waiting)
    for ref in first.refs:
        is_there = await target.get(ref) is not None
        assert is_there == (ref.kind == "CustomResourceDefinition"), ref
    assert any("streamsjobs" in word for word in words.all), "it reports what it left"


async def test_an_interrupted_installation_goes_on_and_an_interrupted_one_is_removed(
    target: Target,
) -> None:
    words = Words()
    with pytest.raises(TimedOut, match="goes on from here"):
        await install(target, a_trial(), Waiting(0.5, words.all.append))
    begun = await installed(target, NAMESPACE)
    assert begun is not None
    assert not begun.is_complete
    await install(target, a_trial(), words.waiting)
    done = await installed(target, NAMESPACE)
    assert done is not None
    assert done.is_complete
    before = await target.get(BACKEND)
    await install(target, a_trial(), words.waiting)
    after = await target.get(BACKEND)
    assert before is not None
    assert after is not None
    assert before["metadata"]["generation"] == after["metadata"]["generation"]


async def test_an_image_that_cannot_be_pulled_is_named(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cli.installing.sequence.TROUBLE_S_MAX", 1.0)
    broken = {"sandbox.millrace.dev/behavior": "image-pull-error"}
    with pytest.raises(Failure) as failed:
        await install(target, a_trial(podAnnotations=broken), Words().waiting)
    assert "the image localhost/millrace:dev cannot be pulled: ImagePullBackOff" in str(
        failed.value
    )


async def test_without_rights_nothing_is_changed(target: Target, tmp_path: Path) -> None:
    """The account of a service is not an administrator's."""
    pair = existing_pair(os.environ)
    assert pair is not None
    elsewhere = replace(a_trial(), namespace="elsewhere")
    async with aclosing_transport(pair.kubeconfig) as admin:
        await install(target, a_trial(), Words().waiting)
        account = transport_of(admin, pair.kubeconfig, tmp_path, "millrace-node-tainter")
        async with account as transport:
            with pytest.raises(Failure, match="you lack a right"):
                await install(Target(transport), elsewhere, Words().waiting)
    assert await target.get(Ref("Namespace", "", "elsewhere")) is None


async def test_an_upgrade_of_nothing_is_misuse(target: Target) -> None:
    with pytest.raises(Misused, match="millrace install"):
        await upgrade(target, a_trial(), Words().waiting)


async def _note(target: Target, ref: Ref) -> None:
    found = await installed(target, NAMESPACE)
    assert found is not None
    await target.apply(inventory_object(replace(found, refs=found.refs | {ref})))

"""Bundles from elsewhere over a job's life: fetched once, waited for, and never a token said."""

from __future__ import annotations

import asyncio
import base64
import json
from pathlib import Path
from typing import Any

import pytest

from contracts import labels
from contracts.bundle_format import pack
from tests.elsewhere import Elsewhere, elsewhere_of
from tests.places import ROOT
from tests.sandboxed import MERGE
from tests.simulation.applications import submit_example
from tests.simulation.world import World, simulate

COVERS = (
    "services/fusion_backend/adapters/bundles/*",
    "services/fusion_backend/core/bundle_rules.py",
    "services/fusion_backend/core/loading.py",
)

Obj = dict[str, Any]
TOKEN = "gh-s3cret"
URL = "https://api.github.com/repos/u/r/contents/wordcount.sab"
BY_HTTP: Obj = {"bundle": {"name": "w.sab", "http": {"url": "https://h.example/wordcount.sab"}}}
BY_GITHUB: Obj = {"bundle": {"name": "w.sab", "github": {"url": URL, "secret": "hub"}}}


def serve(world: World) -> Elsewhere:
    """Have the example behind its URL."""
    found = elsewhere_of(world.folder)
    found.folder.mkdir()
    (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    (found.folder / "wordcount.sab").write_bytes(pack(adl.read_bytes()))
    return found


def status(world: World, job: str = "j") -> Obj:
    found: Obj = world.objects("streamsjobs")[job].get("status") or {}
    return found


def said(world: World, condition: str) -> tuple[str, str]:
    found = {each["type"]: each for each in status(world).get("conditions", ())}
    return found[condition]["reason"], found[condition].get("message", "")


def test_a_resize_and_a_restart_need_no_source(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        behind = serve(world)
        world.start()
        submit_example(world, "j", width=2, more=BY_HTTP)
        await world.until("running", lambda: world.is_running("j"))
        (behind.folder / "wordcount.sab").unlink()
        await world.kill("fusion-backend")
        world.start("fusion-backend")
        world.resize("j", "Counted", 4)
        await world.until("resized", lambda: status(world).get("widths") == {"Counted": 4})
        await world.settle()
        assert len(behind.asked) == 1

    simulate(tmp_path, test)


def test_what_no_job_names_leaves_the_store_and_no_resize_needs_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After half an hour here; it is looked at when a job is planned, an hour after a start."""
    monkeypatch.setenv("MILLRACE_BUNDLE_UNUSED_DAYS_MAX", "0.02")

    def kept(world: World) -> set[str]:
        return {each.stem for each in (world.folder / "store").glob("*.sab")}

    async def test(world: World) -> None:
        behind = serve(world)
        source = behind.folder / "wordcount.sab"
        world.start()
        submit_example(world, "j", width=2, more=BY_HTTP)
        await world.until("running", lambda: world.is_running("j"))
        (named,) = kept(world)
        (adl,) = (ROOT / "examples" / "wordcount").glob("*.adl")
        source.write_bytes(pack(adl.read_bytes() + b"<!-- another -->"))
        other: Obj = {"bundle": {**BY_HTTP["bundle"], "pullPolicy": "Always"}}
        submit_example(world, "other", width=2, more=other)
        await world.until("the other runs", lambda: world.is_running("other"))
        assert len(kept(world)) == 2
        world.store.delete(world.kind("streamsjobs"), "default", "other")
        await asyncio.sleep(3700)
        source.write_bytes(pack(adl.read_bytes() + b"<!-- a third -->"))
        submit_example(world, "third", width=2, more=other)
        await world.until("the third runs", lambda: world.is_running("third"))
        await world.settle()
        assert named in kept(world)
        assert len(kept(world)) == 2
        source.unlink()
        world.resize("j", "Counted", 4)
        await world.until("resized", lambda: status(world).get("widths") == {"Counted": 4})

    simulate(tmp_path, test)


def test_a_server_that_is_away_is_waited_for_while_other_jobs_go_on(tmp_path: Path) -> None:
    """It is reported, asked with growing pauses, and the job runs when it is back."""

    async def test(world: World) -> None:
        behind = serve(world)
        away = behind.folder / "wordcount.sab.away"
        away.touch()
        world.start()
        submit_example(world, "j", width=2, more=BY_HTTP)
        submit_example(world, "other", width=2)
        await world.until("the other runs", lambda: world.is_running("other"), 30)
        await asyncio.sleep(60)
        assert status(world)["phase"] == "Submitting"
        reason, message = said(world, "Submitted")
        assert reason == "BundleUnreadable"
        assert "spec.bundle.http.url: https://h.example/wordcount.sab" in message
        assert 3 <= len(behind.asked) <= 20
        away.unlink()
        await world.until("running", lambda: world.is_running("j"), 120)

    simulate(tmp_path, test)


def test_a_server_that_stays_away_fails_the_job_at_its_time_out(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        (serve(world).folder / "wordcount.sab.away").touch()
        world.start()
        more = {**BY_HTTP, "submissionTimeOutInSeconds": 40}
        submit_example(world, "j", width=2, more=more)
        await world.until("failed", lambda: world.phase("j") == "Failed", 60)
        assert status(world)["reason"] == "SubmissionTimedOut"
        assert "its server does not answer" in status(world)["message"]

    simulate(tmp_path, test)


def test_a_bundle_that_is_not_there_fails_the_job_until_somebody_asks_again(
    tmp_path: Path,
) -> None:
    async def test(world: World) -> None:
        behind = serve(world)
        there = behind.folder / "wordcount.sab"
        content = there.read_bytes()
        there.unlink()
        world.start()
        submit_example(world, "j", width=2, more=BY_HTTP)
        await world.until("failed", lambda: world.phase("j") == "Failed", 30)
        assert status(world)["reason"] == "BundleMissing"
        assert len(behind.asked) == 1
        there.write_bytes(content)
        patch = {"metadata": {"annotations": {labels.RETRY: "1"}}}
        world.store.patch(world.kind("streamsjobs"), "default", "j", patch, MERGE)
        await world.until("running", lambda: world.is_running("j"))

    simulate(tmp_path, test)


async def everything_said(world: World) -> str:
    """Every object but Secrets, and every fact of the log."""
    plurals = ("streamsjobs", "streamspes", "streamsprs", "configmaps", "services", "pods")
    objects = [world.objects(plural) for plural in (*plurals, "events")]
    facts = [(each.key, each.value, each.headers) for each in await world.facts()]
    return json.dumps(objects) + repr(facts)


def test_a_token_is_waited_for_sent_and_said_nowhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The Secret comes after the Job, as people apply a folder."""

    async def test(world: World) -> None:
        behind = serve(world)
        world.start()
        submit_example(world, "j", width=2, more=BY_GITHUB)
        await asyncio.sleep(20)
        assert said(world, "Submitted")[0] == "BundleUnreadable"
        assert "spec.bundle.github.secret: Secret hub" in said(world, "Submitted")[1]
        assert behind.asked == []
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": "hub", "namespace": "default"},
            "data": {"token": base64.b64encode(TOKEN.encode()).decode()},
        }
        world.store.create(world.kind("secrets"), "default", secret)
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        assert behind.asked == [(URL, TOKEN)]
        told = await everything_said(world)
        assert URL in told
        assert TOKEN not in told
        assert base64.b64encode(TOKEN.encode()).decode() not in told

    simulate(tmp_path, test)
    captured = capfd.readouterr()
    assert TOKEN not in captured.out + captured.err


def test_an_edit_of_where_the_bundle_comes_from_is_refused(tmp_path: Path) -> None:
    async def test(world: World) -> None:
        behind = serve(world)
        world.start()
        submit_example(world, "j", width=2, more=BY_HTTP)
        await world.until("running", lambda: world.is_running("j"))
        patch = {"spec": {"bundle": {"http": {"url": "https://h.example/x.sab?key=hidden"}}}}
        world.store.patch(world.kind("streamsjobs"), "default", "j", patch, MERGE)
        await world.settle()
        reason, message = said(world, "Accepted")
        assert reason == "EditRefused"
        assert "spec.bundle.http.url is https://h.example/x.sab" in message
        assert "hidden" not in message
        assert len(behind.asked) == 1

    simulate(tmp_path, test)

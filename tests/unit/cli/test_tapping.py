"""`millrace tap`: which PEs have a stream, what they give, and why it cannot be read."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from cli.connecting import connected
from cli.failing import CannotReach, Failure
from cli.live import JobView, PeView
from cli.pod_requests import METRICS_PORT
from cli.tapping import Tap, no_such_stream, not_running, pes_of, stream_named, tap_stream
from sandbox.http.api import Api
from sandbox.http.kubeconfig import write_kubeconfig
from sandbox.http.server import serving
from tests.builders import a_job, a_pe, a_pod
from tests.sandboxed import Sandboxed

ADDRESSES = tuple(f"127.77.{os.getpid() % 250 + 1}.{last}" for last in (1, 2))
"""Of this process: other runs of these tests use the same port."""
PLAYED = "10.244.0.9"


def a_view(pe_id: int, *operators: str, phase: str = "Running", problem: str = "") -> PeView:
    name = f"shop-{pe_id}"
    return PeView(pe_id, name, phase, 1, "uid", f"{name}-pod", "n", operators, problem)


PES = {
    0: a_view(0, "Source", "Words"),
    1: a_view(1, "Counted[0]"),
    2: a_view(2, "Counted[1]"),
}
VIEW = JobView("shop", "Submitted", "", "", 0, 1, 1, pes=PES)
INNER = {
    3: a_view(3, "Work.Summed[0]", "Work.Rest.Last"),
    4: a_view(4, "Work.Summed[1]", "Other.Last"),
}
NESTED = replace(VIEW, pes=PES | INNER)


@pytest.mark.parametrize(
    ("stream", "pes"),
    [("Words", [0]), ("Counted", [1, 2]), ("Counted[1]", [2]), ("Counted[2]", []), ("Count", [])],
)
def test_a_logical_name_is_that_of_all_channels(stream: str, pes: list[int]) -> None:
    assert [pe.id for pe in pes_of(PES, stream)] == pes


@pytest.mark.parametrize(
    ("name", "stream"),
    [
        ("Words", "Words"),
        ("Counted", "Counted"),
        ("Summed", "Work.Summed"),
        ("Summed[1]", "Work.Summed[1]"),
        ("Rest.Last", "Work.Rest.Last"),
    ],
)
def test_a_stream_is_named_by_the_end_of_its_name_in_whole_parts(name: str, stream: str) -> None:
    assert stream_named(NESTED, name) == stream


def test_an_end_that_is_of_no_stream_or_of_several_is_refused() -> None:
    with pytest.raises(Failure, match="job shop has no stream ummed"):
        stream_named(NESTED, "ummed")
    with pytest.raises(Failure, match=r"several streams Last: say Other\.Last or Work\.Rest\.Last"):
        stream_named(NESTED, "Last")


def test_a_misspelt_stream_is_answered_with_names_that_exist() -> None:
    assert str(no_such_stream(VIEW, "Cuonted")).splitlines()[::2] == [
        "job shop has no stream Cuonted",
        "its operators are Counted, Source, Words",
    ]
    assert "did you mean Counted" in str(no_such_stream(VIEW, "Cuonted"))
    assert "did you mean" not in str(no_such_stream(VIEW, "Xyz"))


def test_a_pe_without_a_pod_that_runs_has_its_phase_and_its_problem() -> None:
    pe = a_view(3, "Late", phase="Pending", problem="no node has room")
    assert not_running(pe) == "shop-3 has no pod that runs, it is Pending: no node has room"


@asynccontextmanager
async def pods_with_a_tap(text: str = "", before: str = "") -> AsyncIterator[None]:
    """At each address a tap: `before` and three tuples, or a refusal with `text`."""

    async def tap(request: web.Request) -> web.Response:
        if text:
            return web.Response(status=404, text=text)
        count = min(int(request.query.get("limit", "3")), 3)
        tuples = "".join(f'{{"n":{each}}}\n' for each in range(count))
        return web.Response(text=before + tuples)

    application = web.Application()
    application.router.add_get("/tap", tap)
    runner = web.AppRunner(application)
    await runner.setup()
    try:
        for address in ADDRESSES:
            await web.TCPSite(runner, address, METRICS_PORT).start()
        yield
    finally:
        await runner.cleanup()


@asynccontextmanager
async def a_cluster(folder: Path, *addresses: str) -> AsyncIterator[Path]:
    """A job whose PEs each have a channel of Counted, and pods at these addresses."""
    sandboxed = Sandboxed()
    sandboxed.create(a_job("shop"))
    for pe_id, address in enumerate(addresses):
        pe = a_pe("shop", pe_id).orphaned().with_spec(operators=[f"Counted[{pe_id}]"])
        sandboxed.create(pe)
        containers = [{"name": "pe", "image": "runtime:1"}]
        pod = a_pod("shop", pe_id).orphaned().with_spec(containers=containers)
        status = {"phase": "Running", "podIP": address}
        sandboxed.create(pod.with_status(**status), api_version="v1")
    api = Api(sandboxed.cluster.store, now=sandboxed.clock.now)
    async with serving(api) as port:
        write_kubeconfig(folder / "kubeconfig", port=port)
        yield folder / "kubeconfig"


async def tapped(kubeconfig: Path, stream: str = "Counted", limit: int = 0) -> None:
    async with connected(kubeconfig) as cluster:
        await tap_stream(cluster, "shop", Tap("default", stream, limit))


async def test_lines_of_several_pes_begin_with_their_names_and_the_end_of_each_is_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with pods_with_a_tap(), a_cluster(tmp_path, *ADDRESSES) as kubeconfig:
        await tapped(kubeconfig)
    out, err = capsys.readouterr()
    lines = sorted(out.splitlines())
    assert lines == [f'shop-{pe}  {{"n":{each}}}' for pe in (0, 1) for each in range(3)]
    ends = [f"millrace: shop-{pe} gives no more: its stream ended, or its pod did" for pe in (0, 1)]
    assert sorted(err.splitlines()) == ends


async def test_the_limit_is_that_of_all_pes_together(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with pods_with_a_tap(), a_cluster(tmp_path, *ADDRESSES) as kubeconfig:
        await tapped(kubeconfig, limit=2)
        await tapped(kubeconfig, "Counted[1]", limit=1)
    found = capsys.readouterr().out.splitlines()
    assert len(found) == 3
    assert found[-1] == '{"n":0}'


async def test_tuples_that_a_pe_left_out_are_said_beside_the_tuples_and_do_not_count(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notes = "# 7 tuples were left out\n"
    async with pods_with_a_tap(before=notes), a_cluster(tmp_path, ADDRESSES[0]) as kubeconfig:
        await tapped(kubeconfig, limit=2)
    shown = capsys.readouterr()
    assert shown.out.splitlines() == ['{"n":0}', '{"n":1}']
    assert shown.err == "millrace: shop-0: 7 tuples were left out\n"


async def test_a_pe_that_cannot_be_reached_is_named_beside_the_tuples_of_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with pods_with_a_tap(), a_cluster(tmp_path, ADDRESSES[0], PLAYED) as kubeconfig:
        await tapped(kubeconfig)
    shown = capsys.readouterr()
    assert len(shown.out.splitlines()) == 3
    assert "millrace: shop-1 does not answer on port 9696" in shown.err


async def test_a_job_whose_pods_do_not_answer_has_an_image_without_a_tap(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, PLAYED) as kubeconfig:
        with pytest.raises(CannotReach, match="its image has no tap"):
            await tapped(kubeconfig)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("404 page not found", "shop-0 has no tap in its image"),
        ("this PE has the streams none yet\n", "cannot be read now"),
        ("this PE has the streams none\n", "gives no stream: it only takes tuples"),
    ],
)
async def test_a_pe_that_refuses_is_quoted(tmp_path: Path, text: str, shown: str) -> None:
    async with pods_with_a_tap(text), a_cluster(tmp_path, ADDRESSES[0]) as kubeconfig:
        with pytest.raises(Failure, match=shown):
            await tapped(kubeconfig)


async def test_a_job_that_does_not_exist_is_answered_with_those_like_it(tmp_path: Path) -> None:
    async with a_cluster(tmp_path, PLAYED) as kubeconfig, connected(kubeconfig) as cluster:
        with pytest.raises(Failure, match="did you mean shop"):
            await tap_stream(cluster, "shops", Tap("default", "Counted", 0))

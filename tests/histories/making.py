"""Plays a scenario on a system of its own, and records it as `millrace record` does."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path

from cli.history_logs import HistoryOptions
from cli.recording_jobs import RecordOptions, record_history
from cli.showing import Screen
from history.unpacking import as_text
from loadtest.api import Api
from tests.e2e.running import up
from tests.e2e.watching import Cluster, System
from tests.histories.releases import Tree, copied, here, next_release, version, with_bug
from tests.histories.staging import PARTITIONS, QUIET_S, Scenario, Stage
from tools.real.pair import (
    BROKERS_SETTING,
    KUBECONFIG_SETTING,
    PairOptions,
    existing_pair,
    pair_down,
    pair_up,
)
from tools.real.progress import Progress

_PARTITIONS_SETTING = "MILLRACE_PARTITIONS"


def make(scenario: Scenario, path: Path) -> None:
    """Play and record a scenario; the file is replaced."""
    with tempfile.TemporaryDirectory(prefix="millrace-histories-") as name:
        folder = Path(name)
        tree, spare = _trees(scenario, folder)
        settings = {_PARTITIONS_SETTING: str(PARTITIONS), **scenario.settings}
        system_folder = folder / "up"
        system_folder.mkdir()
        with up(system_folder, real=scenario.is_real, settings=settings, root=tree.root) as system:
            packed = folder / "recording.zst"
            asyncio.run(_play(scenario, system, spare, packed))
        path.write_bytes(as_text(packed.read_bytes()))


async def _play(scenario: Scenario, system: System, spare: Tree | None, packed: Path) -> None:
    async with Api.of(system.kubeconfig) as api, AsyncExitStack() as open_ones:
        await scenario.play(Stage(Cluster(api, system), open_ones, spare))
        await asyncio.sleep(QUIET_S)
        await record(system, packed)


async def record(system: System, packed: Path) -> None:
    """Record all that the system's log has, while it runs."""
    log = HistoryOptions(bus=system.bus, prefix=system.prefix)
    await record_history(RecordOptions(packed, log), system.kubeconfig, Screen(quiet=True))


def _trees(scenario: Scenario, folder: Path) -> tuple[Tree, Tree | None]:
    """The source that the services run, and that of the next release if one is needed."""
    tree = here() if scenario.bug is None else with_bug(folder / "tree", scenario.bug)
    if not scenario.has_next_release:
        return tree, None
    return tree, copied(folder / "next", next_release(version()))


@contextmanager
def pair_for(scenarios: Sequence[Scenario]) -> Iterator[None]:
    """The real pair, if a scenario needs it: that of the environment, or one of our own."""
    if existing_pair(os.environ) is not None or not any(each.is_real for each in scenarios):
        yield
        return
    with (
        tempfile.TemporaryDirectory(prefix="millrace-histories-") as folder,
        Progress() as progress,
    ):
        options = PairOptions(Path(folder) / "pair")
        pair = asyncio.run(pair_up(options, progress))
        ours = {
            KUBECONFIG_SETTING: str(pair.kubeconfig),
            BROKERS_SETTING: pair.bootstrap_servers,
        }
        try:
            with _set(ours):
                yield
        finally:
            asyncio.run(pair_down(options, progress))


@contextmanager
def _set(settings: Mapping[str, str]) -> Iterator[None]:
    """Variables of our environment, which `up` inherits."""
    os.environ.update(settings)
    try:
        yield
    finally:
        for name in settings:
            del os.environ[name]

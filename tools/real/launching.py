"""Starts and stops the parts of a pair, one or all, and removes their data.

Brokers start in parallel with Kubernetes: etcd, then the API server, which signs its certificate,
then the kubeconfigs that name the certificate, then the clients of the API server. They stop in the
reverse order. `parts.py` has the command lines.
"""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path

from cli.failing import Failure
from cli.private import OTHERS, private_log
from tools.real.files import write_broker_files, write_credentials, write_kubeconfigs
from tools.real.node.namespaces import NODE, child_of, entering, furnish_namespaces, remove_cgroups
from tools.real.node.parts import CONTAINERD, ENVIRONMENT, KUBE_PROXY, KUBELET
from tools.real.node.plan import NodePlan
from tools.real.node_building import NodeBuild
from tools.real.node_running import import_images
from tools.real.parts import (
    API_SERVER,
    ETCD,
    FOLLOWERS,
    Part,
    broker_names,
    format_command,
    parts_of,
)
from tools.real.probing import problem_of, until
from tools.real.processes import ProcessId, environment, marked, spawn, stop
from tools.real.state import PairFolder, PairPlan
from tools.real.together import together

READY_TIMEOUT_S = 240.0  # 15 s on a machine with nothing else to do
FORMAT_TIMEOUT_S = 180.0
CONTAINERS_UMASK = 0o022


async def start_all(folder: PairFolder, plan: PairPlan) -> None:
    """Start every part of a new pair, and wait until each is healthy."""
    write_credentials(folder, plan)
    write_broker_files(folder, plan)
    if plan.node:  # the API server and the brokers listen at its link
        first = await start_part(folder, plan, NODE)
        await furnish_namespaces(plan.node, folder.path, first)
    await together(
        _start_kubernetes(folder, plan),
        _start_kafka(folder, plan),
        *((_start_containers(folder, plan, plan.node),) if plan.node else ()),
    )
    if plan.node:
        await together(*(start_part(folder, plan, name) for name in (KUBELET, KUBE_PROXY)))


async def _start_kubernetes(folder: PairFolder, plan: PairPlan) -> None:
    await start_part(folder, plan, ETCD)
    await start_part(folder, plan, API_SERVER)
    write_kubeconfigs(folder, plan)
    await together(*(start_part(folder, plan, name) for name in FOLLOWERS))


async def _start_containers(folder: PairFolder, plan: PairPlan, node: NodePlan) -> None:
    await start_part(folder, plan, CONTAINERD)
    await import_images(folder, NodeBuild(Path(node.build)).images)


async def _start_kafka(folder: PairFolder, plan: PairPlan) -> None:
    names = broker_names(plan)
    await together(*(format_broker(folder, plan, name) for name in names))
    await together(*(start_part(folder, plan, name) for name in names))


async def start_part(folder: PairFolder, plan: PairPlan, name: str) -> ProcessId:
    """Start one part and wait until it is healthy; raises Failure with the end of its log."""
    process = await _spawned(folder, parts_of(plan, folder.path)[name])
    if process is not None:
        folder.remember(name, process)

    async def problem() -> str:
        if folder.running(name) is None:
            raise Failure(f"{name} ended; the end of its log:", *folder.log_end(name))
        return await problem_of(folder, plan, name)

    def log_end() -> list[str]:
        return [f"The end of its log ({folder.log(name)}):", *folder.log_end(name)]

    await until(problem, f"{name} is not ready", READY_TIMEOUT_S, log_end)
    assert process is not None  # or `problem` would have raised
    return process


async def _spawned(folder: PairFolder, part: Part) -> ProcessId | None:
    """The process of a part. Those of the node are children of what enters its namespaces."""
    log, marker = folder.log(part.name), str(folder.path)
    if part.name != NODE and not part.in_node:
        return spawn(part.command, log, marker=marker)
    command = part.command
    if part.in_node:
        first = folder.running(NODE)
        if first is None:
            raise Failure(f"{part.name} needs the node, which does not run")
        command = (*entering(first), *command)
    # Users in containers have to enter the folders that containerd and the kubelet make for them.
    parent = spawn(command, log, marker=marker, path=ENVIRONMENT["PATH"], umask=CONTAINERS_UMASK)
    return await child_of(parent) if parent else None


async def format_broker(folder: PairFolder, plan: PairPlan, name: str, *more: str) -> None:
    """Format the empty folder of a broker; `more` are words for the tool. Raises Failure."""
    with private_log(folder.log(name)) as log:
        process = await asyncio.create_subprocess_exec(
            *format_command(plan, folder.path, name, *more),
            stdout=log,
            stderr=log,
            umask=OTHERS,
            env=environment(str(folder.path)),  # `stop_all` finds it by this if we are killed
        )
        try:
            async with asyncio.timeout(FORMAT_TIMEOUT_S):
                code = await process.wait()
        except TimeoutError:
            code = -1
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
    if code:
        raise Failure(f"{name} could not be formatted:", *folder.log_end(name))


async def empty_part(folder: PairFolder, plan: PairPlan, name: str) -> None:
    """Delete the data of etcd or of a broker that does not run."""
    if folder.running(name):
        raise Failure(f"{name} runs: stop it before its data is thrown away")
    if name == ETCD:
        shutil.rmtree(folder.path / ETCD, ignore_errors=True)
        return
    shutil.rmtree(folder.path / name / "data", ignore_errors=True)
    await format_broker(folder, plan, name)


def stop_all(folder: PairFolder) -> None:
    """End every process of the pair, also those without a recorded pid. Blocks."""
    plan = folder.plan()
    if plan is not None:
        brokers = broker_names(plan)
        for names in ((NODE,), FOLLOWERS, (API_SERVER,), (ETCD, *brokers)):
            stop(process for process in map(folder.running, names) if process)
    stop(marked(str(folder.path)))
    if plan is not None and plan.node:
        remove_cgroups(plan.node)

"""The real pair as a whole: up, status, down; stop, start and empty one part.

    pair = await pair_up(PairOptions(), progress)     # pair.kubeconfig, pair.bootstrap_servers
    async with running_pair(PairOptions(state=tmp), progress) as pair: …      # down at the end

`up` is idempotent: it keeps a healthy pair, and ends and replaces any other in the folder. With
MILLRACE_KUBECONFIG and MILLRACE_BOOTSTRAP_SERVERS set, it starts and stops nothing, but checks and
uses that cluster and those brokers.
"""

from __future__ import annotations

import asyncio
import os
import random
import shlex
import socket
import uuid
from base64 import urlsafe_b64encode
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from cli.failing import CannotReach, Failure, Misused
from cli.ports import free_ports
from contracts.servers import are_servers
from services.chassis.log.kafka_security import KafkaSecurity
from services.chassis.process.errors import ChassisError
from services.chassis.process.settings import read_settings
from tools.real import launching
from tools.real.building import Build, build_of, cache_folder
from tools.real.node.namespaces import EMPTY_FOLDERS
from tools.real.node.parts import CONTAINERD
from tools.real.node.plan import NodePlan, free_number
from tools.real.node.requiring import checked_containerd
from tools.real.node_building import NodeBuild, node_build_of
from tools.real.node_furnishing import furnish_node
from tools.real.node_running import import_images
from tools.real.parts import parts_of, port_names
from tools.real.pins import Pins, read_pins
from tools.real.preparing import cluster_version, furnish, furnish_definitions
from tools.real.probing import kafka_problem, problem_of, secured_kafka_problem
from tools.real.processes import ProcessId, age_s, resident_bytes, stop
from tools.real.progress import Progress
from tools.real.state import PairFolder, PairPlan, locked

KUBECONFIG_SETTING = "MILLRACE_KUBECONFIG"
BROKERS_SETTING = "MILLRACE_BOOTSTRAP_SERVERS"


@dataclass(frozen=True, slots=True)
class PairOptions:
    """The options of a pair; `state` None means the default folder."""

    state: Path | None = None
    brokers: int = 1
    nodes: int = 4
    node: bool = False  # a real one, beside kwok's
    images: tuple[Path, ...] = ()  # for the real one: files that `docker save` wrote

    @property
    def folder(self) -> PairFolder:
        """The folder of the pair."""
        return PairFolder(self.state or cache_folder() / "pair")


@dataclass(frozen=True, slots=True)
class Pair:
    """A pair that answers; `folder` is None if we did not start it."""

    kubeconfig: Path
    bootstrap_servers: str
    folder: PairFolder | None = None

    @property
    def line(self) -> str:
        """Both as assignments for `eval`."""
        kubeconfig = shlex.quote(str(self.kubeconfig))
        return f"KUBECONFIG={kubeconfig} BOOTSTRAP_SERVERS={shlex.quote(self.bootstrap_servers)}"


@dataclass(frozen=True, slots=True)
class PartStatus:
    """The state of a part; an empty problem means that it is healthy."""

    name: str
    port: int
    version: str
    problem: str
    pid: int | None = None
    resident_bytes: int = 0
    age_s: float = 0.0


def existing_pair(environment: Mapping[str, str]) -> Pair | None:
    """The cluster and brokers named by the environment, else None. Raises Misused."""
    kubeconfig = environment.get(KUBECONFIG_SETTING, "")
    brokers = environment.get(BROKERS_SETTING, "")
    if not kubeconfig and not brokers:
        return None
    if not (kubeconfig and brokers):
        raise Misused(f"set both {KUBECONFIG_SETTING} and {BROKERS_SETTING}, or neither of them.")
    if not Path(kubeconfig).is_file():
        raise Misused(f"{KUBECONFIG_SETTING}: there is no file {kubeconfig}.")
    if not are_servers(brokers):
        raise Misused(f"{BROKERS_SETTING}: {brokers} is not HOST:PORT[,HOST:PORT…].")
    return Pair(Path(kubeconfig), brokers)


async def pair_up(options: PairOptions, progress: Progress) -> Pair:
    """Bring the pair up unless it is healthy. Raises Misused, Failure, TimedOut, CannotReach."""
    existing = existing_pair(os.environ)
    check_node_options(options, existing)
    if existing is not None:
        await _existing_status(existing)
        await furnish_definitions(existing.kubeconfig)
        return existing
    pins = read_pins()
    containerd = await checked_containerd() if options.node else ""
    build = await build_of(pins, progress)
    node_build = await node_build_of(pins, progress) if options.node else None
    folder = options.folder
    async with locked(folder.path, progress.say):
        folder.check_is_ours()
        if await _is_usable(folder, options, pins):
            await furnish(folder.kubeconfig, nodes=options.nodes)
        else:
            await asyncio.to_thread(launching.stop_all, folder)
            folder.remove()
            node = new_node(node_build, containerd) if node_build else None
            folder.prepare(new_plan(options, pins, build, node))
            await _start(folder, options.nodes, progress)
        if options.images:
            with progress.step("images", total=None):
                await import_images(folder, options.images)
        return _pair_of(folder)


def check_node_options(options: PairOptions, existing: Pair | None) -> None:
    """Raise Misused for options of a real node that cannot be followed."""
    if options.images and not options.node:
        raise Misused("--image is for the real node: say --node too.")
    if not options.node:
        return
    if existing is not None:
        raise Misused(
            f"--node is for a pair that we start; {KUBECONFIG_SETTING} and {BROKERS_SETTING} name "
            "another."
        )
    for image in options.images:
        if not image.is_file():
            raise Misused(f"--image {image}: there is no such file.")
    hidden = [each for each in EMPTY_FOLDERS if options.folder.path.is_relative_to(each)]
    if hidden:
        raise Misused(
            f"--state {options.folder.path}: a real node has a {hidden[0]} of its own. Say another."
        )


async def _is_usable(folder: PairFolder, options: PairOptions, pins: Pins) -> bool:
    plan = folder.plan()
    if plan is None or plan.digest != pins.digest:
        return False
    if any(status.problem for status in await _statuses(folder, plan, pins)):
        return False
    if plan.brokers != options.brokers:
        raise Misused(
            f"a healthy pair with --brokers {plan.brokers} runs in {folder.path}: "
            "end it with `millrace real down`, or say another --state."
        )
    if (plan.node is not None) != options.node:
        kind = "with" if plan.node else "without"
        raise Misused(
            f"a healthy pair {kind} --node runs in {folder.path}: "
            "end it with `millrace real down`, or say another --state."
        )
    return True


async def _start(folder: PairFolder, nodes: int, progress: Progress) -> None:
    """Start every part, or leave none running; logs are kept if a part failed."""
    plan = folder.plan()
    assert plan is not None  # prepared just now
    try:
        with progress.step("etcd, Kubernetes, Kafka: start", total=None):
            await launching.start_all(folder, plan)
        with progress.step("CRDs and nodes", total=None):
            await furnish(folder.kubeconfig, nodes=nodes)
        if plan.node:
            with progress.step("the real node and its DNS", total=None):
                await furnish_node(folder.kubeconfig)
    except Failure:
        launching.stop_all(folder)
        raise
    except BaseException:  # interrupted
        launching.stop_all(folder)
        folder.remove()
        raise


def new_node(build: NodeBuild, containerd: str) -> NodePlan:
    """A plan with a free number."""
    interfaces = [name for _, name in socket.if_nameindex()]
    number = free_number(interfaces, random.SystemRandom())
    return NodePlan(number, containerd, str(build.folder))


def new_plan(
    options: PairOptions, pins: Pins, build: Build, node: NodePlan | None = None
) -> PairPlan:
    """A plan with free ports."""
    names = port_names(options.brokers)
    # Not for secrecy: two commands that start at once must not choose the same ports.
    ports = free_ports(len(names), random.SystemRandom())
    return PairPlan(
        digest=pins.digest,
        build=str(build.folder),
        java=build.java,
        brokers=options.brokers,
        ports=dict(zip(names, ports, strict=True)),
        cluster_id=kafka_cluster_id(uuid.uuid4().bytes),
        node=node,
    )


def kafka_cluster_id(octets: bytes) -> str:
    """The id of a Kafka cluster; its tools would read a leading dash as an option."""
    text = urlsafe_b64encode(octets).decode().rstrip("=")
    return "A" + text[1:] if text.startswith("-") else text


async def pair_down(options: PairOptions, progress: Progress) -> bool:
    """End the pair and remove its folder; False if there was no folder."""
    folder = options.folder
    async with locked(folder.path, progress.say):
        folder.check_is_ours()
        was_there = folder.path.exists()
        await asyncio.to_thread(launching.stop_all, folder)
        folder.remove()
        return was_there


async def pair_status(options: PairOptions) -> tuple[Pair | None, list[PartStatus]]:
    """The pair, or None, and the state of every part."""
    existing = existing_pair(os.environ)
    if existing is not None:
        return existing, await _existing_status(existing)
    folder = options.folder
    plan = folder.plan()
    if plan is None:
        return None, []
    return _pair_of(folder), await _statuses(folder, plan, read_pins())


@asynccontextmanager
async def running_pair(options: PairOptions, progress: Progress) -> AsyncIterator[Pair]:
    """A pair that is up inside of the block; one that we did not start is left as it is."""
    pair = await pair_up(options, progress)
    try:
        yield pair
    finally:
        if pair.folder is not None:
            await pair_down(options, progress)


async def stop_part(pair: Pair, name: str, *, grace_s: float = 8.0) -> None:
    """End one part: SIGTERM, and SIGKILL after `grace_s`."""
    process = part_process(pair, name)
    if process is not None:
        await asyncio.to_thread(stop, [process], grace_s=grace_s)


async def start_part(pair: Pair, name: str) -> None:
    """Start one part again with its data and its port, and wait until it is healthy."""
    folder, plan = _own(pair)
    await launching.start_part(folder, plan, name)


async def empty_part(pair: Pair, name: str) -> None:
    """Delete the data of etcd or of a broker that is stopped.

    After etcd, start the API server and its clients again, and call `furnish`.
    """
    folder, plan = _own(pair)
    await launching.empty_part(folder, plan, name)


def part_process(pair: Pair, name: str) -> ProcessId | None:
    """The process of a part, for signals; None if it does not run."""
    return _own(pair)[0].running(name)


def _own(pair: Pair) -> tuple[PairFolder, PairPlan]:
    plan = pair.folder.plan() if pair.folder else None
    if pair.folder is None or plan is None:
        raise Misused("only the parts of a pair that we started can be stopped and started")
    return pair.folder, plan


def _pair_of(folder: PairFolder) -> Pair:
    plan = folder.plan()
    assert plan is not None  # written before anything was started
    return Pair(folder.kubeconfig, plan.bootstrap_servers, folder)


async def _statuses(folder: PairFolder, plan: PairPlan, pins: Pins) -> list[PartStatus]:
    parts = parts_of(plan, folder.path).values()
    versions = {**pins.versions, CONTAINERD: plan.node.containerd if plan.node else ""}
    problems = await asyncio.gather(*(problem_of(folder, plan, part.name) for part in parts))
    found = []
    for part, problem in zip(parts, problems, strict=True):
        version = versions[part.product]
        process = folder.running(part.name)
        if process is None:
            found.append(PartStatus(part.name, part.port, version, problem or "does not run"))
            continue
        memory, age = resident_bytes(process), age_s(process)
        found.append(PartStatus(part.name, part.port, version, problem, process.pid, memory, age))
    return found


async def _existing_status(pair: Pair) -> list[PartStatus]:
    """The state of a pair that is not ours. Raises CannotReach if a server does not answer."""
    try:
        version = await cluster_version(pair.kubeconfig)
    except (ChassisError, Failure) as problem:
        raise CannotReach(f"the cluster of {pair.kubeconfig} does not answer: {problem}") from None
    found = [PartStatus("Kubernetes", 0, version.removeprefix("v"), "")]
    security = read_settings(KafkaSecurity)
    for address in pair.bootstrap_servers.split(","):
        if security.security_protocol == "PLAINTEXT":
            silence = await kafka_problem(address, 1)
        else:
            silence = await secured_kafka_problem(address, security)
        if silence:
            raise CannotReach(f"the broker {address} {silence}")
        found.append(PartStatus("Kafka", int(address.rpartition(":")[2]), "", ""))
    return found

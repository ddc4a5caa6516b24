"""Gathers all that the rules of `history/why` look at: which object, its job, services, the log."""

from __future__ import annotations

import asyncio
import difflib
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from cli.connecting import JOBS, PLACEMENTS, POOLS, Cluster
from cli.failing import Failure, Misused
from cli.history_logs import HistoryOptions
from cli.jobs import NEAR_MAX
from cli.pod_logs import last_lines
from cli.why_logs import Subject, log_of
from cli.why_reading import (
    NODES,
    Reader,
    Surroundings,
    askable,
    children_of,
    root_labelled,
    surroundings_of,
    surroundings_of_node,
)
from cli.why_services import Services, services_seen
from contracts.belonging import ROWS, is_root, label_of, labelled, roots
from history.why.case import Case
from history.why.gathered import Gathered
from history.why.things import Obj, Thing, mapping_of
from services.chassis.kube.port import Json, Resource
from services.chassis.kube.resources import resource_of

LOGS_MAX: Final = 2
"""Of so many pods that failed the last line of the log is read."""
_WORDS: Final[dict[str, str]] = {
    **dict.fromkeys(("pe", "pes"), "ProcessingElement"),
    **dict.fromkeys(("pool", "pools"), "HostPool"),
    **dict.fromkeys(("region", "regions"), "ParallelRegion"),
    **dict.fromkeys(("pod", "pods", "po"), "Pod"),
    **dict.fromkeys(("node", "nodes", "no"), "Node"),
}


def requested_of(words: str) -> tuple[str, str]:
    """Kind and name of `KIND/NAME` or `NAME`; the kind is empty for a name. Raises Misused."""
    kind, found, name = words.rpartition("/")
    if not found:
        return "", words
    known = _WORDS | {
        word: row.kind
        for row in ROWS.values()
        for word in (row.kind.lower(), row.plural, row.singular, row.short_name)
    }
    if kind.lower() not in known or not name:
        kinds = ", ".join(resource.kind for resource in askable())
        raise Misused(f"{words!r}: say NAME, or KIND/NAME with one of the kinds {kinds}")
    return known[kind.lower()], name


async def find(reader: Reader, words: str) -> tuple[Resource, Json]:
    """The object of the question; raises Failure unless there is exactly one."""
    kind, name = requested_of(words)
    wanted = [each for each in askable() if kind in ("", each.kind)]
    read = await asyncio.gather(*(reader.one(each, name) for each in wanted))
    found = [(each, obj) for each, obj in zip(wanted, read, strict=True) if obj is not None]
    if len(found) > 1 and is_root(found[0][0].kind):
        # A Job's Placement has its name, and the answer about the Job covers it.
        found = [each for each in found if each[0] is not PLACEMENTS]
    if len(found) > 1:
        candidates = ", ".join(f"{resource.kind}/{name}" for resource, _ in found)
        raise Failure(f"{name} is the name of several objects: say one of {candidates}")
    if not found:
        kinds = kind or ", ".join(each.kind for each in askable())
        unread = [f"{kind}: {why}" for kind, why in sorted(reader.unread.items())]
        near = await _near(reader, wanted, name)
        meant = f"did you mean {' or '.join(near)}? " if near else ""
        raise Failure(
            f"namespace {reader.namespace} has no {name} of the kinds {kinds}; {meant}`millrace"
            " get` lists the jobs",
            *unread,
        )
    return found[0]


async def _near(reader: Reader, wanted: Sequence[Resource], name: str) -> list[str]:
    """What has a name like this one, as words of a command; a pool has that of its application."""
    lists = await asyncio.gather(
        *(reader.all(each, names_only=each is not POOLS) for each in wanted)
    )
    words: dict[str, str] = {}
    for resource, found in zip(wanted, lists, strict=True):
        for each in found:
            there = str(each["metadata"]["name"])
            words.setdefault(there, there if resource is JOBS else f"{resource.kind}/{there}")
            if resource is POOLS:
                thing = Thing(resource.kind, each)
                declared = mapping_of(thing.spec.get("hostpool")).get("name")
                words.setdefault(f"{thing.spec.get('job')}-{declared}", f"{POOLS.kind}/{there}")
                words.setdefault(str(declared), f"{POOLS.kind}/{there}")
    near = (words[each] for each in difflib.get_close_matches(name, words, NEAR_MAX))
    return [*dict.fromkeys(near)]


async def gather(
    cluster: Cluster, namespace: str, words: str, options: HistoryOptions | None
) -> Gathered:
    """Everything about one object; without `options` no log is looked for."""
    reader = Reader(cluster.kube, namespace)
    resource, target = await find(reader, words)
    reader.unread.clear()
    root = root_labelled(resource, target)
    node = str(target["metadata"]["name"]) if resource is NODES else ""
    subject = Subject(namespace, root.key if root else "", node=node)
    services, log, children, job = await asyncio.gather(
        services_seen(cluster, "" if node else namespace),
        log_of(options, cluster.kubeconfig, subject),
        children_of(reader, root.kind, root.selector) if root else _nothing(),
        reader.one(resource_of(root.kind), root.name) if root else _none(),
    )
    if resource is NODES:
        around = await surroundings_of_node(reader, node)
    else:
        children = children if root else {resource.kind: [target]}  # a pod of others
        around = await surroundings_of(reader, children)
    own = {root.kind: (job,) if job else ()} if root else {}
    gathered = _gathered(resource, target, {**children, **own}, around, reader)
    failed = [each.name for each in Case(gathered).newest_pods if each.phase == "Failed"]
    if failed:
        read = await last_lines(cluster.kubeconfig, namespace, failed[:LOGS_MAX])
        gathered = replace(gathered, last_lines=read)
    return _with_services(replace(gathered, log=log), services)


async def gather_all(cluster: Cluster, namespace: str) -> list[Gathered]:
    """Every root of a namespace, from status alone; each kind is read once.

    Raises Failure where the jobs cannot be read.
    """
    reader, kinds = Reader(cluster.kube, namespace), [*roots()]
    read, services = await asyncio.gather(
        asyncio.gather(*(_read_all(reader, kind) for kind in kinds)),
        services_seen(cluster, namespace),
    )
    if JOBS.kind in reader.unread:
        raise Failure(
            f"the jobs of namespace {namespace} are not known: {reader.unread[JOBS.kind]}"
        )
    found = []
    for kind, (objects, children) in zip(kinds, read, strict=True):
        around = await surroundings_of(reader, children)
        for each in sorted(objects, key=lambda each: str(each["metadata"]["name"])):
            gathered = _one_of(reader, resource_of(kind), each, children, around)
            found.append(_with_services(gathered, services))
    return found


async def _read_all(reader: Reader, kind: str) -> tuple[list[Json], dict[str, list[Json]]]:
    return await asyncio.gather(
        reader.all(resource_of(kind)), children_of(reader, kind, label_of(kind))
    )


def _one_of(
    reader: Reader,
    resource: Resource,
    obj: Json,
    children: Mapping[str, list[Json]],
    around: Surroundings,
) -> Gathered:
    """One root, of the children of all."""
    root = root_labelled(resource, obj)
    own = {
        kind: [each for each in items if labelled(kind, each) == root]
        for kind, items in children.items()
    }
    return _gathered(resource, obj, {**own, resource.kind: (obj,)}, around, reader)


def _gathered(
    resource: Resource,
    target: Json,
    objects: Mapping[str, Sequence[Json]],
    around: Surroundings,
    reader: Reader,
) -> Gathered:
    found: dict[str, tuple[Obj, ...]] = {kind: tuple(items) for kind, items in objects.items()}
    for kind, items in around.objects.items():
        found[kind] = (*found.get(kind, ()), *items)
    name = str(target["metadata"]["name"])
    others = found.get(resource.kind, ())
    if not any(each["metadata"]["name"] == name for each in others):
        found[resource.kind] = (*others, target)
    return Gathered(
        kind=resource.kind,
        namespace=reader.namespace,
        name=name,
        now_s=time.time(),
        objects=found,
        missing=around.missing,
        unread=dict(reader.unread),
        partly=dict(reader.partly),
    )


def _with_services(gathered: Gathered, services: Services) -> Gathered:
    return replace(gathered, services=services[0], services_unread=services[1])


async def _nothing() -> dict[str, list[Json]]:
    return {}


async def _none() -> Json | None:
    return None

"""Reads what `millrace why` looks at: each kind once, bounded, with the rights of the person.

A kind that may not be read is noted, and is no failure. Of Secrets only the names are read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from cli.connecting import CLAIMS, CONFIG_MAPS, PES, PLACEMENTS, PODS
from contracts.belonging import Root, is_root, kinds_of, labelled, roots
from contracts.unreadable import is_whole
from history.why.case import NODE
from history.why.of_needs import CLAIM, CONFIG_MAP, SECRET, wanted_by
from history.why.things import Thing
from services.chassis.kube.events import EVENT
from services.chassis.kube.port import Json, KubeClient, Resource
from services.chassis.kube.resources import resource_of
from services.chassis.process.errors import Expired, NotAllowed, NotFound, Rejected

PAGES_MAX: Final = 20
"""Of 500 objects: 10,000 of a kind."""
NODES_NAMED_MAX: Final = 50
"""So many nodes are read one by one; of more, all are listed."""
NODE_EVENTS_IN: Final = "default"
"""The namespace of Events about objects that have none."""
NODES: Final = resource_of(NODE)
SECRETS: Final = Resource("", "v1", "secrets", SECRET)


def askable() -> list[Resource]:
    """What can be asked about: roots first, then what owns pods, then what else belongs to them."""
    kinds = (*roots(), *(kind for root in roots() for kind in kinds_of(root)))
    return [*map(resource_of, kinds), PODS, NODES]


@dataclass
class Reader:
    """Reads of one command; `unread` has why a kind could not be read, `partly` how many were."""

    kube: KubeClient
    namespace: str
    unread: dict[str, str] = field(default_factory=dict)
    partly: dict[str, int] = field(default_factory=dict)

    def is_whole(self, kind: str) -> bool:
        """Whether all objects of a kind are known: what is not among them does not exist."""
        return kind not in self.unread and kind not in self.partly

    async def one(self, resource: Resource, name: str) -> Json | None:
        """An object, or None if it does not exist or may not be read."""
        namespace = self.namespace if resource.namespaced else ""
        try:
            return await self.kube.get(resource, namespace, name)
        except NotFound:
            return None
        except NotAllowed as refused:
            self.unread[resource.kind] = f"you may not get {resource.plural}: {refused.message}"
            return None

    async def all(
        self,
        resource: Resource,
        selector: str = "",
        *,
        names_only: bool = False,
        namespace: str | None = None,
    ) -> list[Json]:
        """The objects of a kind, at most PAGES_MAX pages; none where it cannot be listed.

        They are those of `namespace`, else of that of the command.
        """
        found: list[Json] = []
        pages = 0
        try:
            async for page in self.kube.list_pages(
                resource,
                (namespace or self.namespace) if resource.namespaced else None,
                label_selector=selector,
                metadata_only=names_only,
            ):
                if pages == PAGES_MAX:
                    self.partly[resource.kind] = len(found)
                    break
                found += page.items
                pages += 1
        except NotFound:
            return []
        except NotAllowed as refused:
            self.unread[resource.kind] = f"you may not list {resource.plural}: {refused.message}"
        except Expired:
            self.partly[resource.kind] = len(found)
        except Rejected as refused:
            self.unread[resource.kind] = f"{resource.plural} cannot be listed: {refused.message}"
        return found


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What several jobs share: nodes, Events, claims, and the names of what does not exist."""

    objects: Mapping[str, tuple[Json, ...]]
    missing: frozenset[str]


async def children_of(reader: Reader, root: str, selector: str) -> dict[str, list[Json]]:
    """Children of roots of a kind, by kind."""
    kinds = (*kinds_of(root), PODS.kind)
    lists = await asyncio.gather(*(reader.all(resource_of(each), selector) for each in kinds))
    return dict(zip(kinds, lists, strict=True))


async def surroundings_of(reader: Reader, children: Mapping[str, Sequence[Json]]) -> Surroundings:
    """What the pods and PEs of jobs need beside each other: only what they name is looked for."""
    pods = [Thing(PODS.kind, each) for each in children.get(PODS.kind, ()) if is_whole(each)]
    nodes = _nodes_named(children)
    waiting = [pod for pod in pods if pod.phase in ("", "Pending")]
    needed = {(kind, name) for pod in waiting for kind, name, _ in wanted_by(pod)}
    is_unplaced = any(not pod.spec.get("nodeName") for pod in waiting) or _has_refusal(children)
    found_nodes, lost = await _nodes(reader, nodes, list_all=is_unplaced)
    claims, lacks = await _needs(reader, needed)
    events = _warnings(await reader.all(EVENT))
    if found_nodes and reader.namespace != NODE_EVENTS_IN:
        events += _warnings_about_nodes(await reader.all(EVENT, namespace=NODE_EVENTS_IN))
    objects = {NODE: tuple(found_nodes), CLAIM: tuple(claims), EVENT.kind: tuple(events)}
    return Surroundings(objects, frozenset(lost | lacks))


async def surroundings_of_node(reader: Reader, name: str) -> Surroundings:
    """The warnings about one node."""
    events = _warnings_about_nodes(await reader.all(EVENT, namespace=NODE_EVENTS_IN))
    about = [each for each in events if each["involvedObject"].get("name") == name]
    return Surroundings({EVENT.kind: tuple(about)}, frozenset())


def _warnings(events: Sequence[Json]) -> list[Json]:
    return [each for each in events if each.get("type") == "Warning"]


def _warnings_about_nodes(events: Sequence[Json]) -> list[Json]:
    about = (each for each in _warnings(events) if isinstance(each.get("involvedObject"), dict))
    return [each for each in about if each["involvedObject"].get("kind") == NODE]


def _has_refusal(children: Mapping[str, Sequence[Json]]) -> bool:
    placements = (Thing(PLACEMENTS.kind, each) for each in children.get(PLACEMENTS.kind, ()))
    return any(each.phase in ("Refused", "Unknown") for each in placements)


def _nodes_named(children: Mapping[str, Sequence[Json]]) -> set[str]:
    """The nodes that pods are on, and that statuses of PEs and of Placements name."""
    named: set[str] = set()
    for pod in children.get(PODS.kind, ()):
        named.add(str(Thing(PODS.kind, pod).spec.get("nodeName") or ""))
    for pe in children.get(PES.kind, ()):
        named.add(str(Thing(PES.kind, pe).status.get("node") or ""))
    for placement in children.get(PLACEMENTS.kind, ()):
        assignments = Thing(PLACEMENTS.kind, placement).status.get("assignments") or ()
        named |= {str(each.get("node") or "") for each in assignments}
    return named - {""}


async def _nodes(reader: Reader, named: set[str], *, list_all: bool) -> tuple[list[Json], set[str]]:
    """The nodes, and those that are named and do not exist."""
    if list_all or len(named) > NODES_NAMED_MAX:
        found = await reader.all(NODES)
    else:
        read = await asyncio.gather(*(reader.one(NODES, name) for name in sorted(named)))
        found = [each for each in read if each is not None]
    if not reader.is_whole(NODE):
        return found, set()
    there = {each["metadata"]["name"] for each in found}
    return found, {f"{NODE}/{name}" for name in named - there}


async def _needs(reader: Reader, needed: Iterable[tuple[str, str]]) -> tuple[list[Json], set[str]]:
    """The claims that are needed, and what is needed and does not exist, of all kinds."""
    kinds = {SECRET: SECRETS, CONFIG_MAP: CONFIG_MAPS, CLAIM: CLAIMS}
    lacks: set[str] = set()
    claims: list[Json] = []
    for kind, resource in kinds.items():
        names = {name for of_kind, name in needed if of_kind == kind}
        if not names:
            continue
        found = await reader.all(resource, names_only=kind != CLAIM)
        if not reader.is_whole(kind):
            continue
        there = {each["metadata"]["name"]: each for each in found}
        lacks |= {f"{kind}/{name}" for name in names - there.keys()}
        claims += [there[name] for name in names & there.keys()] if kind == CLAIM else []
    return claims, lacks


def root_labelled(resource: Resource, obj: Json) -> Root | None:
    """The root that an object is or belongs to; None for a node, and for a pod of others."""
    if is_root(resource.kind):
        return Root(resource.kind, str(obj["metadata"]["name"]))
    return None if resource is NODES else labelled(resource.kind, obj)

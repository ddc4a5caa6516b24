"""What the services of millrace do, for `millrace why`: by `up`, or by their Deployments."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from cli.connecting import PODS, Cluster
from cli.failing import Failure
from cli.installing.diagnosing import trouble_of_workload, troubles_of_pods
from cli.service_status import Reported, ServiceStatus, statuses_of
from history.why.gathered import ServiceSeen
from services.chassis.kube.listing import Watched, list_all
from services.chassis.kube.port import KubeClient, Resource
from services.chassis.process.errors import ChassisError

DEPLOYMENTS: Final = Resource("apps", "v1", "deployments", "Deployment")
RESTORE_S: Final = 30.0
"""A service that began a shorter time ago may still read what there is."""
_OURS: Final = "app.kubernetes.io/name=millrace"
_INSTANCE: Final = "app.kubernetes.io/instance"
_NAMESPACES: Final = "MILLRACE_NAMESPACES"
_COMPONENT: Final = "app.kubernetes.io/component"
Json = dict[str, Any]
Services = tuple[tuple[ServiceSeen, ...] | None, str]
"""The services, or None and why they are not known."""


async def services_seen(cluster: Cluster, namespace: str) -> Services:
    """The services of the `up` of the current context, else of the installations of the cluster.

    Those of installations that work in other namespaces only are left out.
    """
    up = cluster.up
    if up is not None and up.state is not None:
        try:
            return of_up(await statuses_of(up.state), up.state), ""
        except Failure as failure:
            return None, str(failure)
    return await _of_cluster(cluster.kube, namespace)


def of_up(statuses: Sequence[ServiceStatus], state: Path) -> tuple[ServiceSeen, ...]:
    """One for each name: with several instances it is well if one of them is."""
    return _best(_of_process(each, state) for each in statuses)


def _best(services: Iterable[ServiceSeen]) -> tuple[ServiceSeen, ...]:
    """The first of each name that is well, else the first."""
    found: dict[str, ServiceSeen] = {}
    for each in services:
        known = found.get(each.name)
        if known is None or (known.problem and not each.problem):
            found[each.name] = each
    return tuple(found.values())


def _of_process(status: ServiceStatus, state: Path) -> ServiceSeen:
    reported = status.reported
    name = reported.name.rstrip("0123456789").rstrip("-")
    seen = ServiceSeen(name, since_s=reported.since_s)
    if status.is_well:
        return seen
    if reported.state in ("stopped", "stopping"):
        start = f"Start it: millrace service start {reported.name} --state {state}"
        return replace(seen, problem=f"is {reported.state}", remedy=start)
    look = f"millrace logs --service {name} --tail 50 --state {state}"
    if reported.state == "ended":
        problem = f"ended with exit code {reported.exit_code}"
        again = f"See why in its log ({look}); `up` starts it again by itself"
        return replace(seen, problem=problem, remedy=again)
    return replace(seen, problem="runs and is not ready", remedy=_revive(reported, state, look))


def _revive(reported: Reported, state: Path, look: str) -> str:
    """How a service is made ready whose process lives: `up` starts only what ended."""
    began_s = time.time() - reported.since_s if reported.since_s is not None else math.inf
    if began_s < RESTORE_S:
        return f"Wait: it started {began_s:.0f} s ago and reads what there is ({look})"
    at = f"{reported.name} --state {state}"
    return (
        "Its process lives and does not answer, and `up` starts only what has ended: millrace"
        f" service stop {at}, then millrace service start {at}; its log: {look}"
    )


async def _of_cluster(kube: KubeClient, namespace: str) -> Services:
    try:
        deployments, _ = await list_all(kube, Watched(DEPLOYMENTS, label_selector=_OURS))
        pods, _ = await list_all(kube, Watched(PODS, label_selector=_OURS))
    except ChassisError as problem:
        return None, f"the Deployments of millrace cannot be listed in all namespaces: {problem}"
    if not deployments:
        return None, (
            "no Deployment of millrace is in the cluster, and the current context is not of a"
            " `millrace up`"
        )
    found = of_installations(deployments, pods, namespace)
    if not found:
        return None, f"no installation of millrace in the cluster works in namespace {namespace}"
    return found, ""


def of_installations(
    deployments: Sequence[Json], pods: Sequence[Json], namespace: str
) -> tuple[ServiceSeen, ...]:
    """The services that work in a namespace; of two installations that do, the one that runs.

    `namespace` is empty for all. An installation without namespaces in its settings works in all.
    """
    found = [each for each in deployments if _works_in(each, namespace)]
    by_installation: dict[tuple[str, str], list[ServiceSeen]] = {}
    for each in found:
        by_installation.setdefault(_installation(each), []).append(of_deployment(each, pods))
    running = sorted(
        by_installation.values(), key=lambda services: sum(bool(each.problem) for each in services)
    )
    return tuple(running[0]) if running else ()


def _installation(obj: Json) -> tuple[str, str]:
    """The namespace and the release that a Deployment or a pod belongs to."""
    meta = obj["metadata"]
    return str(meta["namespace"]), str((meta.get("labels") or {}).get(_INSTANCE) or "")


def _works_in(deployment: Json, namespace: str) -> bool:
    template = ((deployment.get("spec") or {}).get("template") or {}).get("spec") or {}
    values = {
        str(each.get("value") or "")
        for container in template.get("containers") or ()
        for each in container.get("env") or ()
        if each.get("name") == _NAMESPACES
    }
    named = {name.strip() for text in values for name in text.split(",")} - {""}
    return not namespace or not named or namespace in named


def of_deployment(deployment: Json, pods: Sequence[Json]) -> ServiceSeen:
    meta, status = deployment["metadata"], deployment.get("status") or {}
    name = str((meta.get("labels") or {}).get(_COMPONENT) or meta["name"])
    seen = ServiceSeen(name)
    where = f"-n {meta['namespace']}"
    if status.get("readyReplicas"):
        return seen
    if not (deployment.get("spec") or {}).get("replicas", 1):
        scale = f"Start it: kubectl scale deployment {meta['name']} {where} --replicas=1"
        return replace(seen, problem="is scaled to 0 replicas", remedy=scale)
    own = [each for each in pods if _is_of(each, deployment, name)]
    trouble = trouble_of_workload(deployment) or next(iter(troubles_of_pods(own)), None)
    why = f": {trouble.sentence}" if trouble else ""
    look = (
        f"See why: kubectl describe deployment {meta['name']} {where}; kubectl logs"
        f" deployment/{meta['name']} {where} --tail=50"
    )
    return replace(
        seen, problem=f"has no ready pod in namespace {meta['namespace']}{why}", remedy=look
    )


def _is_of(pod: Json, deployment: Json, component: str) -> bool:
    is_same = _installation(pod) == _installation(deployment)
    return is_same and (pod["metadata"].get("labels") or {}).get(_COMPONENT) == component

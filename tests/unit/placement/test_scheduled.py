"""A placement can be reached by a scheduler that knows nothing of it: one pod at a time, in any
order, each pod with the node, the tolerations and the neighbours that pod-state-machine says."""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import cache
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts import labels
from contracts.resources.processing_element import (
    HostPoolLocation,
    PlacementRequest,
    ProcessingElementSpec,
)
from contracts.scheduling.nodes import Node
from placement.answers import Placed
from placement.cluster import Cluster
from placement.deciding import decide
from placement.job import Pe, Pool
from placement.taken import Amounts
from sandbox.controllers import feasibility
from sandbox.controllers.accounts import Accounts
from sandbox.controllers.demands import demand_of
from services.launching.core.nodes import NodeOfPod
from services.pod_state_machine.adapters.reading import job_view
from services.pod_state_machine.core.pod_inputs import Launch
from services.pod_state_machine.core.pod_placement import in_place
from services.pod_state_machine.core.pod_spec import RuntimeImage
from services.pod_state_machine.core.snapshot import Assignment, HostPool, PeSnapshot
from services.pod_state_machine.core.snapshot import Pe as PeView
from tests.builders import a_job, a_pe
from tests.unit.placement.brute_force import Case
from tests.unit.placement.test_every_way import OTHER, OWN, a_case
from tests.unit.pod_state_machine.cluster import snapshot_of

Json = dict[str, Any]


@cache
def _view() -> PeView:
    snapshot = snapshot_of(a_pe())
    assert isinstance(snapshot, PeSnapshot)
    assert snapshot.owner is not None
    return snapshot.owner


def _quantities(amounts: Amounts) -> dict[str, str]:
    return {name: f"{each}m" if name == "cpu" else str(each) for name, each in amounts.items()}


def _body(name: str, requests: Amounts, **marks: str) -> Json:
    return {
        "metadata": {"name": name, "namespace": "default", "labels": marks, "annotations": {}},
        "spec": {"containers": [{"resources": {"requests": _quantities(requests)}}]},
    }


# --------------------------------------------------------------------------- what node-tainter does


def _uid(pool: Pool) -> str:
    return f"uid-{pool.index}"


def _node(case: Case, placed: Placed, node: Node) -> Json:
    """A node with the marks of the job's pools, and the taints of those of others."""
    pools = {pool.index: pool for pool in case.job.pools}
    marks = {labels.HOSTNAME: node.name}
    owners = [each.pool for each in case.claims if each.node == node.name and each.is_exclusive]
    for members in placed.pools:
        if node.name in members.nodes:
            pool = pools[members.pool]
            marks[labels.member_label(_uid(pool))] = str(members.nodes.index(node.name))
            owners += [_uid(pool)] if pool.is_exclusive else []
    taints = [{"key": each.key, "value": each.value, "effect": each.effect} for each in node.taints]
    taints += [
        {"key": labels.EXCLUSIVE_TAINT, "value": owner, "effect": "NoSchedule"} for owner in owners
    ]
    return {
        "metadata": {"name": node.name, "labels": {**node.labels, **marks}},
        "spec": {"taints": taints, "unschedulable": node.unschedulable},
        "status": {"allocatable": _quantities(node.allocatable)},
    }


# --------------------------------------------------------------------------- what pods say


def _request(case: Case, pe: Pe) -> PlacementRequest:
    isolated = [f"op{other.id}" for other in case.job.pes if other.is_isolated]
    own = f"op{pe.id}"
    location = None
    if pe.pool is not None:
        location = HostPoolLocation(pool_index=pe.pool, inpool_index=pe.in_pool_index)
    return PlacementRequest(
        host=pe.host or None,
        co_locations=sorted(pe.colocations),
        ex_locations=sorted(pe.exlocations),
        isolation=own if pe.is_isolated else None,
        isolations=[own] if pe.is_isolated else [],
        isolation_labels=[each for each in isolated if each != own],
        host_pool_location=location,
        topology_key=case.job.topology_key,
    )


def _pod(case: Case, pe: Pe, node: str) -> Json:
    """The pod of a PE as pod-state-machine pins it to its node."""
    view = _view()
    pool = next((each for each in case.job.chosen_pools if each.index == pe.pool), None)
    launch = Launch(
        pe=view,
        job=job_view(a_job().entry()),
        spec=ProcessingElementSpec(id=pe.id, placement=_request(case, pe)),
        number=1,
        runtime=RuntimeImage(),
        place=Assignment(
            node=NodeOfPod(node, Node(node, {labels.HOSTNAME: node})),
            pool=None
            if pool is None
            else HostPool(pool.name, _uid(pool), pool.tags, is_exclusive=pool.is_exclusive),
        ),
    )
    body = _body(f"pe-{pe.id}", pe.requests, **{labels.JOB: view.job})
    body["spec"]["nodeSelector"] = dict(pe.node_selector)
    return in_place(body, launch)


def _schedule(case: Case, placed: Placed, draw: random.Random) -> Iterator[tuple[int, str]]:
    """The node of each PE as the sandbox's scheduler chooses it, in some order."""
    accounts = Accounts()
    for node in case.nodes:
        accounts.set_node(_node(case, placed, node))
    for at, pod in enumerate(case.pods):
        if pod.job != OWN:
            marks = {labels.JOB: pod.job} if pod.job == OTHER else {}
            body = _body(f"other-{at}", pod.requests, **dict.fromkeys(marks, "other"))
            accounts.occupy(f"other-{at}", pod.node, demand_of(body))
    for pe in draw.sample(case.job.pes, len(case.job.pes)):
        demand = demand_of(_pod(case, pe, placed.assignment[pe.id]))
        chosen = feasibility.choose(demand, accounts)
        assert isinstance(chosen, feasibility.Placed), (pe, chosen)
        accounts.occupy(f"pe-{pe.id}", chosen.node, demand)
        yield pe.id, chosen.node


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 2**32))
def test_one_pod_at_a_time_in_any_order_reaches_the_placement(seed: int) -> None:
    case = a_case(seed)
    decided = decide(Cluster.of(case.nodes, case.pods, case.claims), case.job)
    if not isinstance(decided, Placed) or not decided.is_as_preferred:
        return
    assert dict(_schedule(case, decided, random.Random(seed))) == decided.assignment

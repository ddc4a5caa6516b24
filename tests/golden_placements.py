"""What a place and constraints add to the pod of a PE, written down once.

The worked examples of IBM Streams' design of host constraints, each with what millrace adds: the
node that the PE is assigned to, the toleration of an exclusive pool, and that terms over pods count
within the job. `tests/unit/pod_state_machine` holds the manifest to it word for word, end-to-end
tests the pods of a running system. `{job}`, `{node}` and `{pool}` in a text are the job's name, the
node's, and the uid of the HostPool.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
TOGETHER = "streams.ibm.com/hostcolocation.9034ff9e2b8f00b47a44dfaf3c2a37176c101e2a"
APART = "streams.ibm.com/hostexlocation.b76ade163d874cc5bc0f408d70cfc165667eec5f"
SINK = "streams.ibm.com/hostisolation.e53e8d5300c878019a997d4cfb7201c7ed2ee003"
WORK = "streams.ibm.com/hostisolation.00040bab8a787438c2c0cf5248ac025642115fad"
ZONE = "topology.kubernetes.io/zone"


def on_node(*expressions: Json) -> Json:
    """A term that names the node after other things that hold of it."""
    node = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["{node}"]}
    return {"matchExpressions": [*expressions, node]}


def by_node(*terms: Json) -> Json:
    """An affinity to nodes: one of the terms holds."""
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


def of_job(key: str, value: str, topology: str = "kubernetes.io/hostname") -> Json:
    """A term over pods of the job that bear a label."""
    return {
        "labelSelector": {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": [value]},
                {"key": "streams.ibm.com/job", "operator": "In", "values": ["{job}"]},
            ]
        },
        "topologyKey": topology,
    }


def has(tag: str) -> Json:
    """An expression: the node has the tag in millrace's form."""
    return {"key": f"tag.streams.ibm.com/{tag}", "operator": "Exists"}


def original(tag: str) -> Json:
    """An expression: the node has the tag in the original's form."""
    return {"key": "streams.ibm.com/hostpool", "operator": "In", "values": [tag]}


MEMBER_5: Json = {"key": "member.streams.ibm.com/{pool}", "operator": "In", "values": ["5"]}
TOLERATED: Json = {
    "key": "streams.ibm.com/exclusive",
    "operator": "Equal",
    "value": "{pool}",
    "effect": "NoSchedule",
}


@dataclass(frozen=True)
class Placed:
    """A constraint: what a PE's `spec.placement` says and what its pod gets.

    `pool` is the declaration of the host pool that it speaks of; `spec` is added to the pod's.
    """

    placement: Json
    spec: Json = field(default_factory=lambda: {"affinity": by_node(on_node())})
    labels: Mapping[str, str] = field(default_factory=dict)
    pool: Json = field(default_factory=dict)


IN_POOL: Json = {"hostPoolLocation": {"poolIndex": 1}}
FIFTH: Json = {"hostPoolLocation": {"poolIndex": 1, "inpoolIndex": 5}}
ATTRACTED: Json = {"podAffinity": {REQUIRED: [of_job(TOGETHER, "together")]}}
REPELLED: Json = {"podAntiAffinity": {REQUIRED: [of_job(APART, "apart")]}}
ALONE: Json = {"podAntiAffinity": {REQUIRED: [of_job(SINK, "Sink")]}}

PLACED: Mapping[str, Placed] = {
    "name of a host": Placed({"host": "foo.watson.ibm.com"}),
    "address of a host": Placed({"host": "10.4.40.83"}),
    "pool with the tag source": Placed(
        IN_POOL,
        {"affinity": by_node(on_node(original("source")), on_node(has("source")))},
        pool={"tags": ["source"]},
    ),
    "pool with two tags": Placed(
        IN_POOL,
        {
            "affinity": by_node(
                on_node(original("ib"), has("blue")),
                on_node(has("ib"), original("blue")),
                on_node(has("ib"), has("blue")),
            )
        },
        pool={"tags": ["ib", "blue"]},
    ),
    "exclusive pool with a tag": Placed(
        IN_POOL,
        {
            "affinity": by_node(on_node(original("gpu")), on_node(has("gpu"))),
            "tolerations": [TOLERATED],
        },
        pool={"tags": ["gpu"], "membershipMode": "exclusive", "size": 2},
    ),
    "exclusive pool": Placed(
        IN_POOL,
        {"affinity": by_node(on_node()), "tolerations": [TOLERATED]},
        pool={"membershipMode": "exclusive", "size": 10},
    ),
    "shared pool with a size": Placed(IN_POOL, pool={"size": 10}),
    "pool of hosts": Placed(IN_POOL, pool={"hosts": ["foo", "10.8.5.6"]}),
    "particular host of a pool": Placed(FIFTH, {"affinity": by_node(on_node(MEMBER_5))}),
    "particular host of an exclusive pool with a tag": Placed(
        FIFTH,
        {
            "affinity": by_node(on_node(original("ib"), MEMBER_5), on_node(has("ib"), MEMBER_5)),
            "tolerations": [TOLERATED],
        },
        pool={"tags": ["ib"], "membershipMode": "exclusive"},
    ),
    "together": Placed(
        {"coLocations": ["together"]},
        {"affinity": by_node(on_node()) | ATTRACTED},
        {TOGETHER: "together"},
    ),
    "apart": Placed(
        {"exLocations": ["apart"]},
        {"affinity": by_node(on_node()) | REPELLED},
        {APART: "apart"},
    ),
    "isolated": Placed({"isolation": "Sink"}, {"affinity": by_node(on_node()) | ALONE}),
    "beside an isolated one": Placed({"isolationLabels": ["Sink"]}, labels={SINK: "Sink"}),
    "two isolated operators in one": Placed(
        {"isolation": "Sink", "isolations": ["Sink", "Work"], "isolationLabels": ["Sink"]},
        {
            "affinity": by_node(on_node())
            | {"podAntiAffinity": {REQUIRED: [of_job(SINK, "Sink"), of_job(WORK, "Work")]}}
        },
    ),
    "tag gpu and apart": Placed(
        IN_POOL | {"exLocations": ["apart"]},
        {"affinity": by_node(on_node(original("gpu")), on_node(has("gpu"))) | REPELLED},
        {APART: "apart"},
        pool={"tags": ["gpu"]},
    ),
    "together and apart and isolated": Placed(
        {"coLocations": ["together"], "exLocations": ["apart"], "isolations": ["Sink"]},
        {
            "affinity": by_node(on_node())
            | ATTRACTED
            | {"podAntiAffinity": {REQUIRED: [of_job(APART, "apart"), of_job(SINK, "Sink")]}}
        },
        {TOGETHER: "together", APART: "apart"},
    ),
    "preferred": Placed(
        {"coLocations": ["together"], "exLocations": ["apart"], "required": False},
        {
            "affinity": by_node(on_node())
            | {
                "podAffinity": {
                    PREFERRED: [{"weight": 100, "podAffinityTerm": of_job(TOGETHER, "together")}]
                },
                "podAntiAffinity": {
                    PREFERRED: [{"weight": 100, "podAffinityTerm": of_job(APART, "apart")}]
                },
            }
        },
        {TOGETHER: "together", APART: "apart"},
    ),
    "zones as hosts": Placed(
        {"exLocations": ["apart"], "topologyKey": ZONE},
        {
            "affinity": by_node(on_node())
            | {"podAntiAffinity": {REQUIRED: [of_job(APART, "apart", ZONE)]}}
        },
        {APART: "apart"},
    ),
    "past the scheduler": Placed({"host": "foo", "nodeName": True}, {"nodeName": "{node}"}),
    "past the scheduler in a pool with a tag": Placed(
        IN_POOL | {"nodeName": True, "exLocations": ["apart"]},
        {
            "nodeName": "{node}",
            "affinity": by_node(
                {"matchExpressions": [original("gpu")]}, {"matchExpressions": [has("gpu")]}
            )
            | REPELLED,
            "tolerations": [TOLERATED],
        },
        {APART: "apart"},
        pool={"tags": ["gpu"], "membershipMode": "exclusive"},
    ),
}
"""One a constraint, and one a combination that could go wrong."""


def filled_in(value: Any, *, job: str, node: str, pool: str = "") -> Any:
    """The same with the names of one running system in its texts."""
    if isinstance(value, str):
        return value.replace("{job}", job).replace("{node}", node).replace("{pool}", pool)
    if isinstance(value, list):
        return [filled_in(each, job=job, node=node, pool=pool) for each in value]
    if isinstance(value, dict):
        return {
            filled_in(key, job=job, node=node, pool=pool): filled_in(
                each, job=job, node=node, pool=pool
            )
            for key, each in value.items()
        }
    return value

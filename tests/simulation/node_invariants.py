"""What must hold of nodes and of the pods on them: claims are exclusive, constraints are kept."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from contracts import labels
from sandbox.store.resources import NODE, POD
from sandbox.store.store import Store
from tests.sandboxed import kind_of

OVER = ("Succeeded", "Failed")
KEPT = "kept.example.com/"
_APART = "streams.ibm.com/hostexlocation."
Obj = dict[str, Any]


class ClaimsWatch:
    """A node bears one claim at most; a claim that is complete keeps the pods of others out.

    What others have put on a node (here: whatever begins with `KEPT`) is never touched.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._foreign: dict[str, tuple[object, ...]] = {}

    def check(self) -> None:
        """Raise AssertionError where a node, or a pod on it, breaks a rule."""
        nodes = {item["metadata"]["name"]: item for item in self._store.list(NODE, None).items}
        for name, node in nodes.items():
            claims = list(claims_of(dict(node)))
            assert len(claims) <= 1, f"node {name} bears {len(claims)} claims: {claims}"
            self._check_foreign(dict(node))
        pools = self._store.list(kind_of(self._store, "streamshostpools"), None).items
        if exclusive := [dict(each) for each in pools if is_exclusive(dict(each))]:
            self._check_kept_out(exclusive)

    def _check_foreign(self, node: Obj) -> None:
        meta = node["metadata"]
        seen = (
            [each for each in taints_of(node) if each["key"].startswith(KEPT)],
            {k: v for k, v in (meta.get("labels") or {}).items() if k.startswith(KEPT)},
        )
        before = self._foreign.setdefault(meta["uid"], seen)
        assert before == seen, f"node {meta['name']}: {before} of others became {seen}"

    def _check_kept_out(self, pools: list[Obj]) -> None:
        on_node: dict[str, set[str]] = defaultdict(set)
        for pod in live_pods(self._store):
            on_node[pod["spec"].get("nodeName", "")].add(pod["metadata"]["labels"][labels.JOB_UID])
        for pool in pools:
            own = pool["metadata"]["labels"][labels.JOB_UID]
            for node in (pool.get("status") or {}).get("claimed") or ():
                others = on_node[node] - {own}
                name = pool["metadata"]["name"]
                assert not others, f"{name} holds {node}, and pods of {others} run there"


class ApartWatch:
    """Pods of a job that must not share a host do not, whoever bound them."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def check(self) -> None:
        """Raise AssertionError where two live pods of a job carry one token on one node."""
        seen: dict[tuple[str, str, str], str] = {}
        for pod in live_pods(self._store):
            node, marks = pod["spec"].get("nodeName", ""), pod["metadata"]["labels"]
            for token in (key for key in marks if node and key.startswith(_APART)):
                place = (node, marks[labels.JOB_UID], token)
                first = seen.setdefault(place, marks[labels.PE])
                assert first == marks[labels.PE], (
                    f"PEs {first} and {marks[labels.PE]} must be apart, and both run on {node}"
                )


def live_pods(store: Store) -> Iterator[Obj]:
    """Pods of jobs that may run."""
    for pod in store.list(POD, None, labels=labels.JOB_UID).items:
        is_over = (pod.get("status") or {}).get("phase") in OVER
        if not is_over and labels.PE in pod["metadata"]["labels"]:
            yield dict(pod)


def taints_of(node: Obj) -> list[Obj]:
    """The taints of a node."""
    return list((node.get("spec") or {}).get("taints") or ())


def claims_of(node: Obj) -> Iterator[str]:
    """Uids of the host pools that a node is tainted for."""
    for taint in taints_of(node):
        if taint["key"] == labels.EXCLUSIVE_TAINT:
            yield taint.get("value", "")


def marks_of(node: Obj) -> set[str]:
    """Uids of the host pools whose taint or label a node bears."""
    marks = node["metadata"].get("labels") or {}
    named = {key for key in marks if key.startswith(labels.MEMBER_PREFIX)}
    return {key.removeprefix(labels.MEMBER_PREFIX) for key in named} | set(claims_of(node))


def is_exclusive(pool: Obj) -> bool:
    """Whether a host pool keeps others out."""
    return bool(pool["spec"]["hostpool"].get("membershipMode") == "exclusive")


def shared_on_held(store: Store) -> list[str]:
    """Members of shared host pools that an exclusive pool of somebody else has as members, too."""
    pools = [dict(each) for each in store.list(kind_of(store, "streamshostpools"), None).items]
    held = {
        node: pool["metadata"]["name"]
        for pool in pools
        if is_exclusive(pool)
        for node in (pool.get("status") or {}).get("members") or ()
    }
    return [
        f"{pool['metadata']['name']} lists {node}, which {held[node]} holds"
        for pool in pools
        if not is_exclusive(pool)
        for node in (pool.get("status") or {}).get("members") or ()
        if node in held
    ]


def left_marks(store: Store) -> list[str]:
    """Marks of host pools that do not exist, or that have no finalizer to hold them."""
    held = {
        pool["metadata"]["uid"]
        for pool in store.list(kind_of(store, "streamshostpools"), None).items
        if labels.NODE_CLAIMS_FINALIZER in (pool["metadata"].get("finalizers") or ())
    }
    return [
        f"{node['metadata']['name']} bears the mark of {uid}"
        for node in store.list(NODE, None).items
        for uid in sorted(marks_of(dict(node)) - held)
    ]

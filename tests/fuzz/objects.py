"""What a hostile or careless person asks of the API server: a stream of requests.

Objects of every kind that the services watch. Many are refused at the door; what is taken is for
the services to live with. `foreign` says that no service has any business with the object.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from contracts import labels
from sandbox.cluster import read_definitions
from tests.fuzz.hostile import Json, damaged, deep, fitting, value
from tests.places import ROOT

STREAMS = "/apis/streams.ibm.com/v1"
CORE = "/api/v1"
NAMESPACES = ("default", "default", "elsewhere", "nowhere")
BUNDLES = ("wordcount.sab", "garbage.sab", "missing.sab", "../../etc/passwd", "x\n", "a" * 300)
GOOD_JOB = "good"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request; `name` and `plural` say of which object, `foreign` that it is not ours."""

    method: str
    path: str
    body: bytes
    plural: str
    name: str
    namespace: str
    foreign: bool = True

    @property
    def content_type(self) -> str:
        """Patches are merge patches."""
        return "application/merge-patch+json" if self.method == "PATCH" else "application/json"


def schemas() -> Mapping[str, Mapping[str, Any]]:
    """Kind, spec and status of each definition of ours, by its plural."""
    found = {}
    for definition in read_definitions(ROOT / "deploy" / "crds"):
        version = definition["spec"]["versions"][0]
        schema = version["schema"]["openAPIV3Schema"]["properties"]
        found[definition["spec"]["names"]["plural"]] = {
            "kind": definition["spec"]["names"]["kind"],
            "spec": schema["spec"],
            "status": schema.get("status", {"type": "object"}),
        }
    return found


class Person:
    """Makes requests; `owners` are (kind, name, uid) of objects that exist, for false claims."""

    def __init__(self, dice: random.Random, owners: list[tuple[str, str, str]]) -> None:
        self._dice = dice
        self._owners = owners
        self._schemas = schemas()
        self._made: list[tuple[str, str, str]] = []
        self._number = 0
        self.ways: tuple[Callable[[], Asked], ...] = (
            *(self.custom_resource,) * 6,
            *(self.pod,) * 3,
            *(self.config_map_or_service,) * 3,
            *(self.change,) * 3,
            self.node,
            self.garbage,
        )

    # ------------------------------------------------------------------ creations

    def custom_resource(self) -> Asked:
        """One of our kinds, as its schema wants it or damaged."""
        dice = self._dice
        plural = dice.choice((*self._schemas, "streamsjobs", "streamspes"))
        schema = self._schemas[plural]
        spec = fitting(dice, schema["spec"])
        if plural == "streamsjobs":
            spec["bundle"] = {"name": dice.choice(BUNDLES)}
            if dice.random() < 0.5:  # few fields: most others name what is not supported yet
                spec = {"bundle": spec["bundle"], "submissionTimeValues": {"width": "2"}}
        body: dict[str, Any] = {
            "kind": schema["kind"],
            "apiVersion": "streams.ibm.com/v1",
            "spec": spec,
        }
        if dice.random() < 0.3:
            body["status"] = fitting(dice, schema["status"])
        return self._create(STREAMS, plural, body, foreign=plural != "streamsjobs")

    def pod(self) -> Asked:
        """A pod of somebody's, with claims."""
        container: dict[str, Any] = {"name": "c", "image": "i"}
        if self._dice.random() < 0.5:
            container["resources"] = {"requests": {"cpu": value(self._dice)}}
        body = {"kind": "Pod", "apiVersion": "v1", "spec": {"containers": [container]}}
        return self._create(CORE, "pods", body)

    def config_map_or_service(self) -> Asked:
        """A ConfigMap or a Service of somebody's."""
        if self._dice.random() < 0.5:
            body = {"kind": "ConfigMap", "apiVersion": "v1", "data": {"a": "b"}}
            return self._create(CORE, "configmaps", body)
        spec = {"ports": [{"port": self._dice.choice((80, 0, 70_000))}], "clusterIP": "None"}
        return self._create(CORE, "services", {"kind": "Service", "apiVersion": "v1", "spec": spec})

    def node(self) -> Asked:
        """A node that is odd."""
        taint = {"key": f"k{self._number}", "effect": self._dice.choice(("NoSchedule", "Odd"))}
        body: dict[str, Any] = {"kind": "Node", "apiVersion": "v1", "spec": {"taints": [taint]}}
        body["status"] = {"allocatable": {"cpu": value(self._dice)}}
        return self._create(CORE, "nodes", body, namespaced=False)

    def _create(
        self, group: str, plural: str, body: Json, *, namespaced: bool = True, foreign: bool = True
    ) -> Asked:
        dice = self._dice
        self._number += 1
        name = f"fuzz-{self._number}"
        namespace = dice.choice(NAMESPACES) if namespaced else ""
        body["metadata"] = self._metadata(name)
        if dice.random() < 0.4:
            body = damaged(dice, body, places=dice.choice((1, 1, 2, 5)))
        if isinstance(body, dict) and isinstance(body.get("metadata"), dict):
            name = str(body["metadata"].get("name", name))
        place = f"/namespaces/{namespace}" if namespaced else ""
        self._made.append((f"{group}{place}/{plural}", namespace, name))
        return Asked(
            "POST", f"{group}{place}/{plural}", _bytes(body), plural, name, namespace, foreign
        )

    def _metadata(self, name: str) -> dict[str, Any]:
        """A name, and often labels and owners that claim what is not so."""
        dice = self._dice
        if dice.random() < 0.05:
            name = dice.choice(("x\n", "A", f"{name}.plan.0", "a" * 254, f"{name}-", "", "good-99"))
        meta: dict[str, Any] = {"name": name}
        if dice.random() < 0.6:
            numbers = ("0", "1", "99", "-1", "x", "9" * 60, "")
            claims = {
                labels.APP: labels.APP_VALUE,
                labels.JOB: dice.choice((GOOD_JOB, "nobody", name)),
                labels.JOB_UID: dice.choice([*(uid for _, _, uid in self._owners), "no-such-uid"]),
                labels.PE: dice.choice(numbers),
                labels.GENERATION: dice.choice(numbers),
                labels.LAUNCH_COUNT: dice.choice(numbers),
            }
            meta["labels"] = {key: each for key, each in claims.items() if dice.random() < 0.8}
        if dice.random() < 0.2:
            meta["annotations"] = {labels.CONTENT_ID: str(value(dice)), labels.RETRY: "1"}
        if dice.random() < 0.2:
            owner = {"apiVersion": "streams.ibm.com/v1", "kind": "Job", "name": "gone"}
            meta["ownerReferences"] = [{**owner, "uid": f"gone-{name}", "controller": True}]
        return meta

    # ------------------------------------------------------------------ later

    def change(self) -> Asked:
        """A patch, of the status too, or a deletion, of something that was requested before."""
        dice = self._dice
        if not self._made:
            return self.custom_resource()
        path, namespace, name = dice.choice(self._made[-300:])
        plural = path.rpartition("/")[2]
        foreign = plural != "streamsjobs"
        whole = f"{path}/{_quoted(name)}"
        match dice.randrange(4):
            case 0:
                options = _bytes({"propagationPolicy": dice.choice(("Background", "Orphan"))})
                return Asked("DELETE", whole, options, plural, name, namespace, foreign)
            case 1:
                schema = self._schemas.get(plural)
                made = fitting(dice, schema["status"]) if schema else {"phase": value(dice)}
                body, whole = {"status": made}, f"{whole}/status"
            case 2:
                body = {"metadata": {"labels": {labels.LAUNCH_COUNT: value(dice)}}}
            case _:
                body = {"spec": {dice.choice(("width", "launchCount", "id", "x")): value(dice)}}
        return Asked("PATCH", whole, _bytes(body), plural, name, namespace, foreign)

    def garbage(self) -> Asked:
        """Bytes that are no object at all."""
        body = self._dice.choice(
            (b"", b"\xff\xfe{", b"[]", b"null", b'"x"', b"{", _bytes(deep(5_000)), b"\x00" * 64)
        )
        path = f"{STREAMS}/namespaces/default/streamsjobs"
        return Asked("POST", path, body, "streamsjobs", "", "default", foreign=False)


def _bytes(body: Json) -> bytes:
    """JSON with numbers of any size, lone surrogates, and what is too deep for Python to write."""
    try:
        return json.dumps(body).encode()
    except RecursionError:
        return b"[" * 5_000 + b"]" * 5_000


def _quoted(name: str) -> str:
    from urllib.parse import quote

    return quote(name.encode(errors="replace").decode()[:400], safe="") or "-"

"""Hostile objects that an API server stores: as deep, large, many, odd and false as can be.

Objects of every kind that services watch, where the definitions keep unknown fields
(`tests/older_definitions.py`). What a server refuses is in `objects.py`; here most is taken, and
what is refused all the same does not count. Names begin with `odd-`, so that nobody takes them for
the good job's own.

What is left out, because people with that right may do it (docs/limits.md, docs/security.md): what
stands in a Placement's or a HostPool's own fields, names that the good job needs, and maps nested
9,991 to 9,998 deep, after which kube-apiserver cannot read the whole kind any more.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from contracts import labels
from tests.fuzz.hostile import QUANTITIES, TEXTS, Json, fitting
from tests.fuzz.objects import CORE, STREAMS, Asked, schemas
from tests.fuzz.raw import Raw, nested_lists, nested_maps, written

NAME_PREFIX = "odd-"
DEPTHS = (10, 32, 63, 64, 65, 66, 100, 253, 255, 300, 700, 1_000, 1_020, 1_025, 1_100, 5_000, 9_000)
"""Around what is published (64), what orjson writes (254), Python's recursion and what orjson reads
(1,024); the server reads 10,000, of which the object around it needs some."""
BODY_BYTES_MAX = 1_400_000
KEYS_MAX = 50_000
KEYS_WEIGHTS = (8, 5, 2, 1)
"""kube-apiserver needs some seconds of CPU to take 50,000 keys: a handful are enough."""
ANNOTATION_BYTES = 250_000
"""All annotations of an object together have at most 256 KiB."""

NUMBERS = tuple(
    Raw(each.encode())
    for each in (
        *("0", "-0", "-0.0", "1.0", "1e3", "1e20", "1e21", "0.1", "4.9e-324", "1e-400", "1e308"),
        *("2147483647", "2147483648", "9007199254740993", "9223372036854775807"),
        *("-9223372036854775808", "9223372036854775808", "-9223372036854775809"),
        *("18446744073709551616", "1" + "0" * 300),
    )
)
CONTROLS = "".join(map(chr, (*range(32), 127, *range(128, 160))))
MARKUP = (
    *("[/x]", "[link=http://example.com]x[/link]", "[bold red on white]", "[", "\\[", "<b>x</b>"),
    *("<!-- ", "]]>", "&lt;", "\x1b[2J\x1b]0;mine\x07", "\x9b31m", "\x1b]8;;file:///etc\x1b\\"),
    *("---\n- !!python/object/apply:os.system ['x']", "*a", "&a [*a]", ": ", "# ", "? x\n: y"),
    *('{"kind":"Job"}', '{"a":', "\\u0000", "\\ud800", "\r\nHTTP/1.1 200 OK\r\n", "\x00\x00"),
    *("\u2028\u2029", "\ufeff", "\uffff", "\ud800", "\udfff\ud800", "z\u0335\u0321" * 40),
    CONTROLS,
)
LABEL_VALUES = ("", "0", "1", "99", "x", "A", "a.b_c-d", "9" * 63, "true", "null", "1e999", "NaN")
ODD_ANNOTATIONS = (
    *(labels.RETRY, labels.RESTART, labels.CONTENT_ID, labels.INPUT_PORTS, labels.ASSIGNED_NODE),
    *(f"{labels.PREFIX}/{each}" for each in ("x", "node-claims", "generation", "job")),
)


@dataclass(frozen=True, slots=True)
class Kind:
    """A watched kind: where it is, and how often it is drawn."""

    plural: str
    kind: str
    group: str = CORE
    weight: int = 2
    namespaced: bool = True

    @property
    def is_ours(self) -> bool:
        """Whether it is a custom resource."""
        return self.group == STREAMS


JOB = Kind("streamsjobs", "Job", STREAMS, 5)
PE = Kind("streamspes", "ProcessingElement", STREAMS, 4)
REGION = Kind("streamsprs", "ParallelRegion", STREAMS, 3)
POOL = Kind("streamshostpools", "HostPool", STREAMS)
PLACEMENT = Kind("streamsplacements", "Placement", STREAMS)
CONFIG_MAP = Kind("configmaps", "ConfigMap")
SERVICE = Kind("services", "Service")
POD = Kind("pods", "Pod", weight=3)
NODE = Kind("nodes", "Node", weight=1, namespaced=False)
KINDS = (JOB, PE, REGION, POOL, PLACEMENT, CONFIG_MAP, SERVICE, POD, NODE)
OURS = tuple(each for each in KINDS if each.is_ours)


@dataclass
class Claim:
    """The good job, as liars name it: the newest uid, set by who runs it."""

    namespace: str
    job: str
    uid: str = "no-such-uid"


class Stranger:
    """Makes objects in the `namespaces`; those that lie are where the good job is."""

    def __init__(self, dice: random.Random, namespaces: Sequence[str], claim: Claim) -> None:
        self._dice = dice
        self._namespaces = namespaces
        self._claim = claim
        self._schemas = schemas()
        self._number = 0
        self.ways: tuple[Callable[[], Asked], ...] = (
            *(self.deep_spec,) * 3,
            *(self.deep_manager,) * 2,
            self.large,
            self.many_keys,
            *(self.borders,) * 2,
            *(self.odd_texts,) * 3,
            *(self.false_claims,) * 3,
            *(self.held,) * 2,
        )

    # ------------------------------------------------------------------ ways

    def deep_spec(self) -> Asked:
        """A spec that keeps unknown fields and nests up to 9,000 levels deep."""
        kind = self._any(OURS)
        body = self._body(kind)
        self._put_deep(kind, body)
        return self._create(kind, body)

    def deep_manager(self) -> Asked:
        """managedFields that the client sent, up to 9,000 levels deep, on any kind."""
        kind = self._any(KINDS)
        body = self._body(kind)
        self._put_manager(kind, body)
        return self._create(kind, body)

    def large(self) -> Asked:
        """A body of up to 1.4 MB, seldom; mostly some 10 KB."""
        dice, kind = self._dice, self._any(KINDS)
        size = dice.choices((10_000, 60_000, 300_000, BODY_BYTES_MAX), (5, 5, 2, 2))[0]
        unit = dice.choice(("x", "[/x]", "é", '"', "\n"))
        text = unit * (size // len(written(unit).strip(b'"')))
        body = self._body(kind)
        if kind.is_ours:
            body["spec"]["extra"] = dice.choice((text, [text[:100]] * (size // 700)))
        elif kind is CONFIG_MAP:
            body["data"] = {"a": text[: 2**20 // 2 - 1]}
        elif kind is POD:
            body["spec"]["containers"][0]["env"] = [{"name": "A", "value": text}]
        else:
            mark = dice.choice((f"{labels.PREFIX}/x", "example.com/x"))
            body["metadata"]["annotations"] = {mark: "x" * min(size, ANNOTATION_BYTES)}
        return self._create(kind, body)

    def many_keys(self) -> Asked:
        """Up to 50,000 labels, annotations, entries of data or values."""
        dice, kind = self._dice, self._any(KINDS)
        body, count = (
            self._body(kind),
            dice.choices((500, 2_000, 10_000, KEYS_MAX), KEYS_WEIGHTS)[0],
        )
        match dice.randrange(3):
            case 0:
                body["metadata"]["labels"] |= {f"k{number}": "v" for number in range(count)}
            case 1:
                few = range(min(count, ANNOTATION_BYTES // 30))
                marks = {f"{labels.PREFIX}/k{number}": "" for number in few}
                body["metadata"].setdefault("annotations", {}).update(marks)
            case _:
                where = body.setdefault("spec", {}) if kind.is_ours else body
                place = {JOB: "submissionTimeValues", CONFIG_MAP: "data"}.get(kind, "extra")
                where[place] = {f"k{number}": "1" for number in range(count)}
        return self._create(kind, body)

    def borders(self) -> Asked:
        """Numbers at every border, and fields at the limits of their schemas."""
        dice, kind = self._dice, self._any((*OURS, *OURS, POD, NODE, SERVICE))
        body = self._body(kind)
        if kind.is_ours:
            body["spec"]["extra"] = {"all": list(NUMBERS), "one": dice.choice(NUMBERS)}
            if kind in (PE, REGION):
                body["spec"] = fitting(dice, self._schemas[kind.plural]["spec"]) | body["spec"]
        elif kind is POD:
            body["spec"]["terminationGracePeriodSeconds"] = dice.choice((0, 1, 2**31, 2**63 - 1))
            body["spec"]["containers"][0]["resources"] = {"requests": {"cpu": self._quantity()}}
        elif kind is NODE:
            body["status"] = {"allocatable": {"cpu": self._quantity(), "pods": "0"}}
        return self._create(kind, body)

    def odd_texts(self) -> Asked:
        """Texts that look like markup, YAML, JSON or ANSI, control characters, lone surrogates."""
        dice, kind = self._dice, self._any(KINDS)
        body, texts = self._body(kind), [self._text() for _ in range(5)]
        marks = {f"{labels.PREFIX}/x{n}": text for n, text in enumerate(texts)}
        body["metadata"].setdefault("annotations", {}).update(marks)
        if kind.is_ours:
            body["spec"]["extra"] = {"texts": texts, **{text: text for text in texts}}
            if kind is JOB:
                body["spec"]["submissionTimeValues"] = {"width": texts[0]}
                body["spec"]["bundle"] = {"name": dice.choice((texts[1], "missing.sab"))}
            elif kind is REGION:
                body["spec"]["alias"] = texts[0] or "x"
        elif kind is POD:
            container = body["spec"]["containers"][0]
            container["image"] = texts[0].strip() or "x"
            container["env"] = [{"name": "A", "value": text} for text in texts]
        elif kind is CONFIG_MAP:
            body["data"] = {f"a{n}": text for n, text in enumerate(texts)}
        return self._create(kind, body)

    def false_claims(self) -> Asked:
        """What says that it is of the good job: by labels, mostly, and by its owner, sometimes."""
        dice, kind, claim = self._dice, self._any(KINDS[1:]), self._claim
        body = self._body(kind)
        meta = body["metadata"]
        told = {
            labels.APP: labels.APP_VALUE,
            labels.SERVICE_ROLE: labels.ROLE_PE,
            labels.JOB: claim.job,
            labels.JOB_UID: dice.choice((claim.uid, "no-such-uid")),
            labels.PE: dice.choice(LABEL_VALUES),
            labels.GENERATION: dice.choice(LABEL_VALUES),
            labels.LAUNCH_COUNT: dice.choice(LABEL_VALUES),
        }
        meta["labels"] |= {key: value for key, value in told.items() if dice.random() < 0.9}
        if kind.namespaced and dice.random() < 0.3:
            owner = {"apiVersion": "streams.ibm.com/v1", "kind": "Job", "name": claim.job}
            owner["uid"] = dice.choice((claim.uid, "no-such-uid"))
            meta["ownerReferences"] = [owner | {"controller": dice.random() < 0.5}]
        if kind.is_ours and dice.random() < 0.5:
            self._put_deep(kind, body)
        return self._create(kind, body, namespace=claim.namespace)

    def held(self) -> Asked:
        """Finalizers that nobody takes off, and odd annotations of ours."""
        dice, kind = self._dice, self._any(KINDS)
        body = self._body(kind)
        others = ("example.com/held", "orphan", "foregroundDeletion", labels.NODE_CLAIMS_FINALIZER)
        body["metadata"]["finalizers"] = ["example.com/held", dice.choice(others)][
            : dice.choice((1, 2))
        ]
        marks = {key: self._text() for key in dice.sample(ODD_ANNOTATIONS, 3)}
        body["metadata"]["annotations"] = marks
        if kind.is_ours and dice.random() < 0.3:
            self._put_deep(kind, body)
        return self._create(kind, body)

    # ------------------------------------------------------------------ later

    def afterwards(self, made: Asked) -> Sequence[Asked]:
        """What is done to an object that was taken: most are left alone."""
        dice = self._dice
        whole = f"{made.path}/{made.name}"
        if b'"example.com/held"' in made.body and dice.random() < 0.7:
            return (self._next(made, "DELETE", whole, b"{}"),)
        if made.plural not in (JOB.plural, PE.plural, REGION.plural) or dice.random() > 0.15:
            return ()
        status = fitting(dice, self._schemas[made.plural]["status"])
        return (self._next(made, "PATCH", f"{whole}/status", written({"status": status})),)

    @staticmethod
    def _next(made: Asked, method: str, path: str, body: bytes) -> Asked:
        return Asked(method, path, body, made.plural, made.name, made.namespace, made.foreign)

    # ------------------------------------------------------------------ parts

    def _any(self, kinds: Sequence[Kind]) -> Kind:
        return self._dice.choices(kinds, [each.weight for each in kinds])[0]

    def _text(self) -> str:
        return self._dice.choice((*TEXTS, *MARKUP, *MARKUP))

    def _quantity(self) -> Json:
        return self._dice.choice((*QUANTITIES, "9223372036854775807", "1n", "1E18", "0.000001"))

    def _put_deep(self, kind: Kind, body: dict[str, Any]) -> None:
        dice, levels = self._dice, self._dice.choice(DEPTHS)
        deep = dice.choice((nested_maps, nested_lists))(levels)
        if kind is JOB and dice.random() < 0.5:
            template = {"spec": {"affinity": nested_maps(levels)}}
            body["spec"]["processingElement"] = {"podTemplate": template}
        else:
            body["spec"]["extra"] = deep

    def _put_manager(self, kind: Kind, body: dict[str, Any]) -> None:
        body["metadata"]["managedFields"] = [
            {
                "manager": "somebody",
                "operation": "Update",
                "apiVersion": body["apiVersion"],
                "time": "2026-11-22T00:00:00Z",
                "fieldsType": "FieldsV1",
                "fieldsV1": {"f:x": nested_maps(self._dice.choice(DEPTHS), "f:a")},
            }
        ]

    def _body(self, kind: Kind) -> dict[str, Any]:
        body: dict[str, Any] = {
            "apiVersion": "streams.ibm.com/v1" if kind.is_ours else "v1",
            "kind": kind.kind,
            "metadata": {"labels": {}},
        }
        dice = self._dice
        if kind in (CONFIG_MAP, SERVICE) or dice.random() < 0.3:
            body["metadata"]["labels"][labels.APP] = labels.APP_VALUE  # else nobody watches them
        body |= _MORE[kind.plural]()
        if kind is JOB and dice.random() < 0.02:
            body["spec"]["bundle"] = {"name": "wordcount.sab"}
        return body

    def _create(self, kind: Kind, body: dict[str, Any], *, namespace: str = "") -> Asked:
        dice = self._dice
        self._number += 1
        name = f"{NAME_PREFIX}{self._number}"
        if kind not in (JOB, SERVICE) and dice.random() < 0.1:
            name = dice.choice((f"{name}.plan.0", f"{name}.{'a' * 200}", f"{name}.streams.ibm.com"))
        namespace = (namespace or dice.choice(self._namespaces)) if kind.namespaced else ""
        body["metadata"]["name"] = name
        place = f"/namespaces/{namespace}" if kind.namespaced else ""
        path = f"{kind.group}{place}/{kind.plural}"
        text = written(body)
        # The status of every PE is a service's, and what names the good job's uid is that job's.
        # What a Job that is gone controls, says all of it, is removed after that Job.
        is_left = _controller_of(body) == body["metadata"]["labels"].get(labels.JOB_UID)
        foreign = kind not in (JOB, PE) and self._claim.uid.encode() not in text and not is_left
        return Asked("POST", path, text, kind.plural, name, namespace, foreign)


def _controller_of(body: dict[str, Any]) -> str:
    """The uid of the owner that controls the object; empty where none does."""
    owners = body["metadata"].get("ownerReferences", ())
    return next((each["uid"] for each in owners if each["controller"]), "")


def _pod() -> dict[str, Any]:
    return {
        "spec": {
            "schedulerName": "nobody",  # the nodes are the good job's
            "containers": [{"name": "c", "image": "x"}],
        }
    }


_MORE: Mapping[str, Callable[[], dict[str, Any]]] = {
    JOB.plural: lambda: {"spec": {"bundle": {"name": "missing.sab"}}},
    PE.plural: lambda: {"spec": {"id": 0}},
    REGION.plural: lambda: {"spec": {"alias": "A", "width": 1}},
    POOL.plural: lambda: {"spec": {"hostpool": {"name": "p", "index": 0}}},
    PLACEMENT.plural: lambda: {"spec": {"generation": 0, "pools": [], "classes": []}},
    CONFIG_MAP.plural: lambda: {"data": {"a": "b"}},
    SERVICE.plural: lambda: {"spec": {"clusterIP": "None", "selector": {"a": "b"}}},
    POD.plural: _pod,
    NODE.plural: lambda: {"spec": {"unschedulable": True}},
}

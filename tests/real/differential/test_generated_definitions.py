"""Our own definitions on a real API server: accepted without a warning, and their rules hold."""

from __future__ import annotations

from collections import Counter
from functools import cache

import orjson
import pytest

from sandbox.cluster import read_definitions
from tests.places import ROOT
from tests.real.differential.breaking import Limit, limits, places, text_of
from tests.real.differential.conftest import Bout
from tests.real.differential.objects import Obj, custom
from tests.real.differential.steps import Exchange, Step, exchange, merge, post

COVERS = ("deploy/crds/*", "contracts/resources/crds.py", "contracts/resources/structural.py")

_FOLDER = ROOT / "deploy" / "crds"
_CRD_NAMES = sorted(path.stem for path in _FOLDER.glob("*.yaml"))
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_JSON = {"accept": "application/json", "content-type": "application/json"}


_MISSING = object()
_JOB = {"bundle": {"name": "a.sab"}}
_PE = {"job": "j", "id": 1}
_BOTH: Obj = {
    "fileSystem": {"path": "/x"},
    "redis": {"service": "s", "replicaCount": 1, "shardCount": 1},
}
_KINDS = {
    "streamsjobs": ("Job", _JOB),
    "streamspes": ("ProcessingElement", _PE),
    "streamsprs": ("ParallelRegion", {"alias": "R", "width": 2}),
    "streamshostpools": ("HostPool", {"hostpool": {"name": "p"}}),
    "streamsplacements": ("Placement", {"generation": 0}),
}
# Specs that break a rule: plural, the part of the spec, and what stands there.
_NAMES: Obj = {"sabName": "a.sab", "bundleName": "b.sab"}
_FILES: Obj = {"fileSystem": {}}
_STORES: Obj = {"checkpointRepository": _FILES, "checkpointDataStore": _FILES}
_BROKEN: tuple[tuple[str, Obj], ...] = (
    ("streamsjobs", {"bundle": {"name": "a.sab", "file": {"path": "a.sab"}, "http": {"url": "x"}}}),
    ("streamsjobs", {**_JOB, "fusion": {"legacy": True, "manual": 2}}),
    ("streamsjobs", {**_JOB, "threadingModel": {"automatic": True, "dedicated": True}}),
    ("streamsjobs", {**_JOB, "processingElement": _NAMES}),
    ("streamsjobs", {**_JOB, "processingElement": _STORES}),
    ("streamsjobs", {**_JOB, "processingElement": {"checkpointRepository": _BOTH}}),
    ("streamsjobs", {**_JOB, "processingElement": {"checkpointDataStore": _BOTH}}),
    ("streamspes", {**_PE, **_NAMES}),
    ("streamspes", {**_PE, **_STORES}),
    ("streamspes", {**_PE, "checkpointRepository": _BOTH}),
    ("streamspes", {**_PE, "checkpointDataStore": _BOTH}),
)
# Numbers that may not fall: plural, spec or status, field.
_RISING = (
    ("streamsjobs", "status", "id"),
    ("streamsjobs", "status", "generation"),
    ("streamspes", "status", "launchCount"),
    ("streamspes", "status", "generation"),
    ("streamspes", "spec", "generation"),
    ("streamsprs", "status", "generation"),
    ("streamshostpools", "status", "generation"),
    ("streamsplacements", "status", "generation"),
)


@cache
def definitions() -> dict[str, Obj]:
    """Every definition by its name, which is that of its file, too."""
    return {each["metadata"]["name"]: each for each in read_definitions(_FOLDER)}


def _attempts() -> tuple[tuple[str, Exchange], ...]:
    """What every rule of ours should refuse, with the plural that it belongs to."""
    found = [
        (plural, exchange(f"a spec {number}", post(plural, custom(_KINDS[plural][0], spec=spec))))
        for number, (plural, spec) in enumerate(_BROKEN)
    ]
    found.append(
        ("streamsjobs", exchange("a name", post("streamsjobs", custom("Job", "1.a", spec=_JOB))))
    )
    for plural, part, field in _RISING:
        kind, spec = _KINDS[plural]
        sub = "status" if part == "status" else ""
        values = [merge(plural, "one", {part: {field: value}}, sub) for value in (3, 2, None)]
        steps = (post(plural, custom(kind, spec=spec)), *values)
        found.append((plural, exchange(f"{plural} {part}.{field}", *steps)))
    another_id = merge("streamspes", "one", {"spec": {"id": 7}})
    made = post("streamspes", custom("ProcessingElement", spec=_PE))
    found.append(("streamspes", exchange("streamspes spec.id", made, another_id)))
    return tuple(found)


@pytest.mark.real
@pytest.mark.parametrize("crd", _CRD_NAMES)
def test_a_definition_is_accepted_without_a_warning(bout: Bout, crd: str) -> None:
    """A warning would be shown to everybody who applies it."""
    definition = definitions()[crd]
    name = f"{definition['spec']['names']['plural']}.diff-{definition['spec']['group']}"
    copy = orjson.loads(orjson.dumps(definition))
    copy["metadata"]["name"] = name
    copy["spec"]["group"] = name.partition(".")[2]
    path = f"{_CRDS}?dryRun=All&fieldValidation=Strict"
    answer = bout.run(bout.both.real.ask("POST", path, _JSON, orjson.dumps(copy)))
    assert answer.status == 201, answer.body.decode()
    assert "warning" not in answer.headers


@pytest.mark.real
def test_every_rule_refuses_what_it_should(bout: Bout) -> None:
    """Each rule of each definition is broken once, and both sides refuse its field."""
    refused: dict[str, Counter[str]] = {}
    for plural, attempt in _attempts():
        sandbox, real = bout.run(bout.both.play(attempt))
        said = [answer["status"] for answer in sandbox]
        assert said == [answer["status"] for answer in real], (attempt.name, sandbox[-1], real[-1])
        assert real[-1]["status"] == 422, (attempt.name, real[-1])
        assert causes_of(sandbox[-1]) == causes_of(real[-1]), attempt.name
        refused.setdefault(plural, Counter()).update(causes_of(real[-1]))
    for definition in definitions().values():
        plural = definition["spec"]["names"]["plural"]
        assert Counter(rules_of(schema_of(definition))) <= refused[plural], plural


@pytest.mark.real
@pytest.mark.parametrize("crd", _CRD_NAMES)
def test_every_limit_refuses_what_it_should(bout: Bout, crd: str) -> None:
    """Types, lengths, patterns, words, numbers, required fields and keys of lists, one by one."""
    definition = definitions()[crd]
    names = definition["spec"]["names"]
    found = limits(schema_of(definition))
    attempts = [_breaking(names["plural"], names["kind"], limit) for limit in found]
    begin = post(names["plural"], custom(names["kind"], spec=_KINDS[names["plural"]][1]))
    limits_of_it = exchange(f"limits of {names['plural']}", begin, *attempts)
    sides = bout.run(bout.both.play(limits_of_it))
    for side, answers in zip(("sandbox", "real"), sides, strict=True):
        for limit, answer in zip(found, answers[1:], strict=True):
            assert answer["status"] == 422, (side, limit.field)
            assert f"{limit.field}: {limit.reason}" in causes_of(answer), (side, answer)


def test_rules_are_broken_by_hand_once_each() -> None:
    """A rule that is added and never broken is noticed without a cluster."""
    rules = sum(len(rules_of(schema_of(definition))) for definition in definitions().values())
    assert len(_attempts()) == rules


def _breaking(plural: str, kind: str, limit: Limit) -> Step:
    """A request that breaks a limit, and that would change nothing if it were not refused."""
    if limit.field.partition(".")[0] == "status":
        return merge(plural, "one", {"status": limit.broken["status"]}, "status", dryRun="All")
    spec = limit.broken.get("spec", _MISSING)
    body = custom(kind, "two", spec=spec)
    if spec is _MISSING:
        del body["spec"]
    return post(plural, body, dryRun="All")


def causes_of(answer: Obj) -> list[str]:
    """Field and reason of every cause."""
    return list(answer["body"].get("details", {}).get("causes", ()))


def rules_of(schema: Obj) -> list[str]:
    """The cause of each rule of a schema."""
    return [
        f"{text_of(steps) or '<nil>'}: FieldValueInvalid"
        for steps, below in places(schema)
        for _ in below.get("x-kubernetes-validations") or ()
    ]


def schema_of(definition: Obj) -> Obj:
    """The schema of the only version."""
    found: Obj = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found

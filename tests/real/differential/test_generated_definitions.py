"""Our own definitions on a real API server: accepted without a warning, and their rules hold."""

from __future__ import annotations

import orjson
import pytest

from sandbox.cluster import read_definitions
from tests.places import ROOT
from tests.real.differential.conftest import Bout
from tests.real.differential.objects import Obj, custom
from tests.real.differential.steps import Exchange, exchange, merge, post

DEFINITIONS = read_definitions(ROOT / "deploy" / "crds")
_CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_JSON = {"accept": "application/json", "content-type": "application/json"}


def messages_of(schema: Obj) -> list[str]:
    """The message of every rule of a schema."""
    found = [rule["message"] for rule in schema.get("x-kubernetes-validations") or ()]
    for below in (schema.get("properties") or {}).values():
        found += messages_of(below)
    for below in (schema.get("items"), schema.get("additionalProperties")):
        found += messages_of(below) if isinstance(below, dict) else []
    return found


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
}
# Specs that break a rule: plural, the part of the spec, and what stands there.
_NAMES: Obj = {"sabName": "a.sab", "bundleName": "b.sab"}
_STORES: Obj = {"checkpointRepository": {}, "checkpointDataStore": {}}
_BROKEN: tuple[tuple[str, Obj], ...] = (
    ("streamsjobs", {"bundle": {"file": {"path": "a.sab"}, "http": {"url": "http://x"}}}),
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
)


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
    return tuple(found)


@pytest.mark.real
@pytest.mark.parametrize("definition", DEFINITIONS, ids=lambda each: each["metadata"]["name"])
def test_a_definition_is_accepted_without_a_warning(bout: Bout, definition: Obj) -> None:
    """A warning would be shown to everybody who applies it."""
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
    """Each rule of each definition is broken once, and both sides refuse with its message."""
    refused: dict[str, str] = {}
    for plural, attempt in _attempts():
        sandbox, real = bout.play(attempt)
        said = [answer["status"] for answer in sandbox]
        assert said == [answer["status"] for answer in real], (attempt.name, sandbox[-1], real[-1])
        assert real[-1]["status"] == 422, (attempt.name, real[-1])
        refused[plural] = refused.get(plural, "") + real[-1]["body"]["message"]
    for definition in DEFINITIONS:
        plural = definition["spec"]["names"]["plural"]
        schema = definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
        missing = [message for message in messages_of(schema) if message not in refused[plural]]
        assert not missing, (plural, missing)

"""Names, values and addresses are replaced consistently and in order; words of ours stay."""

from __future__ import annotations

from typing import Any

import orjson

from history.redacting import Redactor
from history.sources import Bounds
from services.chassis.log.bus import Record
from tests.unit.history.logs import FewRecords, named

DATA: dict[str, Any] = {
    "name": "payments-2",
    "kind": "Pod",
    "reason": "PodRunning",
    "uid": "f728b4fa-4248-5e3a-0a5d-2f346baa9455",
    "time": "2026-11-20T09:30:00Z",
    "addresses": ["10.1.2.3", "ip-10-9-8-7.internal", "fe80::12"],
    "labels": {"team": "blue", "streams.ibm.com/job": "payments", "service": "ledger"},
    "selector": {"type": "acme", "matchLabels": {"status": "retired"}},
    "submissionTimeValues": {"floor": "", "ceiling": "the job 1234"},
    "env": [{"name": "PASSWORD", "value": "42"}],
    "decided": {"count": 1, "sha256": "ab" * 32},
    "effects": [{"name": "CreatePod", "sha256": "cd" * 32}],
    "requests": {"cpu": "100m", "memory": "128Mi"},
    "image": "registry.example/none:1",
    "node": "node-1",
    "widths": {"Counted": 3},
    "submission_time_values": [["floor", ""], ["ceiling", "the job 1234"]],
    "template": '{"image": "registry.example/none:1", "runtimeTraceLevel": "INFO"}',
    "membershipMode": "shared",
    "pool": "$default",
    "settings": {"build_type": "release", "redis_host": "{service}.internal", "bundle_root": "/x"},
}


async def redacted(*values: Any) -> list[Any]:
    source = FewRecords()
    source.kept["resources/0"] = [
        Record(named("resources/0"), at, 1.0, b"Pod/default/payments-2", orjson.dumps(value), ())
        for at, value in enumerate(values)
    ]
    redactor = Redactor()
    await redactor.learn(source, {"resources/0": Bounds(0, len(values))}, lambda *_: None)
    return [orjson.loads(redactor.redacted(each).value) for each in source.kept["resources/0"]]


async def test_names_values_and_addresses_are_replaced_and_words_of_ours_stay() -> None:
    (found,) = await redacted(DATA)
    text = orjson.dumps(found)
    for word in ("payments", "10.1.2.3", "10-9-8-7", "fe80", "team", "blue", "ceiling"):
        assert word.encode() not in text
    assert (found["membershipMode"], found["pool"]) == ("shared", "$default")
    assert found["settings"]["build_type"] == "release"
    assert found["settings"]["redis_host"].startswith("{service}.x")
    for name in ("registry.example", "none", "node-1", "Counted"):  # words of our messages, too
        assert name.encode() not in text
    pairs = dict(found["submission_time_values"])
    assert found["submissionTimeValues"] == pairs  # or a plan has other inputs
    assert next(iter(pairs.values())) == ""
    assert orjson.loads(found["template"]) == {"image": found["image"], "runtimeTraceLevel": "INFO"}
    for label in ("ledger", "acme", "retired"):
        assert label.encode() not in text
    assert b"PASSWORD" not in text
    assert found["env"][0]["value"] != "42"
    assert " " not in found["submissionTimeValues"].popitem()[1]
    for name in ("kind", "reason", "uid", "time", "requests"):
        assert found[name] == DATA[name]
    assert found["decided"] == {"count": 1, "sha256": ""}
    assert found["effects"] == [{"name": "CreatePod", "sha256": ""}]
    assert found["labels"]["streams.ibm.com/job"] + "-2" == found["name"]


async def test_words_that_are_replaced_keep_their_order_and_differ() -> None:
    names = ["b", "a-9", "a-10", "ab", "b-c", "zebra", "aa"]
    (found,) = await redacted(names)
    assert len(set(found)) == len(names)
    assert [names[at] for at in sorted(range(len(names)), key=found.__getitem__)] == sorted(names)


async def test_of_a_record_that_nobody_can_read_nothing_is_kept() -> None:
    source = FewRecords()
    bad = Record(named("resources/0"), 0, 1.0, b"secret-name", b"{not json", (("h", b"who"),))
    source.kept["resources/0"] = [bad]
    redactor = Redactor()
    await redactor.learn(source, {"resources/0": Bounds(0, 1)}, lambda *_: None)
    found = redactor.redacted(bad)
    assert found.value == b""
    assert b"secret" not in found.key
    assert found.headers[0][1] != b"who"

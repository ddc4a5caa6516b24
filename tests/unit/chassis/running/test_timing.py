"""What a service measures of itself: its requests, and the stages from a write to what follows."""

from __future__ import annotations

import pytest

from contracts.envelope import Envelope
from contracts.facts import Epoch, Fact, FactType
from services.chassis.kube.port import Response
from services.chassis.kube.request_metrics import REQUESTS, MeasuredTransport, verb_and_resource
from services.chassis.log.bus import Partition
from services.chassis.process.errors import Transient
from services.chassis.process.metrics import Metrics
from services.chassis.running.stage_times import StageTimes
from services.chassis.table.entries import Change, Entry
from services.chassis.table.reading import FactRecord


class FakeClock:
    """A clock that stands still until it is set."""

    at_s = 100.0

    def now(self) -> float:
        return self.at_s

    def monotonic(self) -> float:
        return self.at_s

    async def sleep(self, seconds: float) -> None:
        self.at_s += seconds


class FakeTransport:
    """Answers with a code, or with nothing."""

    def __init__(self, status: int | None) -> None:
        self._status = status

    async def request(self, *_: object, **__: object) -> Response:
        if self._status is None:
            raise Transient("reset")
        return Response(self._status, b"{}", {})

    def stream(self, *_: object, **__: object) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(
    ("method", "path", "expected"),
    [
        ("POST", "/api/v1/namespaces/a/pods", ("POST", "pods")),
        ("GET", "/api/v1/namespaces/kube-system", ("GET", "namespaces")),
        ("GET", "/api/v1/pods?limit=5", ("GET", "pods")),
        ("PATCH", "/apis/g/v1/namespaces/a/things/x/status", ("PATCH", "things/status")),
        ("DELETE", "/api/v1/namespaces/a/pods/x", ("DELETE", "pods")),
        ("DELETE", "/api/v1/namespaces/a/pods?labelSelector=a", ("DELETECOLLECTION", "pods")),
    ],
)
def test_a_request_is_named_without_the_names_of_objects(
    method: str, path: str, expected: tuple[str, str]
) -> None:
    assert verb_and_resource(method, path) == expected


async def test_every_request_is_counted_by_its_answer() -> None:
    metrics, clock = Metrics(), FakeClock()
    answered = MeasuredTransport(FakeTransport(409), metrics, clock.monotonic)  # type: ignore[arg-type]
    silent = MeasuredTransport(FakeTransport(None), metrics, clock.monotonic)  # type: ignore[arg-type]
    await answered.request("POST", "/api/v1/namespaces/a/pods", body=None, headers={})
    with pytest.raises(Transient):
        await silent.request("POST", "/api/v1/namespaces/a/pods", body=None, headers={})
    assert metrics.value(REQUESTS, verb="POST", resource="pods", code="409") == 1
    assert metrics.value(REQUESTS, verb="POST", resource="pods", code="none") == 1


def _sum_of(metrics: Metrics, stage: str) -> float:
    name = f'millrace_stage_seconds_sum{{stage="{stage}"}} '
    (line,) = [line for line in metrics.text().splitlines() if line.startswith(name)]
    return float(line.removeprefix(name))


def test_the_way_of_a_write_is_timed_stage_by_stage() -> None:
    """Written at 100, seen at 101, handed to the log at 103, read at 106, decided from 110 on."""
    metrics, clock = Metrics(), FakeClock()
    times = StageTimes(metrics, clock)
    times.note_write(Change(None, Entry("Pod", "a", "x", "uid", 7, {})))
    fact = Fact(FactType.ADDITION, "Pod", "a", "x", "uid", 7, Epoch(1, 1, "c"))
    envelope = Envelope("1", "s", fact.type, "x", 101.0, "0" * 32)
    clock.at_s = 106.0
    times.note_read(FactRecord(fact, envelope, Partition("t", 0), 0, 103.0))
    times.note_marked("key")
    clock.at_s = 110.0
    began_s = times.note_begun("key")
    clock.at_s = 115.0
    decided_s = times.note_decided(began_s)
    clock.at_s = 121.0
    times.note_carried_out(decided_s)
    stages = ("seen", "produced", "read", "waited", "decided", "carried_out")
    assert [_sum_of(metrics, stage) for stage in stages] == [1, 2, 3, 4, 5, 6]


def test_a_fact_that_another_wrote_has_no_time_from_its_write() -> None:
    metrics = Metrics()
    times = StageTimes(metrics, FakeClock())
    times.note_write(Change(None, Entry("Pod", "a", "x", "uid", 7, {})))
    fact = Fact(FactType.ADDITION, "Pod", "a", "x", "uid", 8, Epoch(1, 1, "c"))
    envelope = Envelope("1", "s", fact.type, "x", 101.0, "0" * 32)
    times.note_read(FactRecord(fact, envelope, Partition("t", 0), 0, 103.0))
    assert 'stage="seen"' not in metrics.text()
    assert 'stage="read"' in metrics.text()

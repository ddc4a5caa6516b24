"""What `get` and `describe` show of a job beside its table, and what programs read."""

from __future__ import annotations

import io
from typing import Any

import pytest

from cli.connecting import PES, PODS, REGIONS
from cli.describing import age_of, described_job, described_pe, list_of, notes_of
from cli.documents import document_of
from cli.inspecting import JobObjects, all_jobs, is_event_of, one_job, uids_of
from cli.live import regions_text
from cli.showing import Renderable, Screen
from contracts.moments import unix_s_of
from tests.sandboxed import Sandboxed
from tests.unit.cli.test_views import pe, pod, region
from tests.virtual_time import virtually

NOW_S = unix_s_of("2026-11-25T10:10:00Z")
CREATED = "2026-11-25T10:00:00Z"


def condition(type_: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    return {
        "type": type_,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": CREATED,
    }


def objects(
    *conditions: dict[str, Any], warnings: tuple[str, ...] = (), **children: list[dict[str, Any]]
) -> JobObjects:
    meta = {"name": "j", "namespace": "n", "uid": "u", "creationTimestamp": CREATED}
    status = {
        "phase": "Submitted",
        "reason": "Submitted",
        "message": "it runs",
        "observedGeneration": 1,
        "generation": 0,
        "conditions": list(conditions),
    }
    job = {
        "metadata": {**meta, "generation": 1},
        "spec": {"bundle": {"name": "a.sab"}},
        "status": status,
    }
    named = {REGIONS: "regions", PES: "pes", PODS: "pods"}
    found = {resource: children.get(name, []) for resource, name in named.items()}
    for items in found.values():
        for number, each in enumerate(items):
            defaults = {"name": f"j-{number}", "namespace": "n", "uid": f"c{number}"}
            each["metadata"] = defaults | {"creationTimestamp": CREATED} | each.get("metadata", {})
    return JobObjects(job, found, warnings)


def plain(shown: Renderable) -> str:
    file = io.StringIO()
    Screen(file=file, width=160).print(shown)
    return file.getvalue()


@pytest.mark.parametrize(
    ("moment", "age"),
    [
        ("2026-11-25T10:09:59Z", "1s"),
        ("2026-11-25T10:08:01Z", "119s"),
        ("2026-11-25T10:00:00Z", "10m"),
        ("2026-11-25T07:10:00Z", "3h"),
        ("2026-11-20T10:10:00Z", "5d"),
        ("2026-11-25T10:10:05Z", "0s"),
        (None, "-"),
    ],
)
def test_an_age_is_short_as_that_of_kubectl(moment: str | None, age: str) -> None:
    assert age_of(moment, NOW_S) == age


def test_a_refused_edit_is_a_line_below_the_table() -> None:
    refused = condition("Accepted", "False", "EditRefused", "spec.bundle.name: stays")
    line = "Accepted is False: EditRefused: spec.bundle.name: stays"
    assert notes_of(objects(refused), NOW_S) == [line]
    assert line in plain(list_of([objects(refused)], NOW_S, wide=False, all_of=False))


def test_what_the_message_of_a_job_says_is_no_line_of_its_own() -> None:
    """A submission that failed says why, and then when it is tried again."""
    found = objects(condition("Placed", "False", "TagMissing", "no node has the tag a"))
    again = "no node has the tag a; it is tried again at noon"
    found.job["status"] |= {"phase": "Failed", "reason": "TagMissing", "message": again}
    assert notes_of(found, NOW_S) == [f"TagMissing: {again}"]
    assert plain(described_job(found, [], NOW_S)).count("tried again at noon") == 1


def test_what_has_no_effect_or_is_taken_up_later_is_a_line() -> None:
    later = condition("Accepted", "True", "EditTakenUpLater", "spec.resources: later")
    warnings = ("spec.submissionTimeValues.widht is ignored", "StateNotKept: that of b is lost")
    notes = notes_of(objects(later, warnings=warnings), NOW_S)
    assert notes == [
        "Accepted is True: EditTakenUpLater: spec.resources: later",
        "WithoutEffect: spec.submissionTimeValues.widht is ignored",
        "StateNotKept: that of b is lost",
    ]


def test_a_healthy_job_has_no_line() -> None:
    well = (condition("Accepted", "True", "Accepted"), condition("Placed", "True", "NoConstraints"))
    assert notes_of(objects(*well, regions=[region(2, 2)], pes=[pe(0)], pods=[pod(0)]), NOW_S) == []


def test_a_width_shows_what_is_in_force_and_what_is_wanted_with_the_cause() -> None:
    def shown(*args: Any) -> str:
        return regions_text(objects(regions=[region(*args)]).view)

    assert shown(3, 3, "WidthInForce") == "R=3"
    assert shown(9, 2, "WidthWaits", "waits") == "R=2 (9 wanted: WidthWaits)"
    assert shown(9, 2, "WidthRefused", "no") == "R=2 (9 wanted: WidthRefused)"
    assert shown(9, 2, "WidthInForce") == "R=2 (9 wanted)"


@pytest.mark.parametrize(
    ("of_pod", "recorded", "phase"),
    [
        ("Running", "Starting", "Running"),
        ("Succeeded", "Running", "Completed"),
        ("Pending", "Waiting", "Starting"),
        ("Failed", "Running", "Failed"),
        ("Failed", "Stopped", "Stopped"),
        (None, "Stopped", "Stopped"),
        (None, "", "Waiting"),
    ],
)
def test_phases_of_a_pe_have_the_names_that_kubectl_shows(
    of_pod: str | None, recorded: str, phase: str
) -> None:
    status = {"phase": recorded} if recorded else {}
    pods = [pod(0, phase=of_pod)] if of_pod else []
    view = objects(pes=[pe(0) | {"status": status}], pods=pods).view
    assert view.pes[0].phase == phase


def test_a_job_is_described_with_conditions_in_words_and_its_events() -> None:
    """A condition without a message has the sentence of its reason."""
    event = {
        "metadata": {"name": "e", "uid": "e"},
        "involvedObject": {"kind": "Job", "name": "j", "uid": "u"},
        "type": "Warning",
        "reason": "EditRefused",
        "message": "stays",
        "count": 3,
        "lastTimestamp": CREATED,
    }
    found = objects(condition("Healthy", "True", "AllRunning"), pes=[pe(0)], pods=[pod(0)])
    text = plain(described_job(found, [event], NOW_S))
    for words in (
        "Phase:              Submitted",
        "Healthy  True    10m    AllRunning  Every pod of the job runs or has completed.",
        "10m  Warning  EditRefused  Job/j   stays (x3)",
        "j-0  Running  1       node-0",
    ):
        assert words in text


def test_a_pe_is_described_with_the_reason_why_it_does_not_run() -> None:
    status = {"phase": "Stopped", "reason": "PodDeleted", "message": "No restart follows."}
    found = objects(pes=[pe(0) | {"status": status}])
    text = plain(described_pe(found, found.pes_by_id[0], [], NOW_S))
    assert "Phase:              Stopped" in text
    assert "PodDeleted: The pod was deleted." in text
    assert "No restart follows." in text


def test_the_document_of_a_job_has_its_fields_whether_they_are_known_or_not() -> None:
    known = objects(regions=[region(9, 2, "WidthWaits", "waits")], pes=[pe(0)], pods=[])
    found = document_of(known, NOW_S)
    assert set(found) == {
        *("name", "namespace", "uid", "createdAt", "phase", "reason", "message", "generation"),
        *("observedGeneration", "bundle", "conditions", "losses", "withoutEffect", "regions"),
        *("processingElements", "hostPools", "placement"),
    }
    (only,) = found["regions"]
    assert (only["requestedWidth"], only["widthInForce"], only["reason"]) == (9, 2, "WidthWaits")
    (first,) = found["processingElements"]
    assert (first["phase"], first["pod"], first["operators"]) == ("Waiting", None, ["R[0]"])
    assert found["placement"] is None


def test_events_of_pods_that_are_gone_are_those_of_their_job() -> None:
    """By the name of the pod: others may have the labels of the job."""
    found = objects(pes=[pe(0)])

    def event(kind: str, name: str, uid: str = "?") -> dict[str, Any]:
        return {"involvedObject": {"kind": kind, "name": name, "uid": uid}}

    uids = uids_of(found)
    assert is_event_of(event("Job", "j", "u"), found, uids)
    assert is_event_of(event("Pod", "j-0-0123456789"), found, uids)
    assert not is_event_of(event("Pod", "j-0-other"), found, uids)
    assert not is_event_of(event("Job", "j", "of a former job"), found, uids)


@virtually
async def test_a_job_that_has_no_status_yet_is_shown() -> None:
    """As in the first moment, or for as long as fusion-backend is stopped."""
    sandboxed = Sandboxed()
    body = {
        "apiVersion": "streams.ibm.com/v1",
        "kind": "Job",
        "metadata": {"name": "new", "namespace": "default"},
        "spec": {"bundle": {"name": "a.sab"}},
    }
    sandboxed.cluster.store.create(sandboxed.kind("Job"), "default", body)
    (found,) = await all_jobs(kube := sandboxed.client(), "default")
    assert (await one_job(kube, "default", "new")).job == found.job
    assert document_of(found, NOW_S)["phase"] is None
    assert "waits for fusion-backend" in plain(described_job(found, [], NOW_S))
    assert "new" in plain(list_of([found], NOW_S, wide=True, all_of=True))

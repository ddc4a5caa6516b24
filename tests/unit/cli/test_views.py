"""The views of a job show the state of its objects."""

from __future__ import annotations

import io
from typing import Any

from cli.following import state_text
from cli.live import compare, job_panel, job_table, refusal, resize_text, view_of
from cli.showing import Renderable, Screen
from contracts.unreadable import Unreadable


def job(phase: str = "Submitted", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "j", "generation": 1},
        "status": {"phase": phase, "observedGeneration": 1, "generation": 0, **status},
    }


def region(wanted: int, in_force: int, reason: str = "", message: str = "") -> dict[str, Any]:
    return {
        "spec": {"alias": "R", "width": wanted},
        "status": {"width": in_force, "reason": reason, "message": message},
    }


def pe(number: int) -> dict[str, Any]:
    return {
        "metadata": {"name": f"j-{number}"},
        "spec": {"id": number, "operators": [f"R[{number}]"]},
    }


def pod(number: int, launch: int = 1, phase: str = "Running", **meta: Any) -> dict[str, Any]:
    labels = {"streams.ibm.com/pe": str(number), "streams.ibm.com/launch-count": str(launch)}
    return {
        "metadata": {
            "name": f"j-{number}-{launch}",
            "uid": f"u{number}-{launch}",
            "labels": labels,
            **meta,
        },
        "spec": {"nodeName": "node-0"},
        "status": {"phase": phase},
    }


def test_a_job_runs_when_it_is_submitted_its_widths_are_in_force_and_every_pod_runs() -> None:
    """Each of the three is needed."""
    assert view_of(job(), [region(2, 2)], [pe(0)], [pod(0)]).is_running
    assert not view_of(job("Submitting"), [region(2, 2)], [pe(0)], [pod(0)]).is_running
    assert not view_of(job(), [region(3, 2)], [pe(0)], [pod(0)]).is_running
    assert not view_of(job(), [region(2, 2)], [pe(0)], [pod(0, phase="Pending")]).is_running
    assert not view_of(job(), [region(2, 2)], [pe(0), pe(1)], [pod(0)]).is_running


def test_the_pod_of_the_launch_before_is_known_if_it_is_kept() -> None:
    """Whatever the order in which pods are listed; one that is being deleted is no pod."""
    pods = [pod(0, 9), pod(0, 10), pod(0, 2, "Failed"), pod(1, 1)]
    going = pod(1, 2, deletionTimestamp="2026-11-25T10:00:00Z")
    view = view_of(job(), [], [pe(0), pe(1)], [*pods, going])
    assert (view.pes[0].pod_name, view.pes[0].previous_pod_name) == ("j-0-10", "j-0-9")
    assert (view.pes[1].pod_name, view.pes[1].previous_pod_name) == ("j-1-1", "")


def test_a_pe_that_is_not_created_again_counts_as_one_that_does_not_run() -> None:
    deleted = job(deletedProcessingElements=[1])
    shown = plain(job_panel(view_of(deleted, [], [pe(0)], [pod(0)])))
    assert "1 of 2 processing elements running" in shown
    shown = plain(job_panel(view_of(deleted, [], [pe(0), pe(1)], [pod(0), pod(1)])))
    assert "2 of 2 processing elements running" in shown


def test_children_that_cannot_be_read_hide_no_others() -> None:
    """Else anybody with write access to the namespace could break `millrace get`."""
    bad = {"metadata": {"name": "x"}, "spec": Unreadable("spec nests")}
    view = view_of(job(), [region(2, 2), bad], [pe(0), bad], [pod(0)])
    assert view.regions == {"R": (2, 2)}
    assert set(view.pes) == {0}


def test_the_line_of_a_job_without_processing_elements_has_its_message() -> None:
    """The line is all that people see of it until its placement is found."""
    waiting = job("Submitting", message="waits for capacity: node-1 lacks 1 cpu")
    assert "waits for capacity: node-1 lacks 1 cpu" in plain(
        job_panel(view_of(waiting, [], [], []))
    )
    assert "capacity" not in plain(job_panel(view_of(waiting, [], [pe(0)], [])))


def test_a_failure_counts_for_the_spec_that_it_was_decided_on() -> None:
    """A changed spec that is not observed yet has not failed."""
    failed = job("Failed")
    assert view_of(failed, [], [], []).has_failed
    failed["metadata"]["generation"] = 2
    assert not view_of(failed, [], [], []).has_failed


def test_the_newest_pod_that_stays_is_the_pes() -> None:
    """An outgoing pod, or an older launch, is not shown."""
    outgoing = pod(0, 2, deletionTimestamp="2026-01-01T00:00:00Z")
    view = view_of(job(), [], [pe(0)], [outgoing, pod(0, 3), pod(0, 1, phase="Failed")])
    assert (view.pes[0].pod, view.pes[0].launch, view.pes[0].phase) == ("u0-3", 3, "Running")


def test_a_pe_without_a_pod_shows_its_status_and_why_it_does_not_run() -> None:
    """It is Stopped, as kubectl says, and does not wait for anything."""
    stopped = pe(0) | {
        "status": {
            "phase": "Stopped",
            "launchCount": 4,
            "reason": "PodDeleted",
            "message": "No restart follows.",
        }
    }
    view = view_of(job(), [], [stopped], [])
    assert (view.pes[0].phase, view.pes[0].launch) == ("Stopped", 4)
    assert "j-0 is Stopped: PodDeleted: No restart follows." in plain(job_panel(view))


def test_a_resize_does_not_wait_for_a_pe_that_was_at_rest_before() -> None:
    stopped = pe(0) | {"status": {"phase": "Stopped", "reason": "PodDeleted"}}
    before = view_of(job(), [region(2, 2)], [stopped, pe(1)], [pod(1)])
    assert before.at_rest == {0}
    assert not before.is_running
    assert before.runs_except(before.at_rest)
    failed = pe(1) | {"status": {"phase": "Failed", "reason": "PodFailed"}}
    assert not view_of(job(), [region(2, 2)], [stopped, failed], []).runs_except(before.at_rest)
    starting = view_of(job(), [region(2, 2)], [pe(0), pe(1)], [pod(0, phase="Pending"), pod(1)])
    assert not starting.runs_except(before.at_rest)


def test_a_pe_that_runs_or_will_soon_has_no_problem() -> None:
    blocked = {"phase": "Starting", "reason": "Unschedulable", "message": "no room"}
    waiting = view_of(job(), [], [pe(0) | {"status": blocked}], [pod(0, phase="Pending")])
    assert waiting.pes[0].problem == "Unschedulable: no room"
    running = view_of(job(), [], [pe(0) | {"status": blocked}], [pod(0)])
    assert running.pes[0].problem == ""
    starting = pe(0) | {"status": {"phase": "Starting", "reason": "PodStarting", "message": "m"}}
    assert view_of(job(), [], [starting], []).pes[0].problem == ""


def test_of_many_pes_that_do_not_run_some_are_named() -> None:
    status = {"phase": "Failed", "reason": "PodFailed", "message": "m"}
    text = plain(job_panel(view_of(job(), [], [pe(n) | {"status": status} for n in range(9)], [])))
    assert "j-4 is Failed: PodFailed: m" in text
    assert "j-5 is" not in text
    assert "4 more do not run" in text


def test_a_comparison_lists_added_restarted_untouched_and_removed_pes() -> None:
    """By the pods' uids, not by their names."""
    before = view_of(job(), [], [pe(0), pe(1), pe(2)], [pod(0), pod(1), pod(2)])
    after = view_of(job(), [], [pe(0), pe(1), pe(3)], [pod(0), pod(1, 2), pod(3)])
    outcome = compare(before, after, 1.5)
    assert (outcome.untouched, outcome.restarted) == ((0,), (1,))
    assert (outcome.added, outcome.removed) == ((3,), (2,))
    text = resize_text(outcome)
    assert "restarted    1  1" in text
    assert "1.50 s" in text


def test_tables_show_phases_widths_and_how_many_are_left_out() -> None:
    """A job of hundreds of PEs stays readable."""
    view = view_of(job(), [region(5, 3)], [pe(n) for n in range(100)], [pod(0)])
    out = io.StringIO()
    console = Screen(file=out, width=160)
    console.print(job_panel(view))
    console.print(job_table([view]))
    text = out.getvalue()
    assert "R=3 (5 wanted)" in text
    assert "1 of 100 processing elements running" in text
    assert "… and 60 more" in text


def test_the_reasons_of_a_failed_job_and_of_a_refused_width_are_shown() -> None:
    """Without an empty table of processing elements, and without outdated refusals."""
    failed = view_of(job("Failed", reason="UnknownRegion", message="no such region"), [], [], [])
    assert plain(job_panel(failed)).splitlines()[1:] == ["UnknownRegion: no such region"]
    refused = view_of(job(), [region(9, 2, "WidthRefused", "too wide")], [pe(0)], [pod(0)])
    assert "R: WidthRefused: too wide" in plain(job_panel(refused))
    resizing = view_of(job(), [region(9, 2, "Resizing", "to 9")], [pe(0)], [pod(0)])
    assert "to 9" not in plain(job_panel(resizing))


def test_a_waiting_width_has_its_message_and_is_not_refused() -> None:
    message = "width 2 stays in force: width 9 waits for capacity"
    waiting = view_of(job(), [region(9, 2, "WidthWaits", message)], [pe(0)], [pod(0)])
    assert " ".join(plain(job_panel(waiting)).split()).count(f"R: {message}") == 1
    assert refusal(waiting, "R") == ""


def test_a_waiting_resize_shows_its_message_while_it_waits_and_at_the_time_out() -> None:
    """`scale` shows the table without problems, and the state after a time-out."""
    message = "width 2 stays in force: width 9 waits for capacity"
    waiting = view_of(job(), [region(9, 2, "WidthWaits", message)], [pe(0)], [pod(0)])
    assert f"R: {message}" in " ".join(plain(job_panel(waiting, problems=False)).split())
    assert f"R: {message}." in state_text(waiting)


def test_the_refusal_of_an_earlier_width_is_no_refusal_of_the_newest() -> None:
    """Until the newest is observed, the status belongs to the one before."""
    stale = region(4, 2, "WidthRefused", "9 is too wide")
    stale["status"]["observedGeneration"] = 3
    view = view_of(job(), [stale], [pe(0)], [pod(0)])
    assert refusal(view, "R", generation=3) == "WidthRefused: 9 is too wide"
    assert refusal(view, "R", generation=4) == ""


def test_a_time_out_names_the_processing_elements_that_do_not_run() -> None:
    """A job is Submitted although a pod that somebody deleted is not launched again."""
    view = view_of(job(message="it runs"), [region(2, 2)], [pe(0), pe(1), pe(2)], [pod(0), pod(2)])
    text = state_text(view)
    assert text.startswith("Its phase is Submitted: it runs. Without a pod that runs: j-1;")
    assert state_text(view_of(job(message="it runs"), [], [pe(0)], [pod(0)])).endswith("it runs.")
    many = view_of(job(), [], [pe(number) for number in range(9)], [])
    assert "j-3, j-4, …;" in state_text(many)


def plain(shown: Renderable) -> str:
    console = Screen(file=io.StringIO(), width=120)
    console.print(shown)
    file = console.file
    assert isinstance(file, io.StringIO)
    return file.getvalue()

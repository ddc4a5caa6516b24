"""What the sandbox answers for the log of a pod: an annotation plays it."""

from __future__ import annotations

from typing import Any

from tests.unit.sandbox.http.asking import Asker, pod

PODS = "/api/v1/namespaces/default/pods"


def test_the_log_of_a_pod_is_empty_and_that_of_no_pod_is_404(asker: Asker) -> None:
    asker.ask("POST", PODS, pod("p"))
    log = asker.ask("GET", f"{PODS}/p/log")
    assert (log.status, log.body) == (200, b"")
    assert asker.ask("GET", f"{PODS}/q/log").status == 404


def test_a_followed_log_shows_what_is_added_until_the_pod_ends(asker: Asker) -> None:
    def logged(text: str) -> dict[str, Any]:
        return {"metadata": {"annotations": {"sandbox.millrace.dev/log": text}}}

    def patch(path: str, body: dict[str, Any]) -> None:
        asker.ask("PATCH", path, body, content_type="application/merge-patch+json")

    asker.ask("POST", PODS, {**pod("p"), "metadata": {"name": "p", **logged("a\nb")["metadata"]}})
    log = asker.watch(f"{PODS}/p/log?follow=true&tailLines=1")

    def shown() -> bytes:
        return b"".join(log.line(event) for event in log.watch.take())

    assert (shown(), log.headers["content-type"]) == (b"b\n", "text/plain")
    patch(f"{PODS}/p", logged("a\nb\nc"))
    assert (shown(), log.watch.closed) == (b"c\n", False)
    patch(f"{PODS}/p", logged("d"))
    assert (shown(), log.watch.closed) == (b"d\n", False)
    patch(f"{PODS}/p/status", {"status": {"phase": "Failed"}})
    assert (shown(), log.watch.closed) == (b"", True)

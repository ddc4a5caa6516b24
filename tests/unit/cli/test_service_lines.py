"""Log lines of services: words for people, one order over all services, files that stay bounded."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from cli.log_files import LOG_FILES_KEPT, files_of, names_in, new_texts, rotate
from cli.service_lines import duration_s, line_of, lines_of, merged, readable

AT = "2026-11-26T11:50:19.146017Z"


def text_of(event: str, *, at: str = AT, **fields: Any) -> str:
    return json.dumps({"event": event, "level": "info", "timestamp": at, **fields})


def words_of(text: str) -> str:
    line = line_of("fusion-backend", text)
    assert line is not None
    return readable(line)


def test_an_effect_is_a_sentence_with_rule_and_reason() -> None:
    fields: dict[str, Any] = {
        **{"namespace": "default", "job": "shop", "object": "Pod/shop-1-x", "effect": "CreatePod"},
        **{"rule": "LAUNCH_DUE", "reason": "FirstLaunch", "outcome": "created", "seconds": 0.0123},
        **{"launch": 1, "trace": "ab" * 16, "pe": "shop-1", "part": "pod-state-machine"},
    }
    text = text_of("effect", **fields)
    assert words_of(text) == (
        "2026-11-26 11:50:19.146  info     fusion-backend     default/shop  "
        "CreatePod Pod/shop-1-x: created (LAUNCH_DUE, FirstLaunch) launch=1 0.012 s"
    )


def test_a_failure_has_its_problem() -> None:
    fields: dict[str, Any] = {
        **{"object": "Pod/a", "effect": "CreatePod", "outcome": "rejected", "seconds": 0.5},
        **{
            "rule": "LAUNCH_DUE",
            "reason": "FirstLaunch",
            "problem": "quota",
            "meaning": "Rejected",
        },
    }
    text = text_of("effect_failed", **fields)
    assert words_of(text).endswith(
        "CreatePod Pod/a: rejected: quota (LAUNCH_DUE, FirstLaunch) 0.500 s"
    )


def test_any_other_event_has_its_fields() -> None:
    text = text_of("api_server_away", problem="refused", tried=[1, 2])
    assert words_of(text).endswith("api server away problem=refused tried=[1,2]")


@pytest.mark.parametrize("text", ["Traceback (most recent call last):", '{"event": "cut', "{}"])
def test_what_is_no_line_of_ours_is_shown_as_it_is(text: str) -> None:
    assert words_of(text) == f"fusion-backend  {text}"


def test_text_of_other_people_does_not_steer_the_terminal() -> None:
    assert "\x1b" not in words_of(text_of("x", problem="\x1b[2J"))
    assert "\x1b" not in words_of("plain \x1b[2J")


def test_lines_of_services_are_in_one_order_of_time() -> None:
    first = [
        text_of("a", at="2026-11-26T11:00:00Z"),
        "its traceback",
        text_of("d", namespace="n", job="j"),
    ]
    second = [text_of("b", at="2026-11-26T11:00:01Z"), text_of("c", at="2026-11-26T11:00:02Z")]

    def found(**options: object) -> list[str]:
        logs = (lines_of("one", first), lines_of("two", second))
        lines = merged(logs, **options)  # type: ignore[arg-type]
        return [str(line.fields.get("event", line.text)) for line in lines]

    assert found() == ["a", "its traceback", "b", "c", "d"]
    assert found(tail=2) == ["c", "d"]
    assert found(job=("n", "j")) == ["d"]
    assert found(since_s=line_of("x", second[1]).time_s) == ["c", "d"]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1h30m", 5400.0), ("0.5h", 1800.0)]
)
def test_durations_are_those_of_kubectl(text: str, seconds: float) -> None:
    assert duration_s(text) == seconds


@pytest.mark.parametrize("text", ["10", "m", "", "10 m", "-1h", "1y"])
def test_any_other_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no duration such as"):
        duration_s(text)


def test_a_log_that_is_too_large_is_set_aside_and_the_oldest_one_is_forgotten(
    tmp_path: Path,
) -> None:
    log = tmp_path / "watch-ingest.log"
    with log.open("ab") as child:  # it stays open, as that of a service
        for number in range(LOG_FILES_KEPT + 3):
            child.write(f"line {number}\n".encode())
            child.flush()
            rotate(log, bytes_max=1)
        child.write(b"now\n")
    *older, newest = files_of(tmp_path, "watch-ingest")
    assert [each.read_text() for each in older] == [
        f"line {number}\n" for number in range(3, LOG_FILES_KEPT + 3)
    ]
    assert newest.read_text() == "now\n"
    assert older[0].stat().st_mode & 0o077 == 0


def test_a_small_log_is_left_alone(tmp_path: Path) -> None:
    log = tmp_path / "watch-ingest.log"
    log.write_text("line\n")
    rotate(log)
    assert files_of(tmp_path, "watch-ingest") == [log]


async def test_a_log_is_followed_over_its_rotation(tmp_path: Path) -> None:
    log = tmp_path / "watch-ingest.log"
    log.write_text("old\n")
    texts = new_texts(tmp_path, {"watch-ingest": log.stat().st_size})
    with log.open("a") as child:
        child.write("first\nsecond, not wh")
    assert await anext(texts) == ("watch-ingest", "first\n")
    following = asyncio.ensure_future(anext(texts))
    with log.open("a") as child:
        child.write("ole\n")
    assert await following == ("watch-ingest", "second, not whole\n")
    with log.open("a") as child:
        child.write("before\n")
    rotate(log, bytes_max=1)
    with log.open("a") as child:
        child.write("after\n")
    assert await anext(texts) == ("watch-ingest", "before\n")
    assert await anext(texts) == ("watch-ingest", "after\n")


def test_instances_are_found_by_their_service(tmp_path: Path) -> None:
    for name in ("fusion-backend", "fusion-backend-2", "sandbox", "watch-ingest"):
        (tmp_path / f"{name}.log").touch()
    assert names_in(tmp_path, "") == ["fusion-backend", "fusion-backend-2", "watch-ingest"]
    assert names_in(tmp_path, "fusion-backend") == ["fusion-backend", "fusion-backend-2"]
    assert names_in(tmp_path, "node-tainter") == []

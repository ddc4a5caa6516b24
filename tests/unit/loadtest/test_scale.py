"""The report of `make bench-scale`."""

from __future__ import annotations

from loadtest.profiles import WORDCOUNT
from loadtest.scale import MIB, render
from loadtest.scale_steps import Scale, Step

SCALE = Scale(jobs=20, pes=5, application=WORDCOUNT, every=10)


def test_every_tenth_job_is_resized() -> None:
    assert (SCALE.total, SCALE.names[:: SCALE.every]) == (100, ("scale-0", "scale-10"))


def test_a_step_is_shown_beside_the_bare_writes_of_the_same_run() -> None:
    step = Step("submit", 6.0, floor_s=4.0, writes=320, cpu_s={"a": 1.5}, memory={"a": 2 * MIB})
    text = render(SCALE, 4, [step])
    assert "100 PEs in 20 jobs on 4 nodes" in text
    assert "| submit | 6.0 | 4.0 | 1.50 | 320 | 3.20 |" in text


def test_the_most_memory_of_all_steps_is_shown() -> None:
    steps = [
        Step("submit", 1.0, memory={"a": 9 * MIB}, cpu_s={"a": 1.0}),
        Step("restart of a", 2.0, memory={"a": 5 * MIB}),
    ]
    text = render(SCALE, 4, steps)
    assert "| a | 9 | 1.0 |" in text
    assert "| restart of a | 2.0 |  |  |  |  |  |" in text

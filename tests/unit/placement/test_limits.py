"""One budget for a decision, and work that grows with what is asked, not with its pairs."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType

import pytest

from contracts.reasons import Reason
from contracts.scheduling.nodes import Node
from placement import deciding, exact
from placement.answers import Placed, Refused, Unknown
from placement.bounds import is_impossible
from placement.building import build_problem
from placement.checking import violations
from placement.cluster import Cluster
from placement.deciding import Limits, decide
from placement.job import Job, Pe, Pool
from placement.patterning import search_patterns
from placement.problem import Problem, Solution
from placement.reducing import alike, hard_classes
from placement.rows import Exhausted


def cluster(count: int, cpu: int = 1000, **labels: str) -> Cluster:
    has = {"cpu": cpu, "pods": 100}
    return Cluster.of(Node(f"n{at:04}", labels, (), has) for at in range(count))


def a_job(*sizes: int) -> Job:
    return Job("default/job", tuple(Pe(at, {"cpu": size}) for at, size in enumerate(sizes)))


def by_threes(nodes: int) -> list[int]:
    """Three PEs fill each node to the last milli-CPU."""
    sizes: list[int] = []
    for at in range(nodes):
        one, other = (220, 260, 310)[at % 3], (290, 330, 370)[at * 7 % 5 % 3]
        sizes += [one, other, 1000 - one - other]
    return sizes


def at_the_edge(*more: int) -> Job:
    """Two or three PEs on each of five nodes, filled to the last, which greedy attempts miss."""
    return a_job(501, 499, 330, 330, 340, 260, 370, 370, 730, 270, 128, 872, *more)


# --------------------------------------------------------------------------- the exact search


@pytest.mark.parametrize("fits", [True, False])
def test_the_exact_search_finds_what_is_there_and_proves_what_is_not(fits: bool) -> None:
    asked = at_the_edge(*([] if fits else [1]))
    found = exact.solve(build_problem(cluster(5), asked), limit_s=60.0)
    assert isinstance(found, Solution) if fits else found is None
    decided = decide(cluster(5), asked)
    if fits:
        assert isinstance(decided, Placed)
        assert violations(cluster(5), asked, decided) == []
    else:
        assert isinstance(decided, Refused)
        assert decided.why is Reason.INSUFFICIENT_CAPACITY
        assert decided.waits


def test_a_search_that_meets_its_limit_says_neither_yes_nor_no(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(exact, "solve", lambda problem, limit_s: Exhausted())
    monkeypatch.setattr(deciding, "is_impossible", lambda problem: False)
    decided = decide(cluster(5), at_the_edge(1), Limits(search_s=0.5))
    assert isinstance(decided, Unknown)
    assert "0.5 s" in decided.message


# --------------------------------------------------------------------------- patterns


@pytest.mark.parametrize("more", [0, 1])
def test_nodes_that_are_filled_to_the_last_are_filled_by_patterns(more: int) -> None:
    asked = build_problem(cluster(40), a_job(*by_threes(40), *[20] * more))
    hard = hard_classes(asked)
    found = search_patterns(asked, hard, alike(asked, hard), 60.0)
    assert (found is None) if more else isinstance(found, list)
    decided = decide(cluster(40), a_job(*by_threes(40), *[20] * more))
    assert isinstance(decided, Refused if more else Placed)


def test_patterns_hold_what_must_be_apart_and_alone() -> None:
    pes = [Pe(at, {"cpu": 400}, exlocations=frozenset("e")) for at in range(4)]
    pes += [Pe(at, {"cpu": 300}, is_isolated=True) for at in (4, 5)]
    pes += [Pe(at, {"cpu": 600}) for at in range(6, 10)]
    for nodes, fits in ((6, True), (5, False)):
        asked = build_problem(cluster(nodes), Job("default/job", tuple(pes)))
        hard = hard_classes(asked)
        found = search_patterns(asked, hard, alike(asked, hard), 60.0)
        assert isinstance(found, list) is fits
        assert isinstance(exact.solve(asked, 60.0), Solution) is fits


def test_too_many_patterns_say_nothing_and_leave_the_answer_to_the_nodes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("placement.patterning.STEPS_MAX", 10)
    asked = build_problem(cluster(5), a_job(*by_threes(5)))
    hard = hard_classes(asked)
    assert isinstance(search_patterns(asked, hard, alike(asked, hard), 60.0), Exhausted)
    assert isinstance(exact.solve(asked, 60.0), Solution)


@pytest.mark.parametrize("byte", [0, 1])
def test_a_byte_too_much_is_reported_from_one_that_fits(byte: int) -> None:
    """A pool that chooses its members is searched in numbers that are not whole."""
    gib = 1 << 30
    tag = {"tag.streams.ibm.com/big": ""}
    nodes = [
        Node(f"n{at}", labels, (), {"memory": size * gib, "pods": 9})
        for at, (size, labels) in enumerate([(64, tag), (70, tag), (99, {})])
    ]
    sizes = (34 * gib, 30 * gib + byte, 40 * gib, 26 * gib)
    pes = tuple(Pe(at, {"memory": size}, pool=0) for at, size in enumerate(sizes))
    asked = Job("default/job", pes, (Pool(0, "P", size=2, tags=("big",)),))
    found = exact.solve(build_problem(Cluster.of(nodes), asked), 60.0)
    assert isinstance(found, Solution) if not byte else found is None
    decided = decide(Cluster.of(nodes), asked)
    assert isinstance(decided, Refused if byte else Placed)
    assert isinstance(decided, Placed) or decided.why is Reason.INSUFFICIENT_CAPACITY


# --------------------------------------------------------------------------- the budget


class Seconds:
    """A clock that goes on by a second whenever somebody looks."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1.0
        return self.now


def unsolved(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """No attempt finds anything, and no search ends; the seconds that each search was given."""
    given: list[float] = []

    def solve(_: Problem, limit_s: float) -> Exhausted:
        given.append(limit_s)
        return Exhausted()

    monkeypatch.setattr(exact, "solve", solve)
    monkeypatch.setattr(deciding, "is_impossible", lambda _: False)
    return given


def test_all_searches_of_a_decision_share_its_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def solve(problem: Problem, limit_s: float) -> Exhausted | None:
        given.append(limit_s)
        return Exhausted() if problem.lifted else None

    monkeypatch.setattr(exact, "solve", solve)
    monkeypatch.setattr(deciding, "is_impossible", lambda _: False)
    pes = tuple(Pe(at, {"cpu": 600}, exlocations=frozenset("e")) for at in range(9))
    decided = decide(cluster(4), Job("default/job", pes), Limits(search_s=4.0))
    assert len(given) > 2
    assert sum(given) <= 4.0
    assert isinstance(decided, Unknown), "that waiting could help is not known"
    assert "which constraint is in the way" in decided.message
    assert "closest: n0000" in decided.message


def test_a_budget_that_is_used_up_ends_attempts_before_any_search(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = unsolved(monkeypatch)
    limits = Limits(search_s=6.0, attempts=1000, clock=Seconds())
    decided = decide(cluster(4), a_job(*[600] * 9), limits)
    assert isinstance(decided, Unknown)
    assert decided.why is Reason.PLACEMENT_UNKNOWN
    assert "6 s" in decided.message
    assert given == []


def test_a_search_gets_the_seconds_that_attempts_left(monkeypatch: pytest.MonkeyPatch) -> None:
    given = unsolved(monkeypatch)
    decide(cluster(4), a_job(*[600] * 9), Limits(search_s=60.0, attempts=3, clock=Seconds()))
    assert len(given) == 1
    assert 0 < given[0] < 60.0


def test_a_program_that_would_not_fit_is_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = build_problem(cluster(6), a_job(*range(301, 320)))
    monkeypatch.setattr("placement.patterning.STEPS_MAX", 10)
    monkeypatch.setattr(exact, "CELLS_MAX", 100)
    assert isinstance(exact.solve(asked, 60.0), Exhausted)
    monkeypatch.setattr(exact, "COMPARED_MAX", 100)
    assert isinstance(exact.solve(asked, 60.0), Exhausted)


# --------------------------------------------------------------------------- counts that refuse


def test_exclusive_pools_that_want_more_nodes_than_there_are_are_refused_by_their_sum() -> None:
    pools = tuple(Pool(at, f"P{at}", size=5, is_exclusive=at < 7) for at in range(8))
    assert not is_impossible(build_problem(cluster(40), Job("default/job", (), pools)))
    assert is_impossible(build_problem(cluster(39), Job("default/job", (), pools)))


def test_units_that_are_too_many_from_some_size_on_are_refused_by_their_count() -> None:
    """Together they request less than there is, and each alone has a place."""
    sizes = [*range(501, 511), *[10] * 5]
    assert not is_impossible(build_problem(cluster(10), a_job(*sizes)))
    assert is_impossible(build_problem(cluster(9, cpu=1001), a_job(*sizes)))


# --------------------------------------------------------------------------- growth


def calls(work: Callable[[], object]) -> int:
    """How many functions are called, of Python and of C: time that no other process changes."""
    count = 0

    def see(frame: FrameType, event: str, arg: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    gc.collect()
    gc.disable()  # finalizers of what other tests left would be counted
    sys.setprofile(see)
    try:
        work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return count


def isolated(count: int) -> Job:
    return Job("default/job", tuple(Pe(at, is_isolated=True) for at in range(count)))


def tokens(count: int) -> Job:
    return Job(
        "default/job", tuple(Pe(at, exlocations=frozenset({f"e{at // 2}"})) for at in range(count))
    )


def alike_pes(count: int) -> Job:
    return Job("default/job", tuple(Pe(at, {"cpu": 1}) for at in range(count)))


def pools(count: int) -> Job:
    made = tuple(Pool(at, f"P{at}", size=1, is_exclusive=at % 2 == 0) for at in range(count))
    return Job("default/job", tuple(Pe(at, pool=at) for at in range(count)), made)


@pytest.mark.parametrize("made", [isolated, tokens, alike_pes, pools])
def test_twice_as_much_takes_little_more_than_twice_the_steps(made: Callable[[int], Job]) -> None:
    """Passes over arrays of pools and nodes count as one step, and stay short."""
    small, large = cluster(60), cluster(120)
    few = calls(lambda: decide(small, made(60)))
    assert isinstance(decide(large, made(120)), Placed)
    assert calls(lambda: decide(large, made(120))) < 2.5 * few


def test_what_is_made_of_a_cluster_is_made_once_for_all_jobs() -> None:
    """So the hundredth of a hundred waiting jobs is decided as fast as the first."""
    here = cluster(50, zone="a")
    first = calls(lambda: decide(here, alike_pes(20)))
    known = len(here.remembered)
    later = [calls(lambda: decide(here, alike_pes(20))) for _ in range(4)]
    assert max(later) <= first
    assert len(here.remembered) == known

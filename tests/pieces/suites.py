"""The long suites and their pieces: what a run of CI takes a share of.

A piece is the least that can be left out. Nearly always it is a module of tests; where what is
expensive is brought up for a whole suite (`whole`), it is the suite. A new module of a suite is a
new piece by itself. Only the standard library is imported here: the share is known before there is
an environment.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

ELSEWHERE = frozenset(
    {
        # A suite of their own, and two that are played by `make crash` alone.
        *("exactness", "values", "crashes", "slow_hand_overs"),
        # They need no running system of the suite, or hold what the others use.
        *("applications", "running", "scenarios", "scenario"),
        # Of the simulation itself: its command, its loop, its invariants; and its plans.
        *("command", "one_at_a_time", "invariants", "runs", "plans"),
    }
)
"""Modules in the folders of suites that are no pieces of them."""
EXACT_PARTS = 4
"""The schedules of exactness are played in so many parts (tests/e2e/test_exactness.py)."""


@dataclass(frozen=True, slots=True)
class Suite:
    """A long suite: the modules of its pieces, as globs, and the target of `make` that plays it.

    `covers` are globs of the files that each of its pieces covers, whatever the module says.
    `without` are the names of modules that have no test on this ground.
    `at_once` is how many tests are played at once. What has a `track` is played beside what has
    another one (tests/real/tracks.py). The pieces of a `twin` are the same tests on another ground,
    and come in other commits.
    """

    name: str
    says: str
    target: str
    modules: tuple[str, ...]
    covers: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    whole: bool = False
    parts: int = 1
    at_once: float = 1.0
    track: str = ""
    twin: str = ""


SUITES: tuple[Suite, ...] = (
    Suite(
        "node",
        "the chart on a real node",
        "test-node",
        ("tests/node/test_*.py",),
        covers=(
            "deploy/chart/*",
            "deploy/image/*",
            "deploy/rbac/*",
            "tools/real/*",
            "tests/node/*",
        ),
        whole=True,
    ),
    Suite(
        "compose",
        "the images with Docker Compose",
        "test-compose",
        ("tests/compose/test_*.py",),
        covers=(
            "docker-compose*.yml",
            "deploy/image/*",
            "requirements.lock",
            "requirements-sandbox.lock",
            "requirements-runtime.lock",
            "requirements-build.lock",
            ".dockerignore",
            "tests/compose/*",
        ),
        whole=True,
    ),
    Suite(
        "exact",
        "schedules of numbered tuples on the sandbox",
        "exact",
        ("tests/e2e/test_exactness.py", "tests/e2e/test_values.py"),
        parts=EXACT_PARTS,
    ),
    Suite(
        "faults",
        "faults of brokers, API server and services",
        "test-real",
        ("tests/real/faults/test_*.py",),
        track="faults",
    ),
    Suite(
        "comparisons",
        "the sandbox beside kube-apiserver",
        "test-real",
        (
            "tests/real/differential/exchanges/*.py",
            "tests/real/differential/test_kubectl.py",
            "tests/real/differential/test_generated_definitions.py",
        ),
        covers=("sandbox/store/*", "sandbox/http/*", "sandbox/controllers/*"),
        track="faults",
    ),
    Suite(
        "pair",
        "scenarios on Kafka and kube-apiserver",
        "test-real",
        ("tests/e2e/test_*.py",),
        without=("awaited_names", "limits", "log_file", "many_jobs", "placement_claims"),
        track="suites",
    ),
    Suite(
        "installed",
        "accounts, chart and security on the pair",
        "test-real",
        ("tests/real/test_*.py",),
        track="suites",
    ),
    Suite(
        "sandbox",
        "scenarios on the sandbox",
        "test",
        ("tests/e2e/test_*.py",),
        at_once=3.0,
        without=("why_refused",),
        twin="pair",
    ),
    Suite(
        "simulation",
        "all services in virtual time",
        "test",
        ("tests/simulation/test_*.py",),
        at_once=3.0,
    ),
    Suite(
        "plans",
        "plans of the simulation",
        "test",
        ("tests/simulation/scenarios/[a-z]*.py",),
        at_once=3.0,
    ),
)
SUITE: Mapping[str, Suite] = {each.name: each for each in SUITES}


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of a suite; `modules` are its files."""

    suite: str
    part: str
    modules: tuple[str, ...]

    @property
    def name(self) -> str:
        """What people read, and what a share names."""
        return f"{self.suite}/{self.part}"


def pieces(root: Path) -> tuple[Piece, ...]:
    """Every piece of every suite in a checkout, in the order of the suites."""
    return tuple(piece for suite in SUITES for piece in _pieces_of(suite, root))


def _pieces_of(suite: Suite, root: Path) -> Iterator[Piece]:
    modules = sorted(
        path.relative_to(root).as_posix() for glob in suite.modules for path in root.glob(glob)
    )
    if suite.whole:
        yield Piece(suite.name, "all", tuple(modules))
    elif suite.parts > 1:
        for number in range(suite.parts):
            yield Piece(suite.name, str(number), tuple(modules))
    else:
        for module in modules:
            if part_of(module) not in ELSEWHERE.union(suite.without):
                yield Piece(suite.name, part_of(module), (module,))


def part_of(module: str) -> str:
    """The name of a module's piece in its suite."""
    return PurePosixPath(module).stem.removeprefix("test_")

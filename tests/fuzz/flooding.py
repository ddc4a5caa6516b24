"""A flood of bad objects and records beside a good job, and what must be so afterwards.

In one simulated world with every service:

1. a good job runs; how many (virtual) seconds a resize of it takes is measured;
2. objects and records are sent in waves, half and half, while the services work;
3. no service has ended and no exception came out of one; nothing that was reported led to a write
   to an object that is not ours; where all that was sent are objects that the API server took, no
   key's code has crashed either (a record may say what no API server ever says);
4. the good job is resized again, within the seconds that it usually takes, and is right;
5. every Job of the flood that the API server took, and that still exists, says in its status where
   it stands, and why if it failed.

Everything follows from the seed; a failure names it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson
import structlog

from services.chassis.kube.writing import NO_MANAGED_FIELDS
from services.chassis.log.bus import NewRecord
from services.chassis.process.errors import ChassisError
from tests.fuzz.objects import GOOD_JOB, Asked, Person
from tests.fuzz.records import Scribe
from tests.fuzz.storable import NAME_PREFIX, Claim, Stranger
from tests.fuzz.telling import problem_of
from tests.sandboxed import SandboxTransport
from tests.simulation.applications import OUTSIDE, submit_example
from tests.simulation.world import Obj, Request, World
from tests.virtual_time import run_virtually

REFERENCES_REPORTED_BY = {
    "streamspes": "pod-state-machine",
    "streamsprs": "fusion-backend",
    "streamshostpools": "fusion-backend",
}
"""Who says in the status of an object that it names what does not exist."""
REPORT_FIELDS = {"conditions", "reason", "message", "observedGeneration"}
TOO_LARGE = b"etcdserver: request is too large"
"""How an API server refuses, with status 500, what is over 1.5 MB only with its escapes."""
GUARDS = {"resourceVersion", "uid"}
WAVE = 25
WAVE_S = 0.5
SETTLE_S = 120.0
SLACK_S = 2.0
"""A resize beside the flood's remains may take so much longer: steps round up to timers."""
WIDTHS = (3, 5)
ALL: frozenset[str] = frozenset()


Way = Callable[[], Asked | NewRecord]


@dataclass
class Report:
    """What became of a flood."""

    counts: Counter[str] = field(default_factory=Counter)
    problems: list[str] = field(default_factory=list)
    crashes: list[str] = field(default_factory=list)
    resize_s: tuple[float, float] = (0.0, 0.0)

    def text(self) -> str:
        """One line that says how many of what."""
        counts = ", ".join(f"{count} {what}" for what, count in sorted(self.counts.items()))
        before, after = self.resize_s
        return f"{counts}; a resize took {before:.2f} s before and {after:.2f} s after (virtual)"


def flood(folder: Path, *, count: int, seed: int, only: frozenset[str] = ALL) -> Report:
    """Send `count` objects and records, of the ways in `only` if any; returns what was found."""
    report = Report()
    with _crashes_noted(report):
        run_virtually(_flooded(folder, count, random.Random(seed), only, report))
    return report


async def _flooded(
    folder: Path, count: int, dice: random.Random, only: frozenset[str], report: Report
) -> None:
    await _Flood(
        World(folder, seed=dice.randrange(2**32), is_permissive=True), count, dice, only, report
    ).run()


def ways_to_do_harm() -> dict[str, str]:
    """The names that `only` knows, and what each sends."""
    dice = random.Random()
    stranger = Stranger(dice, ("default",), Claim("default", GOOD_JOB))
    sides = (Person(dice, []), stranger, Scribe(dice, ()))
    return {
        way.__name__: (way.__doc__ or "").partition("\n")[0] for side in sides for way in side.ways
    }


def _is_report(write: Request, desired: frozenset[str]) -> bool:
    """Whether a patch of a status has only what is wrong with an object.

    pod-state-machine repeats the phase in each patch: Waiting in the first status, or one of the
    `desired` phases that somebody wrote.
    """
    body = orjson.loads(write.body)
    fields = body.get("status") or {}
    if write.service == "pod-state-machine" and fields.get("phase") in desired | {"Waiting"}:
        fields = {key: each for key, each in fields.items() if key != "phase"}
    return set(body) <= {"metadata", "status"} and set(fields) <= REPORT_FIELDS


def _phases_in(body: bytes) -> set[str]:
    """The phase that a request writes, if it has one."""
    try:
        phase = orjson.loads(body)["status"]["phase"]
    except (ValueError, KeyError, TypeError):
        return set()
    return {phase} if isinstance(phase, str) else set()


def _is_emptying(write: Request) -> bool:
    """Whether a patch of an object only empties its managed fields."""
    body = orjson.loads(write.body)
    left = {key: each for key, each in body["metadata"].items() if key not in GUARDS}
    return set(body) == {"metadata"} and left == dict(NO_MANAGED_FIELDS["metadata"])


class _crashes_noted:  # noqa: N801  a context manager
    """Notes the services' log lines of crashes, and keeps all others off the screen."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def __enter__(self) -> None:
        structlog.configure(
            processors=[structlog.processors.format_exc_info, self._note],
            cache_logger_on_first_use=False,
        )

    def __exit__(self, *_: object) -> None:
        structlog.reset_defaults()

    def _note(self, _logger: Any, _method: str, event: Any) -> Any:
        if str(event.get("event", "")).endswith("_crashed"):
            self._report.crashes.append(str(event.get("exception") or event))
        raise structlog.DropEvent


class _Flood:
    def __init__(
        self,
        world: World,
        count: int,
        dice: random.Random,
        only: frozenset[str],
        report: Report,
    ) -> None:
        self._world = world
        self._count = count
        self._dice = dice
        self._only = only
        self._report = report
        self._foreign: dict[tuple[str, str, str], set[str]] = {}
        self._odd: list[Asked] = []
        self._width = iter(_alternating())

    async def run(self) -> None:
        world = self._world
        async with world.running_cluster():
            try:
                await self._run_inside()
            except AssertionError as broken:
                self._report.problems.append(str(broken)[:2_000])
            finally:
                await world.stop_all()
        self._report.problems += [repr(failure) for failure in world.failures]

    async def _run_inside(self) -> None:
        world = self._world
        (world.bundles / "garbage.sab").write_bytes(self._dice.randbytes(4_000))
        world.store.create(world.kind("namespaces"), None, {"metadata": {"name": "elsewhere"}})
        world.start()
        submit_example(world, GOOD_JOB, width=next(self._width))
        await world.until("running", lambda: world.is_running(GOOD_JOB))
        await world.settle()
        before_s = await self._resize()
        world.check_invariants = lambda: None  # type: ignore[method-assign]  # they read every object, and strangers are no launches
        began = len(world.requests)
        await self._send()
        await world.clock.sleep(SETTLE_S)
        self._look_at_services()
        if not self._report.problems:
            self._report.resize_s = (before_s, after_s := await self._resize())
            if after_s > before_s + SLACK_S:
                self._report.problems.append(f"a resize took {after_s} s, not {before_s}")
        self._look_at_writes(world.writes(began))
        self._look_at_jobs()
        await self._look_at_odd()

    async def _resize(self) -> float:
        """Seconds until the good job runs with another width."""
        world, width = self._world, next(self._width)
        began = world.clock.now()
        world.resize(GOOD_JOB, "Counted", width)
        await world.until(
            "resized", lambda: self._is_right(width), wait_s=600.0
        )  # unstretched: virtual
        return world.clock.now() - began

    def _is_right(self, width: int) -> bool:
        """The job runs in that width; pods and PEs of strangers that bear its label are not its."""
        world = self._world
        uid = world.objects("streamsjobs")[GOOD_JOB]["metadata"]["uid"]
        pes = _owned(world.objects("streamspes", GOOD_JOB), {uid})
        pods = _owned(world.objects("pods", GOOD_JOB), {pe["metadata"]["uid"] for pe in pes})
        return (
            world.phase(GOOD_JOB) == "Submitted"
            and len(pes) == len(pods) == width + OUTSIDE
            and all(pod["status"].get("phase") == "Running" for pod in pods)
        )

    # ------------------------------------------------------------------ the flood

    async def _send(self) -> None:
        world = self._world
        jobs = world.objects("streamsjobs").values()
        owners = [("Job", job["metadata"]["name"], job["metadata"]["uid"]) for job in jobs]
        uid = world.objects("streamsjobs")[GOOD_JOB]["metadata"]["uid"]
        claim = Claim("default", GOOD_JOB, uid)
        ways = self._ways(
            Person(self._dice, owners),
            Stranger(self._dice, ("default", "elsewhere"), claim),
            Scribe(self._dice, await world.facts()),
        )
        transport = SandboxTransport(world.cluster)
        for number in range(self._count):
            each = self._dice.choice(ways[number % len(ways)])()
            if isinstance(each, NewRecord):
                await world.log.produce([each])
                self._report.counts["records"] += 1
            else:
                await self._ask(transport, each)
            if number % WAVE == WAVE - 1:
                await world.clock.sleep(WAVE_S)

    def _ways(self, person: Person, stranger: Stranger, scribe: Scribe) -> list[list[Way]]:
        """The ways to do harm, objects and records in turn."""
        sides: list[list[Way]] = [
            [way for way in side if not self._only or way.__name__ in self._only]
            for side in ((*person.ways, *stranger.ways), scribe.ways)
        ]
        return [side for side in sides if side]

    async def _ask(self, transport: SandboxTransport, asked: Asked) -> None:
        headers = {"content-type": asked.content_type}
        if asked.foreign:
            phases = self._foreign.setdefault((asked.plural, asked.namespace, asked.name), set())
            phases.update(_phases_in(asked.body))
        try:
            answer = await transport.request(
                asked.method, asked.path, body=asked.body, headers=headers
            )
        except ChassisError as lost:
            self._report.problems.append(f"the API server did not answer {asked}: {lost}")
            return
        if asked.name.startswith(NAME_PREFIX) and answer.status < 300:
            self._odd.append(asked)
        taken = "taken" if answer.status < 300 else "refused"
        self._report.counts[f"requests {taken}"] += 1
        if answer.status >= 500 and TOO_LARGE not in answer.body:
            self._report.problems.append(f"{answer.status} for {asked}: {answer.body[:300]!r}")

    # ------------------------------------------------------------------ what must be so

    def _look_at_services(self) -> None:
        for service, running in self._world._running.items():
            if running.task.done():
                self._report.problems.append(f"{service} has ended")
        self._report.counts["crashes of one key"] += len(self._report.crashes)
        if self._report.crashes and not self._report.counts["records"]:
            worst = Counter(each.strip().splitlines()[-1] for each in self._report.crashes)
            self._report.problems.append(f"crashes: {worst.most_common(5)}")

    def _look_at_writes(self, writes: list[Request]) -> None:
        for write in writes:
            segments = [unquote(each) for each in urlsplit(write.path).path.split("/")]
            if write.method == "POST" or "namespaces" not in segments:
                continue
            place = segments.index("namespaces")
            namespace, plural, *name = segments[place + 1 :]
            whose = (plural, namespace, name[0] if name else "")
            desired = frozenset(self._foreign.get(whose, ()))
            reporters = ("watch-ingest", REFERENCES_REPORTED_BY.get(plural))
            is_status = name[1:] == ["status"]
            # Managed fields that are too large are emptied before a status is written (ADR 21).
            is_emptied = (
                not name[1:] and write.method == "PATCH" and plural in REFERENCES_REPORTED_BY
            )
            is_said = write.service in reporters and (
                (is_status and _is_report(write, desired)) or (is_emptied and _is_emptying(write))
            )
            if name and whose in self._foreign and not is_said:
                self._report.problems.append(f"a foreign object was written: {write}")

    async def _look_at_odd(self) -> None:
        """What nobody can read says so, and nothing else does."""
        reasons: dict[tuple[str, str], set[str]] = {}
        for event in self._world.store.list(self._world.kind("events"), None).items:
            about = event["involvedObject"]
            whose = (about.get("namespace", ""), about["name"])
            reasons.setdefault(whose, set()).add(event["reason"])
        transport = SandboxTransport(self._world.cluster)
        for each in self._odd:
            path = f"{each.path}/{each.name}"
            answer = await transport.request("GET", path, body=None, headers={})
            events = reasons.get((each.namespace, each.name), set())
            if answer.status == 200 and (why := problem_of(each.plural, answer.body, events)):
                self._report.problems.append(f"{path}: {why}")

    def _look_at_jobs(self) -> None:
        listing = self._world.store.list(self._world.kind("streamsjobs"), None)
        for job in listing.items:
            status: Obj = job.get("status") or {}
            meta = job["metadata"]
            self._report.counts[f"Jobs {status.get('phase', 'without a phase')}"] += 1
            if meta.get("deletionTimestamp"):
                continue
            is_told = status.get("phase") and (
                status["phase"] != "Failed" or (status.get("reason") and status.get("message"))
            )
            if not is_told:
                self._report.problems.append(f"Job {meta['name']!r} does not say why: {status}")


def _owned(objects: dict[str, Obj], owners: set[str]) -> list[Obj]:
    """Children that nobody but the services made."""
    return [
        each
        for name, each in objects.items()
        if not name.startswith(NAME_PREFIX)
        and any(owner["uid"] in owners for owner in each["metadata"].get("ownerReferences") or ())
    ]


def _alternating() -> Iterator[int]:
    while True:
        yield from WIDTHS

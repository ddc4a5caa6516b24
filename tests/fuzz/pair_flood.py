"""The flood on the real pair: hostile objects and records beside a good job that lives on.

1. Every service runs as a process; the definitions keep unknown fields (`older_definitions.py`).
   The good job is submitted, resized and deleted some times, alone and beside the same hostile
   objects of a kind that no service watches (`unwatched.py`): what they cost the API server and the
   machine is nothing that a service can mend.
2. Hostile objects are sent until as many as requested were *taken*; the rounds go on meanwhile.
3. Every object that is there says what it must (`telling.py`).
4. Hostile records are appended to the log; the rounds go on meanwhile.
5. Every service is killed, held for seconds, and started again, with all of that there; after each
   the good job has a whole round. The new process of watch-ingest says everything once more.
6. Everything hostile is deleted, and nothing remembers it: tables, queues and Leases are as before,
   and the rounds as well.

In 2 and 4 no process of a service may end. The true definitions are put back at the end, also after
a failure. What is sent follows from the seed; when it is sent does not.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from http import HTTPStatus
from pathlib import Path
from typing import Any

import orjson

from cli.connecting import aclosing_transport
from cli.controlling import ask
from contracts.bundle_format import pack
from services.chassis.kube.http import HttpTransport
from services.chassis.log.bus import NewRecord
from services.chassis.process.errors import ChassisError, Transient
from services.roster import NAMES
from tests.e2e.killing import kill, pids_of, running_pids, start_again
from tests.e2e.running import up
from tests.e2e.watching import System
from tests.fuzz.objects import CORE, Asked
from tests.fuzz.pair_ground import namespaces, older_definitions
from tests.fuzz.pair_log import Log
from tests.fuzz.pair_memory import differences, lines_with, remembered
from tests.fuzz.pair_report import FloodRequest, PairReport
from tests.fuzz.rounds import BUNDLE, GoodJob, NotRight
from tests.fuzz.storable import Claim, Stranger
from tests.fuzz.telling import problem_of
from tests.fuzz.unwatched import unwatched, unwatched_kind
from tests.patience import patient
from tests.places import ROOT
from tests.real.faults.processes import tracebacks, until_ready

SENDERS = 4
OBJECTS_PER_S = 10.0
"""Some times what a busy cluster sees; more would measure the API server."""
RECORDS_PER_S = 50.0
ATTEMPTS_PER_OBJECT = 4
HELD_S = 4.0
"""SIGSTOP for less than a Lease lasts: nobody else may take over."""
TOLD_S_MAX = patient(240.0)
FORGOTTEN_S_MAX = patient(240.0)
POLL_S = 1.0
TOO_LARGE = (b"request is too large", b"message larger than max")
"""How kube-apiserver says, with 500, that etcd does not take an object."""
COMPARED = ("objects", "records", "after")
Say = Callable[[str], None]


async def flood_pair(folder: Path, wish: FloodRequest, say: Say) -> PairReport:
    """Flood the pair of $MILLRACE_KUBECONFIG; what was found."""
    report = PairReport()
    try:
        with up(folder, real=True) as system:
            (system.bundles / BUNDLE).write_bytes(pack(_example()))
            (system.bundles / "garbage.sab").write_bytes(random.Random(wish.seed).randbytes(4_000))
            async with (
                aclosing_transport(system.kubeconfig) as transport,
                older_definitions(transport),
                namespaces(transport) as names,
                Log.of(system) as log,
            ):
                await PairFlood(system, transport, log, names, wish, report, say).run()
            # What a record says that no API server ever says crashes the key that it is about.
            report.problems += [each for each in tracebacks(system) if "_crashed" not in each]
    except (AssertionError, NotRight, ChassisError) as broken:
        report.problems.append(f"{type(broken).__name__}: {broken}"[:2_000])
    return report


def _example() -> bytes:
    (path,) = (ROOT / "examples" / "wordcount").glob("*.adl")
    return path.read_bytes()


class PairFlood:
    """One run on a system that is up."""

    def __init__(
        self,
        system: System,
        transport: HttpTransport,
        log: Log,
        names: tuple[str, str],
        wish: FloodRequest,
        report: PairReport,
        say: Say,
    ) -> None:
        self._system = system
        self._transport = transport
        self._log = log
        self._wish = wish
        self._report = report
        self._began_s = time.monotonic()
        self._say = say
        self._names = names
        self._claim = Claim(names[0], "good")
        self._dice = random.Random(wish.seed)
        self._stranger = Stranger(self._dice, names, self._claim)
        self._good = GoodJob(transport, names[0], self._know)
        self._taken: list[Asked] = []
        self._unknown: list[Asked] = []

    def _know(self, uid: str) -> None:
        self._claim.uid = uid

    def _tell(self, line: str) -> None:
        self._say(f"{time.monotonic() - self._began_s:5.0f} s  {line}")

    async def run(self) -> None:
        """All of it, in order."""
        await self._good.round()  # a first one fills caches, and is not counted
        before = await remembered(self._pids())
        await self._rounds("alone", self._wish.rounds)
        await self._beside_unwatched()
        try:
            if self._wish.objects:
                await self._beside("objects", self._send_objects)
                await self._until_told()
                self._report.problems += tracebacks(self._system)
            if self._wish.records:
                await self._beside("records", self._send_records)
            await self._hurt()
        finally:
            await self._delete_everything()
        await self._forget(before)
        await self._rounds("after", max(2, self._wish.rounds // 2))
        self._compare()

    # ------------------------------------------------------------------ rounds

    async def _rounds(self, when: str, count: int) -> None:
        found = self._report.rounds.setdefault(when, [])
        for _ in range(count):
            found.append(await self._good.round())
            self._tell(f"{when}: the good job took {found[-1]}")

    async def _beside(self, what: str, send: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Rounds go on until all is sent; at least two are counted, and no process ends."""
        pids = self._pids()
        sending = asyncio.create_task(send())
        try:
            while not sending.done() or len(self._report.rounds.get(what, ())) < 2:
                await self._rounds(what, 1)
                self._tell(self._counts())
            await sending
        finally:
            sending.cancel()
        if self._pids() != pids:
            self._report.problems.append(f"{what}: a process ended: {pids} became {self._pids()}")

    def _pids(self) -> Mapping[str, Sequence[int]]:
        return {service: pids_of(self._system, service) for service in NAMES}

    def _compare(self) -> None:
        limit = self._wish.slower_max
        for when, rounds in self._report.rounds.items():
            measure = "unwatched" if when == "objects" else "alone"
            if not limit or when not in COMPARED:
                continue
            slowest_s = max(each.took_s for each in self._report.rounds[measure])
            for each in rounds:
                if each.took_s > limit * slowest_s:
                    said = f"{when}: a round took {each}, the slowest {measure} {slowest_s:.1f} s"
                    self._report.problems.append(said)

    def _counts(self) -> str:
        return ", ".join(f"{count:,} {what}" for what, count in sorted(self._report.counts.items()))

    # ------------------------------------------------------------------ objects

    async def _beside_unwatched(self) -> None:
        """As many of the same objects, as many a second, of a kind that no service watches."""
        if not (self._wish.slower_max and self._wish.objects):
            return
        stranger = Stranger(random.Random(self._wish.seed), self._names, self._claim)
        sent: Counter[int] = Counter()

        async def send() -> None:
            while True:
                made = self._dice.choice(stranger.ways)()
                if b'"finalizers"' not in made.body:  # nobody would take them off
                    status, _ = await self._ask(unwatched(made, self._names[1]))
                    sent[status] += 1
                await asyncio.sleep(SENDERS / OBJECTS_PER_S)

        async with unwatched_kind(self._transport):
            sending = [asyncio.create_task(send()) for _ in range(SENDERS)]
            try:
                await self._rounds("unwatched", self._wish.rounds)
                for _ in range(self._wish.objects):
                    if sent[HTTPStatus.CREATED] >= self._wish.objects:
                        break
                    await self._rounds("unwatched", 1)
                else:
                    self._report.problems.append(f"unwatched objects were not taken: {sent}")
            finally:
                for each in sending:
                    each.cancel()
                await asyncio.wait(sending)

    async def _send_objects(self) -> None:
        wanted = self._wish.objects
        attempts = iter(range(wanted * ATTEMPTS_PER_OBJECT))
        ways = [
            way
            for way in self._stranger.ways
            if not self._wish.only or way.__name__ in self._wish.only
        ]

        async def one_after_another() -> None:
            for _ in attempts:
                if self._report.counts["objects taken"] >= wanted:
                    return
                await self._send(self._dice.choice(ways)())
                await asyncio.sleep(SENDERS / OBJECTS_PER_S)

        async with asyncio.TaskGroup() as group:
            for _ in range(SENDERS):
                group.create_task(one_after_another())
        taken = self._report.counts["objects taken"]
        if taken < wanted:
            self._report.problems.append(f"only {taken} of {wanted} objects were taken")

    async def _send(self, made: Asked) -> None:
        status, said = await self._ask(made)
        if not status:
            self._unknown.append(made)
            return
        if status >= 300:
            self._report.counts["objects refused"] += 1
            if status >= 500 and not any(word in said for word in TOO_LARGE):
                self._report.problems.append(f"{status} for {made.path}: {said[:300]!r}")
            return
        self._report.counts["objects taken"] += 1
        self._taken.append(made)
        for later in self._stranger.afterwards(made):
            await self._ask(later)

    async def _ask(self, asked: Asked) -> tuple[int, bytes]:
        """The answer; status 0 where none came in time."""
        headers = {"content-type": asked.content_type}
        try:
            answer = await self._transport.request(
                asked.method, asked.path, body=asked.body, headers=headers
            )
        except Transient:
            self._report.counts["requests without an answer"] += 1
            return 0, b""
        return answer.status, answer.body

    # ------------------------------------------------------------------ what they say

    async def _until_told(self) -> None:
        """Wait until every object says what it must."""
        end_s = time.monotonic() + TOLD_S_MAX
        waiting = list(self._taken)
        while True:
            reasons = await self._event_reasons()
            problems = [(each, await self._problem(each, reasons)) for each in waiting]
            waiting = [each for each, problem in problems if problem]
            self._tell(f"{len(waiting)} objects do not say yet what they must")
            if not waiting:
                return
            if len(waiting) < 4:
                for each, why in problems:
                    if why:
                        self._tell(f"  {each.path}/{each.name}: {why}"[:400])
            if time.monotonic() > end_s:
                told = [f"{each.path}/{each.name}: {why}" for each, why in problems if why]
                self._report.problems += [f"{len(told)} objects do not say why", *told[:10]]
                return
            await asyncio.sleep(POLL_S)

    async def _problem(self, made: Asked, reasons: Mapping[tuple[str, str], set[str]]) -> str:
        answer = await self._transport.request(
            "GET", f"{made.path}/{made.name}", body=None, headers={}
        )
        if answer.status == 404:  # its owner was deleted, or its job
            return ""
        said = reasons.get((made.namespace or "default", made.name), set())
        return problem_of(made.plural, answer.body, said)

    async def _event_reasons(self) -> Mapping[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        for namespace in {*(each.namespace or "default" for each in self._taken)}:
            path = f"{CORE}/namespaces/{namespace}/events"
            answer = await self._transport.request("GET", path, body=None, headers={})
            for event in orjson.loads(answer.body)["items"]:
                name = event["involvedObject"].get("name", "")
                found.setdefault((namespace, name), set()).add(event.get("reason", ""))
        return found

    # ------------------------------------------------------------------ records

    async def _send_records(self) -> None:
        scribe = await self._log.scribe(self._dice)
        ways = [
            way for way in scribe.ways if not self._wish.only or way.__name__ in self._wish.only
        ]
        for number in range(self._wish.records if ways else 0):
            record: NewRecord = self._dice.choice(ways)()
            await self._log.append(record)
            self._report.counts["records"] += 1
            if number % 10 == 9:
                await asyncio.sleep(10 / RECORDS_PER_S)

    # ------------------------------------------------------------------ faults

    async def _hurt(self) -> None:
        hurting = {"kill": self._kill, "hold": self._hold, "restart": self._restart}
        for word in self._wish.faults:
            for service in NAMES:
                await hurting[word](service)
                await self._rounds(word, 1)

    async def _kill(self, service: str) -> None:
        kill(self._system, service)
        await start_again(self._system, service)

    async def _hold(self, service: str) -> None:
        pids = running_pids(self._system, service)
        try:
            for pid in pids:
                os.kill(pid, signal.SIGSTOP)
            await asyncio.sleep(HELD_S)
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGCONT)

    async def _restart(self, service: str) -> None:
        await ask(self._system.state, "stop", service)
        await ask(self._system.state, "start", service)

    # ------------------------------------------------------------------ afterwards

    async def _delete_everything(self) -> None:
        await self._good.delete()
        waiting = iter([*self._taken, *self._unknown])

        async def one_after_another() -> None:
            for made in waiting:
                await self._delete(made)

        async with asyncio.TaskGroup() as group:
            for _ in range(SENDERS):
                group.create_task(one_after_another())
        self._tell("everything is deleted")

    async def _delete(self, made: Asked) -> None:
        """Also where a finalizer is added while it goes: services have some of their own."""
        whole = f"{made.path}/{made.name}"
        parts = (made.plural, made.name, made.namespace, made.foreign)
        free = b'{"metadata":{"finalizers":null}}'
        for _ in range(20):
            status, said = await self._ask(Asked("DELETE", whole, b"{}", *parts))
            if status == 404:
                return
            await self._ask(Asked("PATCH", whole, free, *parts))
        self._report.problems.append(f"{whole} is not deleted: {said[:300]!r}")

    async def _forget(self, before: Mapping[str, float]) -> None:
        """What was only ever in the log is forgotten at the next full resync."""
        if self._wish.records:
            await self._restart("watch-ingest")
            await until_ready(self._system)
        end_s = time.monotonic() + FORGOTTEN_S_MAX
        while more := differences(before, await remembered(self._pids())):
            if time.monotonic() > end_s:
                self._report.problems.append(f"something is remembered: {more}")
                break
            await asyncio.sleep(POLL_S)
        self._tell("nothing is remembered" if not more else f"remembered: {more}")
        lost = lines_with(self._system, "lease_lost")
        if lost:
            self._report.problems.append(f"a Lease was lost: {lost[:3]}")

"""Answers what millrace's own runtime requests: peers and hand-overs, reports, bundles."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus

from contracts import labels
from contracts.losses import LaunchLoss
from contracts.moments import moment_of
from contracts.resources import Connectivity
from contracts.showing import shown
from millrace.protocol import Seen
from services.chassis.process.clock import Clock
from services.pe_gateway.adapters.bundle_files import BundleFiles
from services.pe_gateway.adapters.lookups import Lookups
from services.pe_gateway.adapters.reporting import Reports
from services.pe_gateway.adapters.watching import About, Topic, Watching
from services.pe_gateway.core import answers
from services.pe_gateway.core.answers import Answer, not_found, unavailable
from services.pe_gateway.core.effects import Effect
from services.pe_gateway.core.losses import is_counted
from services.pe_gateway.core.reports import (
    LOST,
    SEALED,
    counting_values,
    heard_values,
    is_recorded,
    loss_of_former,
)
from services.pe_gateway.core.runtime_requests import (
    WORD_CHARS_MAX,
    ReadBundle,
    ReadRuntime,
    ReportRuntime,
)
from services.pe_gateway.core.runtime_views import view_of
from services.pe_gateway.core.snapshot import LossesKey, Pe, Report
from services.pe_gateway.core.trusting import (
    Departed,
    Sender,
    is_former,
    over,
    require_launch,
    require_own,
    require_own_job,
)


class RuntimeAnswers:
    """The answers of one instance."""

    def __init__(
        self,
        table: Lookups,
        clock: Clock,
        reports: Reports,
        watching: Watching,
        bundles: BundleFiles,
        write: Callable[[str, Callable[[], Effect | None]], Awaitable[Answer]],
    ) -> None:
        self._table = table
        self._clock = clock
        self._reports = reports
        self._watching = watching
        self._bundles = bundles
        self._write = write
        self._hears_since: float | None = None

    async def read(self, sender: Sender, request: ReadRuntime) -> Answer:
        """What a PE needs of its job, at once or when it is another than the PE has seen."""
        self._hear()
        look, until = request.look, self._clock.monotonic() + request.look.wait_s
        while True:
            view = self._view(sender, request)
            left_s = until - self._clock.monotonic()
            if view.version != look.seen:
                return Answer(HTTPStatus.OK, view.body, answers.JSON)
            if left_s <= 0 or not await self._wait(sender, request, left_s):
                return answers.unchanged()

    def _view(self, sender: Sender, request: ReadRuntime) -> Seen:
        job = self._table.job(sender.namespace, request.job)
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        require_own(sender, pe)
        addresses = {
            peer: self._table.address(sender.namespace, request.job, peer)
            for peer in request.look.peers
        }
        left = self._table.without_pe(sender.namespace, request.job, request.look.former)
        return view_of(job, pe, sender.launch, addresses, left)

    async def _wait(self, sender: Sender, request: ReadRuntime, wait_s: float) -> bool:
        of_job = (sender.namespace, request.job)
        topics = [
            Topic(About.JOB, *of_job),
            Topic(About.PE, *of_job, request.pe),
            *(Topic(About.ADDRESS, *of_job, peer) for peer in request.look.peers),
        ]
        waiter = (*of_job, request.pe, sender.launch)
        return await self._watching.changed(waiter, topics, wait_s)

    async def report(self, sender: Sender, request: ReportRuntime) -> Answer:
        """A report. That a state is saved, or all is connected, is answered when it is recorded.

        Of a launch that has a successor only what it lost counts.
        """
        pe = self._table.pe(sender.namespace, request.job, request.pe)
        require_own(sender, pe)
        if LOST in dict(request.values) and is_former(sender, pe, request.launch):
            loss = _loss_of(request, pe.uid, self._clock.now())
            return await self._record_loss(sender.namespace, pe.name, pe.job_uid, loss)
        require_launch(sender, pe, request.launch)
        values = counting_values(
            request.values, pe, request.launch, reads_from_start=request.reads_from_start
        )
        self._hear()
        report = Report(
            pe_uid=pe.uid,
            connectivity=request.connectivity,
            launch=request.launch,
            before=pe.connectivity if request.launch == pe.launch else "",
            at=self._clock.now(),
            runtime=heard_values(values, self._hears_s()),
            lost_why=request.why,
        )
        is_counted = self._count_loss(pe, request)
        if is_counted and self._reports.waiting(pe) is None and is_recorded(report, pe):
            return answers.done()
        self._reports.enter(pe, report)
        if SEALED in dict(request.values) or request.connectivity is Connectivity.FULL:
            await self._reports.recorded(pe.key)
            return answers.done()
        return answers.taken()

    def _hear(self) -> None:
        """A PE asks or reports: from the first time on this instance hears PEs."""
        if self._hears_since is None:
            self._hears_since = self._clock.monotonic()

    def _hears_s(self) -> float:
        """How long this instance has heard PEs."""
        since = self._hears_since
        return 0.0 if since is None else self._clock.monotonic() - since

    async def of_departed(self, sender: Departed, request: object) -> Answer:
        """The answer to a launch whose PE is deleted: only what it lost counts.

        If the job is deleted, not even that does. Raises Refused: 409, or 410 without the job.
        """
        if not isinstance(request, ReportRuntime) or not _is_taken(sender, request):
            raise over(sender)
        loss = _loss_of(request, sender.pe_uid, self._clock.now())
        return await self._record_loss(sender.namespace, sender.pe, sender.job_uid, loss)

    def _count_loss(self, pe: Pe, request: ReportRuntime) -> bool:
        """Let a loss count for the job, where it is one; whether there is nothing to wait for."""
        if LOST not in dict(request.values):
            return True
        now = self._clock.now()
        loss = _loss_of(request, pe.uid, now)
        known = self._table.losses(pe.namespace, pe.job, pe.job_uid)
        living = partial(self._table.living, pe.namespace, pe.job)
        if known is None or is_counted(known, loss, living, now):
            return True
        self._reports.enter_loss(LossesKey(pe.namespace, pe.job), pe.job_uid, loss, now)
        return False

    async def _record_loss(
        self, namespace: str, name: str, job_uid: str, loss: LaunchLoss
    ) -> Answer:
        """An Event, and the status of the Job: that of the PE has no place for it any more."""
        answer = await self._write(namespace, lambda: loss_of_former(name, loss))
        key = LossesKey(namespace, name.rpartition("-")[0])
        if self._table.losses(namespace, key.name, job_uid) is None:
            return answer
        self._reports.enter_loss(key, job_uid, loss, self._clock.now())
        await self._reports.loss_recorded(key, loss.key)
        return answer

    async def bundle(self, sender: Sender, request: ReadBundle) -> Answer:
        """The bundle of a job of the sender. Raises Refused: 404 where it is not reached."""
        require_own_job(sender, request.job)
        name, digest = self._table.job(sender.namespace, request.job).bundle
        if not digest:
            raise unavailable(f"the status of job {request.job} names no bundle yet")
        path = await self._bundles.find(name, digest)
        if path is None:
            raise not_found(
                f"the bundle of job {request.job} (SHA-256 {digest}) is not where pe-gateway"
                f" looks: {self._bundles.places}"
            )
        return answers.file(str(path), f'"{digest}"')


def _loss_of(request: ReportRuntime, uid: str, now: float) -> LaunchLoss:
    moment = moment_of(now)
    tuples = int(dict(request.values)[LOST])
    why = shown(request.why, WORD_CHARS_MAX)
    return LaunchLoss(request.pe, uid, request.launch, tuples, moment, moment, why)


def _is_taken(sender: Departed, request: ReportRuntime) -> bool:
    is_own = labels.pe_name(request.job, request.pe) == sender.pe
    is_loss = request.launch == sender.launch and LOST in dict(request.values)
    return is_own and is_loss and sender.has_job

"""Submits jobs: the bundle is checked, put into the bundle root, and named by a new Job.

1. Nothing is written unless the bundle is valid, its plan is one that fusion-backend would accept
   (regions, widths, values, fusion, hosts), no job has the name, and no other bundle is in its
   place.
2. If the API server then refuses something, what this submit wrote is removed: a bundle, or the
   former one is back; a volume claim. What was there before, or what another submit has begun to
   use since, is not touched.
3. If it is not known whether the Job was created, the bundle stays: the Job would need it.
"""

from __future__ import annotations

import asyncio
import fcntl
import hashlib
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from cli.connecting import JOBS, Cluster
from cli.failing import CannotReach, Failure, Misused
from cli.jobs import fusion_of, job_name_for, pair_of, region_width_of
from cli.phrasing import with_option_names
from cli.showing import print_lines
from cli.stores import ensure_claim, template_of
from services.chassis.kube.port import Json
from services.chassis.process.errors import AlreadyExists, NotFound, Rejected, Transient

KEPT_S_MAX: Final = 10.0
"""After Ctrl-C, how long a create that was sent may take to be answered."""


@dataclass(frozen=True, slots=True)
class Submission:
    """The arguments and options of `millrace submit`, not parsed yet."""

    bundle: Path
    name: str = ""
    namespace: str = "default"
    fusion: str = ""
    widths: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    spec: dict[str, Any] = field(default_factory=dict)
    runtime_image: str = ""
    store: str = ""


def manifest_of(submission: Submission, *, is_python: bool = False) -> Json:
    """The Job to create; raises Misused if an option cannot be parsed.

    The image of the runtime is for an application in Python whose spec names none.
    """
    spec: Json = {"bundle": {"name": submission.bundle.name}, **submission.spec}
    if is_python and submission.runtime_image:
        template = spec.get("processingElement") or {}
        spec["processingElement"] = {"image": submission.runtime_image, **template}
    if submission.store:
        template = spec.get("processingElement") or {}
        spec["processingElement"] = {**template, **template_of(submission.store)}
    if submission.fusion:
        spec["fusion"] = fusion_of(submission.fusion)
    widths = [region_width_of("--width", words) for words in submission.widths]
    if widths:
        spec["parallelRegions"] = [{"alias": alias, "width": width} for alias, width in widths]
    params = dict(pair_of("--param", words) for words in submission.params)
    if params:
        spec["submissionTimeValues"] = params
    return {
        "apiVersion": JOBS.api_version,
        "kind": JOBS.kind,
        "metadata": {
            "name": submission.name or job_name_for(submission.bundle),
            "namespace": submission.namespace,
        },
        "spec": spec,
    }


async def submit(
    cluster: Cluster, submission: Submission, root: Path | None, *, force: bool = False
) -> str:
    """Create the Job; returns its name. Raises Failure with the API server's message.

    `force`: another bundle of this name in the bundle root is replaced.
    """
    name = str(manifest_of(submission)["metadata"]["name"])
    content, is_python = checked_content(submission.bundle)
    manifest = manifest_of(submission, is_python=is_python)
    root = bundle_root(cluster, root)
    await _refuse_existing(cluster, submission.namespace, name)
    refuse_plan(manifest, submission.bundle)
    async with AsyncExitStack() as undoing:
        if submission.store:
            await ensure_claim(cluster, submission.namespace, submission.store, undoing)
        undoing.callback(put_bundle(submission.bundle.name, content, root, force=force))
        await _created(cluster, submission.namespace, manifest, undoing)
    return name


def refuse_plan(manifest: Json, bundle: Path) -> None:
    """Raise Failure if fusion-backend would refuse the Job: what it knows is known here, too."""
    from cli.manifests import request_of_job  # the planner: other commands start without it
    from planner.drafting import draft
    from planner.refusals import PlanRefused

    try:
        draft(request_of_job(manifest, bundle))
    except PlanRefused as refusal:
        message = with_option_names(refusal.message)
        raise Failure(f"the job was refused: {refusal.code}: {message}") from None


async def _created(
    cluster: Cluster, namespace: str, manifest: Json, undoing: AsyncExitStack
) -> None:
    """Create the Job. Raises Failure if it is refused, CannotReach if that is not known.

    Nothing is undone unless the Job does not exist. Ctrl-C does not cut the request: whether the
    Job exists is known afterwards.
    """
    name = manifest["metadata"]["name"]
    creating = asyncio.ensure_future(cluster.kube.create(JOBS, namespace, manifest))
    try:
        try:
            await asyncio.shield(creating)
        except asyncio.CancelledError:
            await asyncio.wait({creating}, timeout=KEPT_S_MAX)
            if not creating.done():
                creating.cancel()
                undoing.pop_all()
                raise _unknown(name, "the Kubernetes API has not answered") from None
            creating.result()
            undoing.pop_all()
            print_lines(goes_on(name))
            raise
    except AlreadyExists:
        raise _exists(name) from None
    except Rejected as refused:
        raise Failure(f"the job was refused: {refused.message}") from None
    except Transient as away:
        if away.outcome_unknown:
            undoing.pop_all()
            raise _unknown(name, str(away)) from None
        raise Failure(f"the job was not created: the Kubernetes API is away: {away}") from None
    undoing.pop_all()


def goes_on(job: str) -> str:
    """The line after a Ctrl-C."""
    return (
        f"job {job} is submitted, and goes on without this command: `millrace get {job}` "
        f"shows it, `millrace delete {job}` ends it"
    )


def _unknown(name: str, problem: str) -> CannotReach:
    return CannotReach(
        f"it is not known whether job {name} was created: {problem}. `millrace get {name}` shows "
        f"it if it was; else submit it again"
    )


def checked_content(bundle: Path) -> tuple[bytes, bool]:
    """The bytes of a bundle, and whether its application is in Python.

    Raises Misused if it cannot be read, Failure if it is not valid.
    """
    from cli.bundles import checked_bundle  # reads XML: other commands start without it

    content, found = checked_bundle(bundle)
    if found.problems:
        first, *others = (each.message for each in found.problems)
        raise Failure(f"{bundle} cannot be submitted: {first}", *others)
    return content, found.is_python


def bundle_root(cluster: Cluster, given: Path | None) -> Path:
    """The folder from which the cluster takes bundles. Raises Misused if it is not known."""
    known = cluster.up.bundle_root if cluster.up is not None else None
    root = known or given
    if root is None:
        raise Misused(
            f"the current context of {cluster.kubeconfig} is not of a `millrace up`, so the bundle "
            "root is not known. Say --bundles DIR, the bundle root of the cluster's fusion-backend."
        )
    if given is not None and given.resolve() != root.resolve():
        raise Misused(
            f"--bundles {given} is not the bundle root of this cluster, which is {root}. Leave "
            "--bundles out."
        )
    if not root.is_dir():
        raise Misused(f"the bundle root {root} is not a folder, so no fusion-backend reads it")
    return root


def put_bundle(name: str, content: bytes, root: Path, *, force: bool = False) -> Callable[[], None]:
    """Write a bundle atomically into the bundle root.

    Returns what puts back what was there before, unless another submit has put this bundle there,
    too: its job needs it. Raises Failure if another one is there, except with `force`; Misused if
    it cannot be written.
    """
    target, before = root / name, None
    try:
        with _locked(root):
            if target.is_file():
                before = target.read_bytes()
                if before == content:
                    with suppress(OSError):
                        _write(target, content)  # a new file: the other submit sees that it is used
                    return lambda: None
                if not force:
                    raise Failure(
                        f"another bundle {name} is in {root}: jobs that name it would be retried "
                        "with this one. Say --force to replace it, or give your file another name."
                    )
            _write(target, content)
            written = _identity_of(target)
    except OSError as problem:
        raise Misused(f"{target} cannot be written: {problem.strerror}") from None

    def put_back() -> None:
        with suppress(OSError), _locked(root):
            if _identity_of(target) != written:
                return
            if before is None:
                target.unlink()
            else:
                _write(target, before)

    return put_back


@contextmanager
def _locked(root: Path) -> Iterator[None]:
    """One submit at a time looks at a bundle and writes it. Raises OSError."""
    folder = os.open(root, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        yield
    finally:
        os.close(folder)


def _identity_of(target: Path) -> tuple[int, int]:
    """The file itself, whatever its content: an inode may come again, but not at the same time."""
    found = target.stat()
    return found.st_ino, found.st_mtime_ns


def _write(target: Path, content: bytes) -> None:
    """Replace a bundle as a whole."""
    root = target.parent
    draft = root / f".{hashlib.sha256(content).hexdigest()[:16]}.draft"
    try:
        draft.write_bytes(content)
        # As private as its folder, which may be in a --state: who may enter it may read the file.
        draft.chmod(draft.stat().st_mode & (root.stat().st_mode | stat.S_IRWXU) & 0o777)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


async def _refuse_existing(cluster: Cluster, namespace: str, name: str) -> None:
    """Before the bundle is written: a job of that name would run another one after a retry."""
    try:
        await cluster.kube.get(JOBS, namespace, name)
    except NotFound:
        return
    except Rejected as refused:
        raise Failure(f"the job was refused: {refused.message}") from None
    raise _exists(name)


def _exists(name: str) -> Failure:
    return Failure(
        f"a job {name} exists already. Say another --name, or `millrace delete {name}` first."
    )

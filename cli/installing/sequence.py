"""What `millrace install`, `upgrade` and `uninstall` do, in order.

1. Check that it can be done before anything is written (`checking.py`).
2. Write the inventory: all objects that there may be from now on.
3. Definitions, until they are served. Accounts, rights, policies, volumes, Kafka of a trial.
4. The gate: the Job that makes topics, until it is done. It is made again each time.
5. Deployments, until each runs what was applied.
6. What the release before had and this one has not goes. The inventory is complete.

Whatever ends it in between, the same command goes on from there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

from cli.failing import CannotReach, Failure, Misused, TimedOut
from cli.installing.checking import ask_rights, newer_definitions, refuse_foreign, refuse_helms
from cli.installing.cluster import Target
from cli.installing.diagnosing import (
    Trouble,
    is_final,
    is_ready,
    job_state,
    trouble_of_workload,
    troubles_of_pods,
)
from cli.installing.filling import Wanted, application_version, manifest_of
from cli.installing.objects import (
    INVENTORY,
    SELECTOR,
    Inventory,
    Ref,
    in_order,
    inventory_object,
    inventory_of,
    is_gate,
    left,
    ref_of,
    to_delete,
)

Json = dict[str, Any]
Say = Callable[[str], None]

LOOK_EVERY_S: Final = 1.0
TROUBLE_S_MAX: Final = 45.0
"""How long a pod may have the same trouble: an image may be pushed late, a Secret made late."""
KAFKA_AWAY: Final = 3
"""Exit code of `millrace topics` where no broker answers."""
_WAITED_FOR: Final = ("StatefulSet", "Deployment")


@dataclass(frozen=True, slots=True)
class Waiting:
    """How long to wait in all, and where to report."""

    timeout_s: float
    say: Say


async def installed(target: Target, namespace: str) -> Inventory | None:
    """The inventory of a namespace. Raises Failure for one that cannot be read."""
    found = await target.get(Ref("ConfigMap", namespace, INVENTORY))
    if found is None:
        return None
    try:
        return inventory_of(found)
    except ValueError as problem:
        raise Failure(str(problem)) from None


async def install(target: Target, wanted: Wanted, waiting: Waiting) -> None:
    """Install, or go on with an installation that was interrupted. Raises Failure."""
    before = await installed(target, wanted.namespace)
    if before is not None and before.is_complete and before.wanted != wanted:
        raise Failure(
            f"millrace {before.version} is installed in namespace {wanted.namespace} with other "
            "options: `millrace upgrade` changes them"
        )
    await refuse_helms(target, wanted.namespace)
    await _carry_out(target, wanted, before, waiting)
    waiting.say(f"millrace {application_version()} runs in namespace {wanted.namespace}")


async def upgrade(target: Target, wanted: Wanted, waiting: Waiting) -> None:
    """Apply this release over the one before, and delete what only that one had."""
    before = await installed(target, wanted.namespace)
    if before is None:
        raise Misused(
            f"no millrace is installed in namespace {wanted.namespace}: `millrace install` does it"
        )
    await _carry_out(target, wanted, before, waiting)
    waiting.say(
        f"millrace {before.version} in namespace {wanted.namespace} is {application_version()} now"
    )


async def uninstall(target: Target, namespace: str, waiting: Waiting) -> None:
    """Delete everything but definitions and data. Raises Failure."""
    before = await installed(target, namespace)
    if before is None:
        waiting.say(f"no millrace is installed in namespace {namespace}")
        return
    await _delete_own(target, before.refs, "deleted {}", "everything is gone", waiting)
    await target.delete(Ref("ConfigMap", namespace, INVENTORY))
    kept = left(before.refs)
    if kept:
        waiting.say("left, with all Jobs and their data:")
        for ref in kept:
            waiting.say(f"  {ref}")
    waiting.say(f"  Namespace {namespace}")
    if before.wanted.profile != "trial":  # its Kafka is gone
        waiting.say("  the topics on Kafka")


# ------------------------------------------------------------------ the steps


async def _carry_out(
    target: Target, wanted: Wanted, before: Inventory | None, waiting: Waiting
) -> None:
    documents = in_order(manifest_of(wanted))
    refs = frozenset(map(ref_of, documents))
    await ask_rights(target, refs)
    await refuse_foreign(target, refs)
    newer = await newer_definitions(target, documents)
    namespace = {
        "apiVersion": "v1",
        "kind": "Namespace",
        "metadata": {"name": wanted.namespace},
    }
    if await target.get(Ref("Namespace", "", wanted.namespace)) is None:
        await target.apply(namespace)
    old = before.refs if before is not None else frozenset()
    begun = Inventory(wanted, application_version(), is_complete=False, refs=refs | old)
    await target.apply(inventory_object(begun))
    gates = [each for each in documents if is_gate(each)]
    services = [each for each in documents if each["kind"] == "Deployment"]
    first = [each for each in documents if each not in gates and each not in services]
    for document in first:
        if (version := newer.get(ref_of(document))) is None:
            await target.apply(document)
        else:
            waiting.say(f"kept {ref_of(document)}, which is of the newer release {version}")
    definitions = [each for each in first if each["kind"] == "CustomResourceDefinition"]
    await _until(lambda: _not_served(target, definitions), "definitions are served", waiting)
    await _until_ready(target, wanted.namespace, first, waiting)
    for gate in gates:
        await _pass(target, gate, waiting)
    for document in services:
        await target.apply(document)
    await _until_ready(target, wanted.namespace, services, waiting)
    words = "deleted {}, which this release does not have"
    await _delete_own(target, old - refs, words, "what was deleted is gone", waiting)
    await target.apply(inventory_object(replace(begun, is_complete=True, refs=refs)))


async def _pass(target: Target, gate: Json, waiting: Waiting) -> None:
    """Make the Job, once the one before is gone, and wait for its end. Raises Failure."""
    ref = ref_of(gate)
    await target.delete(ref)
    await _until(lambda: _still_there(target, [ref]), f"the earlier {ref} is gone", waiting)
    await target.apply(gate)
    selector = f"batch.kubernetes.io/job-name={ref.name}"

    async def problem() -> str:
        job = await target.get(ref)
        state = job_state(job) if job is not None else "Failed"
        if state == "Complete":
            return ""
        troubles = troubles_of_pods(await target.list_of("Pod", ref.namespace, selector))
        if state == "Failed":
            raise await _failure_of(target, ref.namespace, f"{ref} failed", troubles)
        if troubles and any(each.exit_code == KAFKA_AWAY for each in troubles):
            raise await _failure_of(target, ref.namespace, "Kafka is not reached", troubles)
        return "; ".join(each.sentence for each in troubles) or f"{ref} runs"

    await _until(problem, f"topics are made ({ref})", waiting)


async def _until_ready(
    target: Target, namespace: str, documents: Iterable[Json], waiting: Waiting
) -> None:
    """Wait for workloads. Raises TimedOut, or Failure if a pod cannot get well by itself."""
    refs = [ref_of(each) for each in documents if each["kind"] in _WAITED_FOR]
    if not refs:
        return
    since: dict[str, float] = {}
    loop = asyncio.get_running_loop()

    async def problem() -> str:
        found = [await target.get(ref) for ref in refs]
        workloads = [each for each in found if each is not None]
        late = [each for each in workloads if not is_ready(each)]
        if not late and len(workloads) == len(refs):
            return ""
        pods = await target.list_of("Pod", namespace, SELECTOR)
        troubles = [*filter(None, map(trouble_of_workload, late)), *troubles_of_pods(pods)]
        now_s = loop.time()
        for each in troubles:
            began_s = since.setdefault(each.sentence, now_s)
            lasts = not each.may_pass and now_s - began_s > TROUBLE_S_MAX
            if is_final(each) or lasts:
                raise await _failure_of(target, namespace, "the services do not start", [each])
        names = ", ".join(each["metadata"]["name"] for each in late)
        why = "".join(f"; {each.sentence}" for each in troubles[:1])
        return f"{len(refs) - len(late)} of {len(refs)} are ready, {names} not yet{why}"

    await _until(problem, "services are ready", waiting)


async def _failure_of(
    target: Target, namespace: str, what: str, troubles: list[Trouble]
) -> Failure:
    """The failure with the end of the log of what ended; the exit code says if Kafka is away."""
    below: list[str] = []
    for each in troubles[:1]:
        below.append(each.sentence)
        if each.log_of:
            below += await target.last_lines(namespace, each.pod, each.log_of)
    kind = CannotReach if any(each.exit_code == KAFKA_AWAY for each in troubles) else Failure
    return kind(f"{what}:" if below else what, *below, "The same command goes on from here.")


async def _not_served(target: Target, definitions: Iterable[Json]) -> str:
    for each in definitions:
        spec = each["spec"]
        version = next(item["name"] for item in spec["versions"] if item["storage"])
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
        if not await target.serves(path):
            return f"{each['metadata']['name']} is not served"
    return ""


async def _delete_own(
    target: Target, refs: Iterable[Ref], words: str, end: str, waiting: Waiting
) -> None:
    """Delete what an installation made, and wait until it is gone. Raises Failure, TimedOut.

    `words` report each deletion, with {} for the object; `end` says what is waited for.
    """
    going = [ref for ref in to_delete(refs) if await target.has_own(ref)]
    for ref in going:
        if await target.delete(ref):
            waiting.say(words.format(ref))
    await _until(lambda: _still_there(target, going), end, waiting)


async def _still_there(target: Target, refs: Iterable[Ref]) -> str:
    for ref in refs:
        if await target.get(ref) is not None:
            return f"{ref} is still there"
    return ""


async def _until(problem: Callable[[], Awaitable[str]], what: str, waiting: Waiting) -> None:
    """Look until there is no problem; report each new one. Raises TimedOut with the last."""
    last = ""
    try:
        async with asyncio.timeout(waiting.timeout_s):
            while True:
                found = await problem()
                if not found:
                    return
                if found != last:
                    waiting.say(found)
                last = found
                await asyncio.sleep(LOOK_EVERY_S)
    except TimeoutError:
        raise TimedOut(
            f"{waiting.timeout_s:g} s were not enough until {what}: {last}",
            "The same command goes on from here.",
        ) from None

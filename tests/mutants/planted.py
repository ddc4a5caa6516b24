"""Faults that were made, or could be: planted in a copy of the project, each must fail tests.

A scenario that stays green with the fault it was written for proves nothing. `make mutants` plants
them one by one; add one for every bug that is found.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Mutant:
    """Replace `old` (which must stand there exactly once) by `new`; `caught_by` must then fail."""

    name: str
    path: str
    old: str
    new: str
    caught_by: tuple[str, ...]


_RESIZING = "tests/simulation/test_resizing.py"
_FAULTS = "tests/simulation/test_faults.py"
_HANDS = "tests/simulation/test_hands.py"

MUTANTS = (
    Mutant(
        "restore reads the log from its beginning",
        "services/chassis/reading.py",
        "start = {partition: offset or 0 for partition, offset in committed.items()}",
        "start = dict.fromkeys(committed, 0)",
        (_FAULTS, "-k", "restore_reads_what_exists"),
    ),
    Mutant(
        "a launch does not wait for the end of the one before it",
        "services/pod_state_machine/core/observing.py",
        "    if any(not pod.is_over for pod in earlier_pods(pe, snapshot.pods, intended)):\n",
        "    if False:\n",
        (_RESIZING,),
    ),
    Mutant(
        "a pod that was there before any status spoke of it counts as still to come",
        "services/pod_state_machine/core/observing.py",
        "    return pe.status.phase is PePhase.WAITING and has_had_pod\n",
        "    return False\n",
        (_HANDS, "-k", "by_force"),
    ),
    Mutant(
        "slow planning tasks may have all workers",
        "services/fusion_backend/adapters/planning_worker.py",
        "asyncio.Semaphore(max(1, workers - 1))",
        "asyncio.Semaphore(workers)",
        ("tests/unit/fusion_backend/lifecycle/test_planning_worker.py", "-k", "slow"),
    ),
    Mutant(
        "a sleep lasts as long as the wall clock said once",
        "services/chassis/keyed_work.py",
        "WAKE_DELAY_MAX_S = 60.0\n",
        "WAKE_DELAY_MAX_S = 3600.0\n",
        ("tests/unit/chassis/test_keyed_work.py", "-k", "steps_back"),
    ),
    Mutant(
        "a newer width waits until the older resize is complete",
        "services/fusion_backend/core/observing.py",
        "    if situation.widths.ready is not None:\n",
        "    if situation.widths.ready is not None and not situation.in_progress:\n",
        (_RESIZING, "-k", "newer_width"),
    ),
    Mutant(
        "a resize patches every PE",
        "services/fusion_backend/core/membership.py",
        '        elif entry.data["spec"].get("contentId") != pe.content_id:\n',
        "        elif self._generation > 0:\n",
        (_RESIZING,),
    ),
    Mutant(
        "a pod's name does not say which incarnation of the PE launches it",
        "contracts/labels.py",
        'f"{pe_uid}/{launch}".encode()',
        'f"{launch}".encode()',
        ("tests/unit/pod_state_machine",),
    ),
    Mutant(
        "a stale patch is forced through under the new version",
        "services/chassis/writing.py",
        "        if self._project(entry.kind, there) != entry.data:\n",
        "        if False:\n",
        ("tests/unit/chassis",),
    ),
    Mutant(
        "a fact of the past replaces what is known",
        "services/chassis/table.py",
        "            if row.entry.resource_version >= fact.resource_version:\n",
        "            if False:\n",
        ("tests/unit/chassis",),
    ),
    Mutant(
        "an unchanged projection is published all the same",
        "services/watch_ingest/core/publishing.py",
        "    elif is_news:\n",
        "    else:\n",
        ("tests/unit/watch_ingest",),
    ),
    Mutant(
        "a status is written again although it says nothing new",
        "services/pod_state_machine/core/deciding.py",
        "    if recorded == pe.status:\n        return (), restart_at\n",
        "",
        (_FAULTS, "-k", "steady or replaying"),
    ),
    Mutant(
        "a watch that is cut waits for the server's goodbye",
        "services/chassis/kube_http.py",
        "        connection.transport.abort()\n",
        "        pass\n",
        ("tests/unit/chassis/test_cutting_watches.py",),
    ),
)

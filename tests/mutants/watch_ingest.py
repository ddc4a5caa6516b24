"""Mutants of watch-ingest: what is reported, where, in which epoch, and when all of it was."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/watch_ingest"
_STRANGERS = "tests/simulation/test_strangers.py"

_UNREADABLE = "tests/simulation/test_unreadable.py"

MUTANTS = (
    Mutant(
        "an object that nests too deep for readers is published as it is",
        "contracts/facts.py",
        "_unfit",
        "place = too_deep(part, FACT_DEPTH_MAX, name)",
        'place = ""',
        (f"{_UNIT}/test_resync.py",),
    ),
    Mutant(
        "the condition of an object that can be read again stays",
        "services/watch_ingest/core/noticing.py",
        "notice_of",
        "is_reported = patch is None if fact.kind in CONDITIONED else not why",
        "is_reported = not why",
        (_UNREADABLE, "-k", "streamsprs"),
    ),
    Mutant(
        "an object says again and again that it cannot be read",
        "services/watch_ingest/core/noticing.py",
        "notice_of",
        "is_reported = patch is None if fact.kind in CONDITIONED else not why",
        "is_reported = patch is None and not why",
        (_UNREADABLE, "-k", "streamsprs"),
    ),
    Mutant(
        "an unchanged projection is published all the same",
        "services/watch_ingest/core/publishing.py",
        "facts_of_object",
        "elif is_news:",
        "else:",
        (f"{_UNIT}/test_publishing.py",),
    ),
    Mutant(
        "an object that moves to another job is not said to be gone",
        "services/watch_ingest/core/publishing.py",
        "facts_of_object",
        "before.job != now.job or before.uid != now.uid",
        "before.uid != now.uid",
        (f"{_UNIT}/test_publishing.py",),
    ),
    Mutant(
        "what a list does not show is not said to be gone",
        "services/watch_ingest/core/resync.py",
        "_missing",
        "and ref not in seen",
        "and False",
        (f"{_UNIT}/test_resync.py",),
    ),
    Mutant(
        "facts are told in the partition of the object's own name",
        "services/watch_ingest/core/recording.py",
        "fact_record",
        "partition_of(fact.namespace, fact.job, topics.count(topic))",
        "partition_of(fact.namespace, fact.name, topics.count(topic))",
        (f"{_UNIT}/test_recording.py",),
    ),
    Mutant(
        "facts of jobs are published in eight partitions, however many there are",
        "services/watch_ingest/core/recording.py",
        "fact_record",
        "partition_of(fact.namespace, fact.job, topics.count(topic))",
        "partition_of(fact.namespace, fact.job, 8)",
        (f"{_UNIT}/test_recording.py",),
    ),
    Mutant(
        "readers restore from a resync that is not in the log yet",
        "services/watch_ingest/adapters/ingesting.py",
        "Ingestion._commit_resync",
        "await self._publisher.flush()\npause = GrowingPause(",
        "pause = GrowingPause(",
        (f"{_UNIT}/test_committing.py",),
    ),
    Mutant(
        "the offsets of a resync are those of its end",
        "services/watch_ingest/adapters/ingesting.py",
        "Ingestion._commit_resync",
        "await log_state.commit_resync(",
        "began_at = await self._runtime.bus.end_offsets(list(began_at))\n"
        "await log_state.commit_resync(",
        (_UNIT, "tests/simulation/test_faults.py"),
    ),
    Mutant(
        "a commit whose answer is lost ends the service",
        "services/watch_ingest/adapters/ingesting.py",
        "Ingestion._commit_resync",
        "await self._runtime.clock.sleep(pause.next_s())\ncontinue",
        "raise",
        (f"{_UNIT}/test_committing.py",),
    ),
    Mutant(
        "an incarnation is not above what the log holds",
        "services/watch_ingest/adapters/leading.py",
        "_cluster_and_incarnation",
        "return cluster_uid, max(lowest, highest + 1)",
        "return cluster_uid, lowest",
        (f"{_UNIT}/test_ingesting.py",),
    ),
    Mutant(
        "who is spoken over falls silent for good",
        "services/watch_ingest/adapters/fencing.py",
        "FenceCheck.look",
        "if fencing := [epoch for epoch in epochs if _fences(epoch, own)]:",
        "if fencing := []:",
        (_STRANGERS, "-k", "above_everything"),
    ),
    Mutant(
        "a new incarnation is above the tails of the log, and not above what fenced the one before",
        "services/watch_ingest/adapters/leading.py",
        "ingest",
        "heard = max(heard, fenced.incarnation)",
        "pass",
        (f"{_UNIT}/test_fencing.py",),
    ),
    Mutant(
        "what came before a leader began is not looked at",
        "services/watch_ingest/adapters/log_state.py",
        "newest_resync",
        "return {each: max(start, committed.get(each) or 0) for each, start in starts.items()}",
        "return await bus.end_offsets(partitions)",
        (f"{_UNIT}/test_fencing.py",),
    ),
    Mutant(
        "a record of another cluster in our incarnation goes unnoticed",
        "services/watch_ingest/adapters/fencing.py",
        "_fences",
        "or epoch.cluster_uid != own.cluster_uid",
        "",
        (_STRANGERS, "-k", "above_everything"),
    ),
)

"""Mutants of fusion-backend: deleted PEs, completed work, attempts that are made again, words."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/fusion_backend/core"
_UNIT = "tests/unit/fusion_backend"
_DELETED = (f"{_UNIT}/test_deleted_pes.py",)
_RETRIES = (f"{_UNIT}/test_retries.py",)

MUTANTS = (
    Mutant(
        "a deleted PE comes back whatever its flag says",
        f"{_CORE}/withholding.py",
        "withheld_pes",
        "if not missing or is_restoring(job):",
        "if True:",
        _DELETED,
    ),
    Mutant(
        "a PE that is deleted in the middle of a resize comes back",
        f"{_CORE}/withholding.py",
        "withheld_pes",
        "were_there = job.recorded_deletions | _pes_before(snapshot, job)",
        "were_there = job.recorded_deletions",
        _DELETED,
    ),
    Mutant(
        "a retry counts as answered before every deleted PE is restored",
        f"{_CORE}/withholding.py",
        "deletions_to_record",
        "if missing and is_restoring(job):",
        "if False:",
        _DELETED,
    ),
    Mutant(
        "a job is completed while its PEs are launched again",
        f"{_CORE}/progress.py",
        "all_completed",
        "and not seen.restarts_completed\n        and seen.reason != Reason.BACKING_OFF",
        "",
        _DELETED,
    ),
    Mutant(
        "attempts are made again for ever",
        f"{_CORE}/retrying.py",
        "failure_fields",
        "follows = failure.can_pass and now < until",
        "follows = failure.can_pass",
        _RETRIES,
    ),
    Mutant(
        "what cannot pass is tried again",
        f"{_CORE}/retrying.py",
        "failure_fields",
        "follows = failure.can_pass and now < until",
        "follows = now < until",
        _RETRIES,
    ),
    Mutant(
        "an edit goes on with the count of failed attempts",
        f"{_CORE}/wording.py",
        "begun",
        "all_=is_retried(situation)",
        "all_=False",
        _RETRIES,
    ),
    Mutant(
        "no time is set for the next attempt",
        f"{_CORE}/deciding.py",
        "_requeue_at",
        "next_at = None if at.is_leaving else next_attempt_at(at.job.status)",
        "next_at = None",
        _RETRIES,
    ),
    Mutant(
        "a record that lies has children of a Job that lives deleted one by one",
        "services/fusion_backend/adapters/carry_out.py",
        "CarryOut._delete_child",
        "await self._confirm_unwanted(key, job_uid_of(entry))",
        "pass",
        (f"{_UNIT}/test_carry_out.py", "-k", "one_by_one"),
    ),
    Mutant(
        "what only names a Job that is gone as an owner is removed",
        "services/fusion_backend/core/clearing.py",
        "is_owned",
        "return owner is not None and owner[1] == job_uid",
        'return any(each["uid"] == job_uid for each in entry.data["metadata"]["owners"])',
        ("tests/unit/fusion_backend/test_life_of_a_job.py", "-k", "did_not_control"),
    ),
)

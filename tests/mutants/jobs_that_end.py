"""Planted bugs in how a job ends whose sources have ended."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_RUNTIME = ("tests/unit/millrace/test_jobs_that_end.py",)
_CONTROL = ("tests/unit/fusion_backend/test_jobs_that_end.py",)
_WATCHING = ("tests/unit/pe_gateway/test_watching.py",)

MUTANTS = (
    Mutant(
        "a job that has ended is unhealthy while the last of its PEs ends",
        "services/fusion_backend/core/connecting.py",
        "unconnected",
        "[] if at.job.has_ended else ",
        "",
        _CONTROL,
    ),
    Mutant(
        "what comes behind the end of a stream counts again",
        "millrace/runtime/connections.py",
        "Inlets.deliver",
        "if origin in self.ended:",
        "if False:",
        _RUNTIME,
    ),
    Mutant(
        "a source that was read to its end is begun again",
        "millrace/runtime/saving.py",
        "_restore",
        "if saved is not None and saved.ended:",
        "if False:",
        _RUNTIME,
    ),
    Mutant(
        "a node has ended before its last windows are handed on",
        "millrace/runtime/nodes.py",
        "Node.finish",
        "            if not given:\n",
        "            self.has_ended = True\n            if not given:\n",
        _RUNTIME,
    ),
    Mutant(
        "a launch of a job that has ended begins its sources",
        "millrace/runtime/pe.py",
        "Pe.run",
        "if loaded is None or self._stopping.job_ended.is_set():",
        "if loaded is None:",
        _RUNTIME,
    ),
    Mutant(
        "what was skipped last is reported by nobody",
        "millrace/runtime/noticing.py",
        "Looking.last",
        "self._skips.last(self._parts.engine.nodes)",
        "pass",
        _RUNTIME,
    ),
    Mutant(
        "a job that has completed skipped nothing",
        "cli/noting.py",
        "skipped_by",
        '"Running", "Completed"',
        '"Running"',
        ("tests/unit/cli/test_noting.py",),
    ),
    Mutant(
        "the end of a PE is not saved",
        "millrace/runtime/pe.py",
        "Pe._report_end",
        "await self._checkpoints.keep_last(self._checkpoint)",
        "pass",
        _RUNTIME,
    ),
    Mutant(
        "an application that keeps running ends",
        "millrace/runtime/pe.py",
        "Pe._run",
        "[] if self.description.keeps_running else [self._report_end(looking)]",
        "[self._report_end(looking)]",
        _RUNTIME,
    ),
    Mutant(
        "a job has ended by what an older launch reported",
        "services/fusion_backend/core/progress.py",
        "_has_nothing_left",
        'runtime.get("ended") and runtime.get("launch") == seen.launch_count',
        'runtime.get("ended")',
        _CONTROL,
    ),
    Mutant(
        "a job has ended when one of its PEs has",
        "services/fusion_backend/core/progress.py",
        "all_ended",
        "bool(record.pes) and all(",
        "bool(record.pes) and any(",
        _CONTROL,
    ),
    Mutant(
        "PEs of a job that has ended are waited for by a new width",
        "services/fusion_backend/core/handing_over.py",
        "HandingOver.begun",
        "if ended or self._does_not_begin(pe, launch)",
        "if self._does_not_begin(pe, launch)",
        _CONTROL,
    ),
    Mutant(
        "a completed PE whose pod was deleted is not well",
        "services/fusion_backend/core/progress.py",
        "pes_not_running",
        "and not _has_completed(entries.get(pe.name), pe.content_id)",
        "",
        _CONTROL,
    ),
    Mutant(
        "that a PE has ended waits two seconds",
        "services/pe_gateway/core/reports.py",
        "is_urgent",
        "or ENDED in values or",
        "or",
        ("tests/unit/pe_gateway/test_reports.py",),
    ),
    Mutant(
        "PEs do not learn that their job has ended",
        "services/pe_gateway/adapters/watching.py",
        "state_of",
        "job.has_ended, ",
        "",
        _WATCHING,
    ),
)

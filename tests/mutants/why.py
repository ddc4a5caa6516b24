"""Mutants of `why`: the order of causes, who waits for a service, and what is not a cause."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_WHY = "tests/unit/history/test_why.py"
_CHAINS = "tests/unit/history/test_why_chains.py"
_FAILURES = "tests/unit/history/test_why_failures.py"
_GATHERING = "tests/unit/cli/test_why_gathering.py"

MUTANTS = (
    Mutant(
        "why blames a service that nothing waits for",
        "history/why/of_services.py",
        "awaited_and_down",
        "found = ((waits, case.down(INGEST, waits.service)) for waits in all_awaited(case))",
        "found = [(Awaited(BACKEND, case.target, 'x'), case.down(TAINTER))]",
        (_WHY,),
    ),
    Mutant(
        "why takes a lost node for one that runs its pods",
        "history/why/case.py",
        "Case.is_away",
        "return self.is_gone(name) or (node is not None and unready(node) is not None)",
        "return self.is_gone(name) and node is None",
        (_WHY,),
    ),
    Mutant(
        "why names the first trouble only when it is the last",
        "history/why/answering.py",
        "answer_of",
        "rule, subject = holding[0]",
        "rule, subject = holding[-1]",
        (_WHY,),
    ),
    Mutant(
        "why takes any closed node for the cause",
        "history/why/of_nodes.py",
        "_is_closed_only",
        "0 < int(counted.group(2)) <= closed_nodes",
        "0 < closed_nodes + 1",
        (_WHY,),
    ),
    Mutant(
        "why is silent about kinds that may not be read",
        "cli/why_reading.py",
        "Reader.all",
        'self.unread[resource.kind] = f"you may not list {resource.plural}: {refused.message}"',
        "pass",
        (_GATHERING,),
    ),
    Mutant(
        "why calls jobs well that it may not list",
        "cli/why_gathering.py",
        "gather_all",
        "if JOBS.kind in reader.unread:",
        "if not jobs and JOBS.kind not in reader.unread:",
        (_GATHERING,),
    ),
    Mutant(
        "why calls missing what it did not read",
        "cli/why_reading.py",
        "_needs",
        "if not reader.is_whole(kind):",
        "if kind in reader.unread:",
        (_GATHERING,),
    ),
    Mutant(
        "why looks for warnings about nodes in the namespace of the job",
        "cli/why_reading.py",
        "surroundings_of_node",
        "await reader.all(EVENT, namespace=NODE_EVENTS_IN)",
        "await reader.all(EVENT)",
        (_GATHERING,),
    ),
    Mutant(
        "why counts the last hour of a recording from now",
        "cli/why_logs.py",
        "log_of",
        "found.now or time.time()",
        "time.time()",
        (_GATHERING,),
    ),
    Mutant(
        "why takes an installation that does not run for the one that works",
        "cli/why_services.py",
        "of_installations",
        "sum(bool(each.problem) for each in services)",
        "-sum(bool(each.problem) for each in services)",
        (_GATHERING,),
    ),
    Mutant(
        "why takes an installation of other namespaces for the one that works",
        "cli/why_services.py",
        "_works_in",
        "namespace in named",
        "bool(named)",
        (_GATHERING,),
    ),
    Mutant(
        "why looks for decisions on a node under its bare name",
        "history/why/deciding.py",
        "node_key",
        'return f"{NODE}/{name}"',
        "return name",
        (_CHAINS,),
    ),
    Mutant(
        "why counts pods as refused alike whatever refuses them",
        "history/why/of_needs.py",
        "of_api_refusal",
        "if thing.kind == PE and _refusal_in(words) is refusal",
        "if thing.kind == PE",
        (_WHY,),
    ),
    Mutant(
        "why takes a write that failed once for one that fails now",
        "history/why/of_writes.py",
        "_failed_of",
        "if each.outcome in FAILURES",
        "if each.outcome",
        (_WHY,),
    ),
    Mutant(
        "why calls a PE well that has just failed again and again",
        "history/why/health.py",
        "has_just_failed",
        'if number_of(pe.status.get("restarts")):',
        'if number_of(pe.status.get("restarts")) > 5:',
        (_FAILURES,),
    ),
    Mutant(
        "why names the log of a launch whose pod is gone",
        "history/why/phrases.py",
        "_log_of",
        "if not pods:",
        "if pe.is_deleting:",
        (_FAILURES,),
    ),
    Mutant(
        "why counts the age of a failure from its last attempt",
        "history/why/deciding.py",
        "first_failure_s",
        "if entry.decision.reason in _DONE:",
        "if entry.decision.reason != reason:",
        (_CHAINS,),
    ),
    Mutant(
        "why lists the jobs that run before those that do not",
        "cli/why_command.py",
        "ill_of",
        "(pair[0].running, pair[1].title)",
        "(-pair[0].running, pair[1].title)",
        (_GATHERING,),
    ),
)

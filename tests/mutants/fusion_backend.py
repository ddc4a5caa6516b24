"""Mutants of fusion-backend: planner, plan record, children, widths, clean-up."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CORE = "services/fusion_backend/core"
_SHELL = "services/fusion_backend/adapters"
_LIFE = "tests/unit/fusion_backend/lifecycle"
_A_JOB = f"{_LIFE}/test_life_of_a_job.py"
_CARRY_OUT = f"{_LIFE}/test_carry_out.py"
_RESIZING = "tests/simulation/test_resizing.py"
_CERTIFICATES = f"{_SHELL}/certificates.py"
_PROVISIONS = f"{_LIFE}/test_provisions.py"
_SHARED = "tests/simulation/test_provisions.py"
_POD_RULES = f"{_LIFE}/test_pod_rules.py"
_PLANNER = "tests/unit/fusion_backend/planner"
_PLANNED_RESIZES = f"{_PLANNER}/test_resizes.py"

MUTANTS = (
    Mutant(
        "slow planning tasks may have all workers",
        f"{_SHELL}/planning_worker.py",
        "asyncio.Semaphore(max(1, workers - 1))",
        "asyncio.Semaphore(workers)",
        (f"{_LIFE}/test_planning_worker.py", "-k", "slow"),
    ),
    Mutant(
        "a newer width waits until the older resize is complete",
        f"{_CORE}/observing.py",
        "    if widths.ready is not None:\n",
        "    if widths.ready is not None and not situation.in_progress:\n",
        (_RESIZING, "-k", "newer_width"),
    ),
    Mutant(
        "a resize patches every PE",
        f"{_CORE}/membership.py",
        '        elif entry.data["spec"].get("contentId") != pe.content_id:\n',
        "        elif self._generation > 0:\n",
        (_RESIZING,),
    ),
    Mutant(
        "where a Service leads is not compared",
        f"{_CORE}/pe_services.py",
        "    is_led = seen is None or seen == _spec(job, pe)\n",
        "    is_led = True\n",
        (f"{_LIFE}/test_edited_services.py",),
    ),
    Mutant(
        "a foreign key stays in the selector of a Service",
        f"{_CORE}/pe_services.py",
        '        "spec": merge_patch(seen.get("spec") or {}, _spec(job.name, pe)),\n',
        '        "spec": _spec(job.name, pe),\n',
        (f"{_LIFE}/test_edited_services.py",),
    ),
    Mutant(
        "what a newer plan wrote is cleaned up",
        f"{_CORE}/membership.py",
        '        if (stamp_of(entry) < record.generation or (is_back and kind == "HostPool"))\n',
        "        if True\n",
        (f"{_LIFE}/test_leftovers.py",),
    ),
    Mutant(
        "what bears the marks of a job is its child, whoever owns it",
        f"{_CORE}/membership.py",
        '        and is_owned(entry, snapshot.job.uid if snapshot.job else "")\n',
        "",
        (f"{_LIFE}/test_leftovers.py",),
    ),
    Mutant(
        "how a deleted PE looked last is not asked",
        f"{_SHELL}/intake.py",
        "(*pes.values(), *_lost_pes(table, key, job.uid, known.newest, pes)),",
        "pes.values(),",
        (f"{_LIFE}/test_lost_pes.py",),
    ),
    Mutant(
        "a generation is complete before its pods are there",
        f"{_CORE}/observing.py",
        "    if situation.in_progress and situation.podless:\n",
        "    if False:\n",
        ("tests/simulation/test_weaknesses.py", "-k", "last_pod"),
    ),
    Mutant(
        "a submission never times out",
        f"{_CORE}/situation.py",
        '        started = self.job.status.get("startedAt")\n',
        '        started = ""\n',
        (_A_JOB,),
    ),
    Mutant(
        "a failed job starts anew for ever",
        f"{_CORE}/observing.py",
        "    return Observation.FAILED_FOR_GOOD if is_same else Observation.TRIED_ANEW\n",
        "    return Observation.TRIED_ANEW\n",
        (_A_JOB,),
    ),
    Mutant(
        "an impossible width holds up that of another region",
        f"{_CORE}/widths.py",
        "    if len(wanted) == 1:\n",
        "    if True:\n",
        (_A_JOB,),
    ),
    Mutant(
        "a width out of all bounds is planned",
        f"{_CORE}/widths.py",
        "        if not 1 <= width <= snapshot.width_max:\n",
        "        if False:\n",
        (_A_JOB, _RESIZING),
    ),
    Mutant(
        "the numbers of operators begin anew with each plan",
        f"{_CORE}/numbering/identity.py",
        "        self._operator_high = high.operator\n",
        "        self._operator_high = HighWater().operator\n",
        (_PLANNED_RESIZES,),
    ),
    Mutant(
        "the numbers of PEs begin anew with each plan",
        f"{_CORE}/numbering/identity.py",
        "        found._pe_high = self._high_before.pe\n",
        "        found._pe_high = HighWater().pe\n",
        (_PLANNED_RESIZES,),
    ),
    Mutant(
        "fusion takes channels that share an operator for one consistent region",
        f"{_CORE}/planner/drafting.py",
        "consistent.fused_with",
        "consistent.member_of",
        (f"{_PLANNER}/test_consistent.py",),
    ),
    Mutant(
        "consistent regions are counted by whatever widths there are",
        f"{_CORE}/graph/consistent.py",
        " if is_counted else _numbers(seeds)\n",
        "\n",
        (f"{_PLANNER}/test_consistent.py",),
    ),
    Mutant(
        "who shares a PE need not share its host",
        f"{_CORE}/fusion/contradicting.py",
        '                groups.join(index, ("unit", unit.operators[0]))\n',
        "                pass\n",
        (f"{_PLANNER}/test_contradicting.py",),
    ),
    Mutant(
        "an operator that compat numbers anew is gone and new",
        f"{_CORE}/planner/outline.py",
        "-1 if is_compat else each.index",
        "each.index",
        (f"{_PLANNER}/test_compat.py",),
    ),
    Mutant(
        "an operator of another bundle is the same by its name",
        f"{_CORE}/numbering/identity.py",
        "previous if previous and previous.bundle_digest == bundle_digest else None",
        "previous",
        (_PLANNED_RESIZES,),
    ),
    Mutant(
        "a job id is not remembered",
        f"{_SHELL}/job_ids.py",
        "        if job_uid in known:\n",
        "        if False:\n",
        (f"{_LIFE}/test_job_ids.py",),
    ),
    Mutant(
        "a job id comes from a counter without compare-and-swap",
        f"{_SHELL}/job_ids.py",
        '                    resource_version=int(seen["metadata"]["resourceVersion"]),\n'
        "                )\n            except NotFound",
        "                    resource_version=int(\n"
        "                        (await self._kube.get(_CONFIG_MAP, namespace,"
        ' labels.JOB_IDS_NAME))["metadata"]["resourceVersion"]\n                    ),\n'
        "                )\n            except NotFound",
        (f"{_LIFE}/test_racing_for_ids.py",),
    ),
    Mutant(
        "a counter of job ids that somebody edited is believed",
        f"{_SHELL}/job_ids.py",
        "            if jobs is None and not self._is_as_written(namespace, seen):\n",
        "            if jobs is None and seen is None:\n",
        (f"{_LIFE}/test_job_ids.py",),
    ),
    Mutant(
        "a number at the border of an edited counter of job ids is believed",
        f"{_SHELL}/job_ids.py",
        "said.next is not None and said.next <= CREDIBLE_MAX",
        "said.next is not None",
        (f"{_LIFE}/test_job_ids.py",),
    ),
    Mutant(
        "the head of a plan record comes before its parts",
        f"{_SHELL}/plans.py",
        "        for part in objects.parts:\n            await self._create(job, part)\n",
        "        await self._create(job, objects.head)\n"
        "        for part in objects.parts:\n            await self._create(job, part)\n",
        ("tests/simulation/test_plan_parts.py",),
    ),
    Mutant(
        "children are deleted on the word of a stale view",
        f"{_SHELL}/carry_out.py",
        "        members = _members(snapshot, effect)\n"
        "        await self._confirm_unwanted(key, effect.job_uid)\n",
        "        members = _members(snapshot, effect)\n",
        (_CARRY_OUT,),
    ),
    Mutant(
        "children that were orphaned are deleted",
        f"{_SHELL}/carry_out.py",
        "        await self._confirm_owned(members[0], effect.job_uid)\n",
        "",
        (_CARRY_OUT,),
    ),
    Mutant(
        "a child is made again for a Job that is gone",
        f"{_SHELL}/carry_out.py",
        "        if effect.confirmed:\n",
        "        if False:\n",
        (_CARRY_OUT,),
    ),
    Mutant(
        "what pods run on goes before them",
        f"{_CORE}/clearing.py",
        "    if job_uid in snapshot.with_pods and",
        "    if False and",
        (_A_JOB,),
    ),
    Mutant(
        "a certificate is renewed on every resize",
        _CERTIFICATES,
        "validity is None or validity.renewed_from <= self._clock.now():",
        'validity is None or int(secret["metadata"]["labels"][labels.GENERATION]) < generation:',
        (_SHARED, "-k", "that_a_resize_keeps"),
    ),
    Mutant(
        "a certificate is made anew at each look",
        _CERTIFICATES,
        "        elif validity is None or validity.renewed_from <= self._clock.now():\n",
        "        else:\n",
        (_SHARED, "-k", "that_a_resize_keeps"),
    ),
    Mutant(
        "a certificate is never renewed",
        _CERTIFICATES,
        "validity is None or validity.renewed_from <= self._clock.now():",
        "validity is None:",
        (_PROVISIONS, "-k", "renewed_from"),
    ),
    Mutant(
        "a renewal overwrites what somebody changed meanwhile",
        _CERTIFICATES,
        '                resource_version=int(meta["resourceVersion"]),\n',
        "",
        (_PROVISIONS, "-k", "changes_while"),
    ),
    Mutant(
        "a Secret of somebody else's is taken for the certificate",
        _CERTIFICATES,
        '        if not any(owner["uid"] == job.uid for owner in owners):\n',
        "        if False:\n",
        (_SHARED, "-k", "somebody_else"),
    ),
    Mutant(
        "a certificate is believed beside the key of another one",
        f"{_SHELL}/certifying.py",
        "    if key.public_key() != certificate.public_key():\n",
        "    if False:\n",
        (f"{_LIFE}/test_certifying.py",),
    ),
    Mutant(
        "the certificate of a job stays when the job goes",
        f"{_CORE}/clearing.py",
        "    if _may_have_certificate(snapshot, staying, job_uid):\n",
        "    if False:\n",
        (_SHARED, "-k", "goes_with_its_job"),
    ),
    Mutant(
        "redis servers that were found for one job are given to another",
        f"{_SHELL}/provisioner.py",
        "            config = redis_config(asked, hosts, name=name, shuffled=self._shuffled)\n",
        '            config = self.__dict__.setdefault("_found", redis_config('
        "asked, hosts, name=name, shuffled=self._shuffled))\n",
        (_SHARED, "-k", "servers_of_its_own"),
    ),
    Mutant(
        "redis servers that are known are looked up again",
        f"{_CORE}/provisions_due.py",
        ' or job.status.get("redisConfig") or',
        " or",
        (_SHARED, "-k", "servers_that_were_found"),
    ),
    Mutant(
        "an answer of the DNS is written although the Job asks for another redis by now",
        f"{_SHELL}/provisioner.py",
        "        if JobSeen.of(entry) != snapshot.job:\n",
        "        if False:\n",
        (_PROVISIONS, "-k", "after_an_edit"),
    ),
    Mutant(
        "trouble with what has been found meanwhile is told for ever",
        f"{_CORE}/provisions_due.py",
        "    if servers_awaited(snapshot) is not None:\n        yield",
        "    if True:\n        yield",
        ("tests/simulation/test_regressions.py", "-k", "redis"),
    ),
    Mutant(
        "an edit of a running job may ask for more than the level",
        f"{_CORE}/spec/editing.py",
        "refusal_of_spec(spec, None if template == inputs.template else rules)",
        "refusal_of_spec(spec, None)",
        (_POD_RULES, "-k", "edit"),
    ),
    Mutant(
        "the settings of what a Job may ask of its pods reach no decision",
        f"{_SHELL}/stage.py",
        "pod_rules=self._pod_rules\n",
        "pod_rules=type(self._pod_rules)()\n",
        ("tests/simulation/test_pod_security.py",),
    ),
    Mutant(
        "a container of root mounts the data that is a path of the host",
        f"{_CORE}/spec/pod_rules.py",
        "        yield from _shared_paths(pe)\n",
        "        yield from ()\n",
        (_POD_RULES, "-k", "may_be_root"),
    ),
    Mutant(
        "what containers drop is not asked of those that run first",
        f"{_CORE}/spec/pod_parts.py",
        'CONTAINER_LISTS: Final = ("initContainers", ',
        "CONTAINER_LISTS: Final = (",
        (f"{_LIFE}/test_pod_security.py",),
    ),
    Mutant(
        "a plan is recorded whatever its PEs would carry",
        f"{_SHELL}/planner.py",
        "        if too_much is not None:\n",
        "        if False:\n",
        (f"{_LIFE}/test_sizing.py", "-k", "before_anybody_records"),
    ),
    Mutant(
        "submission-time values are not counted among what PEs carry",
        f"{_CORE}/spec/sizing.py",
        "    if inputs.submission_time_values:\n",
        "    if False:\n",
        (f"{_LIFE}/test_sizing.py", "-k", "values"),
    ),
    Mutant(
        "an edit is taken up that the PEs that run could not carry",
        f"{_CORE}/spec/editing.py",
        "    return refused or _refusal_of_template(template, inputs, pes)\n",
        "    return refused\n",
        (f"{_LIFE}/test_sizing.py", "-k", "edit"),
    ),
)

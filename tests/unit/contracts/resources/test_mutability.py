"""Every field that seed or original name is one of ours, and every field of ours has a note."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pytest

from contracts.resources.mutability import (
    JOB_FIELDS,
    OTHER_NAMES,
    PE_FIELDS,
    FieldNote,
    Origin,
    nearest,
)
from deploy import fields
from deploy.fields import Field, job_fields, note_of, pe_fields, template_fields


def words(text: str) -> set[str]:
    return set(text.split())


def below(group: str, names: str) -> set[str]:
    """A group and the fields in it."""
    return {group, *(f"{group}.{name}" for name in names.split())}


RESOURCES = below("resources", "limits requests")
BOTH_JOBS = {
    *below("fusion", "type automatic legacy manual"),
    *below("threadingModel", "automatic dedicated dynamic manual"),
    *below("threadingModel.dynamic", "elastic threadCount"),
    *below("bundle", "name pullPolicy"),
    *RESOURCES,
    *words("imagePullPolicy imagePullSecret processingElement submissionTimeOutInSeconds"),
    *words("submissionTimeValues transportCertificateValidityInDays"),
}
SEED_JOB = {
    *BOTH_JOBS,
    *below("bundle.http", "url certificationAuthority"),
    *below("bundle.http.certificationAuthority", "configMapName subPath"),
    *below("bundle.file", "path"),
    *below("bundle.github", "url secret"),
}
COUNTERS = (
    "configMap consistentRegion export hostPool import parallelRegion processingElement service"
)
ORIGINAL_JOB = {
    *BOTH_JOBS,
    *below("bundle", "url secret"),
    "parallelRegions",
    *(f"parallelRegions[].{name}" for name in words("index alias width")),
    *words("id generationId status parallelRegionWidths"),
    *below("statistics", " ".join(f"{name}Count" for name in words(COUNTERS))),
}
BOTH_PES = {
    *words("imagePullPolicy imagePullSecret buildType transportSecurityType allowPtrace"),
    *words("runWithValgrind appTraceLevel runtimeTraceLevel deleteFailedPod"),
    *words("restartCompletedPod restartDeletedPod restartFailedPod initialProbeDelayInSeconds"),
    *words("probeFailureThreshold probeIntervalInSeconds dataPath"),
    *words("appPropertiesSecret restrictedPropertiesSecret"),
    *RESOURCES,
    *below("dataVolumeClaim", "name subPath"),
}


def checkpoints(name: str) -> set[str]:
    """The checkpoint store under one of its names."""
    redis = "replicaCount restrictedProperty service shardCount shuffle"
    return {
        *below(name, "fileSystem redis"),
        *below(f"{name}.fileSystem", "path volumeClaim"),
        *below(f"{name}.fileSystem.volumeClaim", "name subPath"),
        *below(f"{name}.redis", redis),
    }


SEED_PE = {*BOTH_PES, "sabName", *checkpoints("checkpointRepository")}
LOCATIONS = "host coLocations exLocations isolation isolationLabels hostPoolLocation"
ORIGINAL_PE = {
    *BOTH_PES,
    *words("id contentId bundleName image connectivity launchCount operators regions"),
    *checkpoints("checkpointDataStore"),
    *below("placement", LOCATIONS),
    *below("placement.hostPoolLocation", "poolIndex inpoolIndex"),
}
OURS_TEMPLATE = {
    *below("podTemplate", "metadata spec"),
    *below("podTemplate.metadata", "labels annotations"),
}
OURS_RESTARTS = {
    *words("failedPodTimeToLiveInSeconds failedPodHistoryLimit maxRestartsInARow"),
    *words("failedPodRetentionSeconds nodeLossTimeOutInSeconds forceRelaunch"),
}
OURS_PLACEMENT = below("placement", "isolations topologyKey required nodeName") - {"placement"}
OURS_PROBE = {"probeTimeoutInSeconds"}
OURS_PE = {
    "job",
    "generation",
    "startsLast",
    "resizesInPlace",
    "serviceName",
    *below("pack", "name key"),
    *OURS_TEMPLATE,
    *OURS_RESTARTS,
    *OURS_PLACEMENT,
    *OURS_PROBE,
}
OURS_JOB = {
    "admission",
    "retrySeconds",
    "lossRetentionSeconds",
    "services",
    *below("scaling", "settleSeconds handOverSeconds"),
    *below("placement", "topologyKey required nodeName"),
    *(
        below("bundle.github.certificationAuthority", "configMapName subPath")
        - {"bundle", "bundle.github"}
    ),
}


def paths(of: Iterable[Field]) -> set[str]:
    return {each.path for each in of}


def under_first_name(path: str) -> str:
    """What is below a second name is noted below the first: one store, whatever it is called."""
    head, dot, rest = path.partition(".")
    return f"{OTHER_NAMES.get(head, head)}.{rest}" if dot else path


def named_by(notes: Mapping[str, FieldNote], of: Iterable[Field], origin: Origin) -> set[str]:
    """The fields, below first names, that a source is noted to name."""
    return {
        path
        for path in {under_first_name(each.path) for each in of}
        if (note := nearest(notes, path)) and note.origin in (Origin.BOTH, origin)
    }


def test_every_field_of_the_seed_and_the_original_is_a_field_of_ours_and_no_other_is() -> None:
    assert paths(job_fields()) == SEED_JOB | ORIGINAL_JOB | OURS_JOB
    assert paths(pe_fields()) == SEED_PE | ORIGINAL_PE | OURS_PE
    assert (
        paths(template_fields())
        == SEED_PE | ORIGINAL_PE | OURS_TEMPLATE | OURS_RESTARTS | OURS_PLACEMENT | OURS_PROBE
    )


@pytest.mark.parametrize(
    ("notes", "of", "origin", "facts"),
    [
        (JOB_FIELDS, job_fields(), Origin.SEED, SEED_JOB),
        (JOB_FIELDS, job_fields(), Origin.ORIGINAL, ORIGINAL_JOB),
        (JOB_FIELDS, job_fields(), Origin.OURS, OURS_JOB),
        (PE_FIELDS, pe_fields(), Origin.SEED, SEED_PE),
        (PE_FIELDS, pe_fields(), Origin.ORIGINAL, ORIGINAL_PE),
        (PE_FIELDS, pe_fields(), Origin.OURS, OURS_PE),
    ],
    ids=["seed's Job", "original's Job", "our Job", "seed's PE", "original's PE", "our PE"],
)
def test_the_notes_say_truly_who_names_a_field(
    notes: Mapping[str, FieldNote], of: Iterable[Field], origin: Origin, facts: set[str]
) -> None:
    found = named_by(notes, of, origin)
    if origin is Origin.OURS:
        found -= named_by(notes, of, Origin.BOTH)
    assert found == {under_first_name(path) for path in facts}


def test_every_note_is_of_a_field_that_exists() -> None:
    """A field that goes takes its note with it."""
    assert JOB_FIELDS.keys() <= paths(job_fields())
    assert PE_FIELDS.keys() <= paths(pe_fields())
    assert OTHER_NAMES.keys() | set(OTHER_NAMES.values()) <= paths(pe_fields())


def test_what_is_ignored_is_a_field_that_exists() -> None:
    of_template = {f"{fields.TEMPLATE}.{path}" for path in paths(template_fields())}
    known = paths(job_fields()) | of_template
    assert fields.IGNORED_WHY.keys() <= known


def test_a_field_without_a_note_stops_the_generator() -> None:
    """Who adds a field to a model is reported to say when it is taken up."""
    with pytest.raises(LookupError, match="colour"):
        note_of(JOB_FIELDS, Field("colour", {"type": "string"}, is_required=False))


def rows(section: str) -> list[set[str]]:
    """The names in the first column of each row of a table of the page."""
    (text,) = (part for part in fields.page().split("\n## ") if part.startswith(f"{section}\n"))
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [set(line.split(" | ")[0].strip("| ").replace("`", "").split(", ")) for line in lines]


def test_every_field_has_one_row_and_every_row_a_field() -> None:
    job, pe = rows("Job"), rows("ProcessingElement")
    assert sorted(map(sorted, job)) == sorted([path] for path in paths(job_fields()))
    assert {"sabName", "bundleName"} in pe
    assert {"checkpointRepository", "checkpointDataStore"} in pe
    named = [name for row in pe for name in row]
    assert len(named) == len(set(named))
    second = {path for path in paths(pe_fields()) if under_first_name(path) != path}
    assert set(named) == paths(pe_fields()) - second


def test_a_row_says_type_values_default_and_verdict_of_the_code() -> None:
    page = fields.page()
    for said in (
        "| `imagePullPolicy` | When the image of a PE is pulled.",
        r"\| `Never` | `Always` | seed, original | plan | next resize |",
        "| integer ≥ 1 ≤ 2147483647 | `300` | seed, original | submission | while Submitting |",
        "| string | required | seed, original | first plan | refused (EditRefused) |",
        "| ignored: a region is named by its alias | nothing happens |",
    ):
        assert said in page

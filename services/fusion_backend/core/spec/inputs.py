"""What one plan is made from: a frozen value that names it (`digest`) and outlives the planner.

The inputs of a generation are stored beside its plan record, so that after a crash the same AADLs
can be rendered again, and the same ProcessingElements made, whatever became of the Job's spec
since. Running the planner is not done here; `request` only makes its arguments.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import orjson

from contracts.labels import HOSTNAME
from contracts.resources import JobSpec
from contracts.resources.bundle import GithubSource, HttpSource
from contracts.resources.job import Admission, Services
from contracts.runtime_image import is_our_runtime
from planner.application.model import Application
from planner.fusion.placing import HostRules
from planner.fusion.reckoning import CpuUsage
from planner.graph.keeping_state import Store
from planner.graph.threading_models import Threading
from planner.numbering.measured import MeasuredCpu
from planner.numbering.records import Fusion, PlanRecord
from planner.requesting import PlanRequest
from services.fusion_backend.core.spec.bundle_urls import shown_url
from services.fusion_backend.core.spec.cluster import Cluster, automatic_fusion, fusion_type

Pairs = tuple[tuple[str, str], ...]
Widths = tuple[tuple[str, int], ...]
TEMPLATE_FIELDS: Final = (
    "admission",
    "imagePullPolicy",
    "imagePullSecret",
    "placement",
    "processingElement",
    "resources",
)
"""Fields of a Job's spec that are kept beside a plan.

ProcessingElements are made from all of them but `admission`, which says whether the plan has to fit
on the nodes. Only `placement` matters to the plan: what need not hold contradicts nothing."""


@dataclass(frozen=True, slots=True)
class BundleSource:
    """Where a bundle comes from: a URL, or a path in the bundle root, or a name there.

    `url_field` is the field below `spec.bundle` that gave the URL; `secret` and `ca_config_map`
    are objects of the job's namespace. What matters only for a URL is empty without one.
    """

    name: str
    path: str = ""
    url: str = ""
    url_field: str = ""
    secret: str = ""
    ca_config_map: str = ""
    ca_key: str = ""
    pull_policy: str = ""

    @property
    def field(self) -> str:
        """The field of the Job's spec that says so."""
        if self.url:
            return f"spec.bundle.{self.url_field}"
        return "spec.bundle.file.path" if self.path else "spec.bundle.name"

    @property
    def secret_field(self) -> str:
        """The field that names the Secret; empty if such a source has no Secret."""
        fields = {"github.url": "spec.bundle.github.secret", "url": "spec.bundle.secret"}
        return fields.get(self.url_field, "")

    @property
    def ca_field(self) -> str:
        """The field that names the ConfigMap with a root certificate; http's if none could."""
        of = "github" if self.is_github else "http"
        return f"spec.bundle.{of}.certificationAuthority"

    @property
    def is_github(self) -> bool:
        """Whether the URL is one of GitHub's API."""
        return self.url_field == "github.url"

    @property
    def value(self) -> str:
        """The URL for messages, or the path relative to the bundle root."""
        return shown_url(self.url) if self.url else self.path or self.name


@dataclass(frozen=True, slots=True)
class PlanInputs:
    """Everything that a plan depends on, but for the record before it, and the CPU in use.

    `previous` is the generation of that record. The CPU in use is measured by the effect Plan, for
    automatic fusion (docs/adr/0038). `bundle_digest` is empty until the bundle has been fetched,
    once, by the first plan. `rendered` are PEs whose AADL is wanted although nothing about them
    changes. `template` is what the PEs that the generation adds or changes are made from, as JSON;
    empty in records of older releases. `services` is the same in every plan of a job; records of
    releases that had one Service for each PE do not have it.
    """

    job_name: str
    job_id: int
    generation: int
    bundle: BundleSource
    fusion: Fusion
    bundle_digest: str = ""
    width_overrides: Widths = ()
    widths: Widths = ()
    submission_time_values: Pairs = ()
    previous: int | None = None
    rendered: tuple[int, ...] = ()
    template: str = ""
    threading: Threading | None = None
    services: Services = Services.PER_PE

    @property
    def digest(self) -> str:
        """The name of the plan that these inputs give."""
        return hashlib.sha256(orjson.dumps(self.to_json())).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The stored form; `services` of older releases is left out, which keeps their digests."""
        document: dict[str, Any] = orjson.loads(orjson.dumps(self))
        if self.services is Services.PER_PE:
            del document["services"]
        return document

    @staticmethod
    def from_json(document: dict[str, Any]) -> PlanInputs:
        """The inputs of a stored form; KeyError, TypeError or ValueError for anything else."""
        return PlanInputs(
            **{
                **document,
                "bundle": BundleSource(**document["bundle"]),
                "fusion": Fusion(**document["fusion"]),
                "width_overrides": _pairs(document["width_overrides"]),
                "widths": _pairs(document["widths"]),
                "submission_time_values": _pairs(document["submission_time_values"]),
                "rendered": tuple(document["rendered"]),
                "threading": _threading(document.get("threading")),
                "services": Services(document.get("services", Services.PER_PE)),
            }
        )


def _threading(document: dict[str, Any] | None) -> Threading | None:
    return None if document is None else Threading(**document)


def _pairs(values: list[list[Any]]) -> tuple[tuple[str, Any], ...]:
    return tuple((str(name), value) for name, value in values)


def template_of(spec: Mapping[str, Any]) -> str:
    """The part of a Job's spec (as JSON) that ProcessingElements are made from."""
    given = {name: spec[name] for name in TEMPLATE_FIELDS if spec.get(name) is not None}
    return orjson.dumps(given, option=orjson.OPT_SORT_KEYS).decode()


def admission_of(inputs: PlanInputs, spec: Mapping[str, Any]) -> Admission:
    """What is done about whether a plan fits; `spec` as in `spec_in_force`."""
    given = spec_in_force(inputs, spec).get("admission")
    return Admission.CHECK if given is None else Admission(given)


def spec_in_force(inputs: PlanInputs, spec: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of a Job's spec ProcessingElements of a plan are made from.

    `spec`, as it is now, counts for records of releases that did not keep a template.
    """
    if not inputs.template:
        return {**spec, "services": inputs.services}
    kept: dict[str, Any] = orjson.loads(inputs.template)
    return {**kept, "bundle": {"name": inputs.bundle.name}, "services": inputs.services}


def bundle_source(spec: JobSpec) -> BundleSource:
    """Where a spec says that the bundle is."""
    bundle = spec.bundle
    policy = bundle.pull_policy.value
    if bundle.http is not None:
        return _behind(bundle.http, BundleSource(bundle.name, url_field="http.url"), policy)
    if bundle.github is not None:
        secret = bundle.github.secret or ""
        return _behind(
            bundle.github, BundleSource(bundle.name, url_field="github.url", secret=secret), policy
        )
    if bundle.url:
        secret = bundle.secret or ""
        return BundleSource(
            bundle.name, url=bundle.url, url_field="url", secret=secret, pull_policy=policy
        )
    return BundleSource(bundle.name, bundle.file.path if bundle.file else "")


def _behind(given: HttpSource | GithubSource, source: BundleSource, policy: str) -> BundleSource:
    ca = given.certification_authority
    return replace(
        source,
        url=given.url,
        ca_config_map=ca.config_map_name if ca else "",
        ca_key=(ca.sub_path or "") if ca else "",
        pull_policy=policy,
    )


def bundle_differences(
    wanted: BundleSource, in_force: BundleSource
) -> Iterator[tuple[str, object, object]]:
    """(field, requested value, value in force) of the source of the bundle."""
    if wanted == in_force:
        return
    if wanted.name != in_force.name:
        yield "spec.bundle.name", wanted.name, in_force.name
    if wanted.path != in_force.path:
        yield "spec.bundle.file.path", wanted.path or "not given", in_force.path or "none"
    if (wanted.url, wanted.url_field) != (in_force.url, in_force.url_field):
        field = wanted.field if wanted.url else in_force.field
        before = in_force.value if in_force.url else "none"
        after = wanted.value if wanted.url else "not given"
        yield field, after if after != before else f"{after} with another query", before
    ca_field = (wanted if wanted.ca_config_map else in_force).ca_field
    for name, field in (
        ("secret", wanted.secret_field or in_force.secret_field),
        ("ca_config_map", f"{ca_field}.configMapName"),
        ("ca_key", f"{ca_field}.subPath"),
        ("pull_policy", "spec.bundle.pullPolicy"),
    ):
        before, after = getattr(in_force, name), getattr(wanted, name)
        if before != after:
            yield field, after or "not given", before or "none"


def first_inputs(
    spec: JobSpec,
    *,
    job_name: str,
    job_id: int,
    generation: int,
    cluster: Cluster,
    template: str = "",
    widths: Mapping[str, int] | None = None,
    services: Services | None = None,
) -> PlanInputs:
    """The inputs of a submission; `cluster` is what automatic fusion chooses from.

    `widths` and `services` are those in force of a job whose plan records are all lost.
    """
    return PlanInputs(
        job_name=job_name,
        job_id=job_id,
        generation=generation,
        bundle=bundle_source(spec),
        fusion=fusion_of(spec, cluster),
        width_overrides=overrides_of(spec),
        widths=tuple(sorted((widths or {}).items())),
        submission_time_values=values_of(spec),
        template=template,
        threading=threading_of(spec),
        services=services or spec.services or Services.PER_JOB,
    )


def overrides_of(spec: JobSpec) -> Widths:
    """The widths that a spec asks for, by alias."""
    return tuple((each.alias, each.width) for each in spec.parallel_regions or ())


def values_of(spec: JobSpec) -> Pairs:
    """The submission-time values of a spec."""
    return tuple(sorted((spec.submission_time_values or {}).items()))


def threading_of(spec: JobSpec) -> Threading | None:
    """The threading model that a spec asks for."""
    given = spec.threading_model
    if given is None:
        return None
    if given.dynamic is not None:
        return Threading("dynamic", given.dynamic.thread_count, given.dynamic.elastic)
    models: tuple[tuple[str, bool | None], ...] = (
        ("automatic", given.automatic),
        ("dedicated", given.dedicated),
        ("manual", given.manual),
    )
    return next((Threading(model) for model, given in models if given), None)


def fusion_of(spec: JobSpec, cluster: Cluster) -> Fusion:
    """The fusion that a spec asks for."""
    kind = fusion_type(spec)
    if spec.fusion.legacy:
        return Fusion.legacy(kind)
    if spec.fusion.manual is not None:
        return Fusion.manual(spec.fusion.manual, kind)
    return automatic_fusion(spec, cluster)


def resized(
    inputs: PlanInputs, record: PlanRecord, widths: Mapping[str, int], *, template: str = ""
) -> PlanInputs:
    """The inputs of the generation after `record`, with the widths of all regions.

    `template` is the newest one that is accepted; by default that of the plan before.
    """
    return replace(
        inputs,
        generation=record.generation + 1,
        bundle_digest=record.bundle_digest,
        widths=tuple(sorted(widths.items())),
        previous=record.generation,
        rendered=(),
        template=template or inputs.template,
    )


def rendered_again(inputs: PlanInputs, record: PlanRecord, pe_ids: tuple[int, ...]) -> PlanInputs:
    """The inputs that give the same generation again, with the AADLs of these PEs."""
    return replace(
        resized(inputs, record, record.widths), generation=record.generation, rendered=pe_ids
    )


def request(
    inputs: PlanInputs,
    *,
    application: Application,
    bundle_digest: str,
    previous: PlanRecord | None,
    measured: MeasuredCpu | None = None,
) -> PlanRequest:
    """The request to the planner; `previous` is the record of generation `inputs.previous`.

    `measured`: the CPU that is in use. It is found out with the plan, as the bundle's digest is.
    """
    if previous is not None and inputs.rendered:
        previous = _forgetting(previous, frozenset(inputs.rendered))
    return PlanRequest(
        application=application,
        bundle_digest=bundle_digest,
        job_name=inputs.job_name,
        job_id=inputs.job_id,
        fusion=inputs.fusion,
        generation=inputs.generation,
        width_overrides=inputs.width_overrides,
        widths=dict(inputs.widths),
        submission_time_values=dict(inputs.submission_time_values),
        threading=inputs.threading,
        previous=previous,
        hosts=host_rules(inputs),
        usage=CpuUsage(measured),
        store=store_of(inputs.template),
    )


def store_of(template: str) -> Store:
    """Where PEs of this template keep state; whether nodes share a claim is not known here.

    Without an image in the template they run in that of our runtime, or have no state.
    """
    given = (orjson.loads(template) if template else {}).get("processingElement") or {}
    if (image := given.get("image")) and not is_our_runtime(image):
        return Store.OF_IMAGE
    store = given.get("checkpointRepository") or given.get("checkpointDataStore") or {}
    if not store:
        return Store.NONE
    files = store.get("fileSystem")
    return Store.OF_NODE if files is not None and not files.get("volumeClaim") else Store.SHARED


def host_rules(inputs: PlanInputs) -> HostRules:
    """How the template of a plan puts host constraints into force."""
    template = orjson.loads(inputs.template) if inputs.template else {}
    given = template.get("placement") or {}
    return HostRules(
        topology_key=given.get("topologyKey") or HOSTNAME,
        required=given.get("required") is not False,
    )


def _forgetting(record: PlanRecord, pe_ids: frozenset[int]) -> PlanRecord:
    """The record without the meaning of some PEs: the planner renders what it finds changed."""
    pes = tuple(replace(pe, meaning="") if pe.id in pe_ids else pe for pe in record.pes)
    return replace(record, pes=pes)

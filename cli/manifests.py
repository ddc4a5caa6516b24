"""Reads the manifest of a Job, and the bundle that it names, for a plan without a cluster.

The spec is checked and read as fusion-backend does it: the plan of a manifest is the plan that its
Job would get. What only a cluster knows (its nodes, the rules for pods) is not checked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from cli.failing import Misused
from cli.recognizing import bundle_of, contents_of
from contracts.names import is_name
from contracts.resources import JOB, JobSpec
from planner.application.adl import read_application
from planner.requesting import PlanRequest
from services.fusion_backend.core.spec.accepting import refusal_of_spec
from services.fusion_backend.core.spec.cluster import Cluster
from services.fusion_backend.core.spec.inputs import (
    BundleSource,
    first_inputs,
    request,
    template_of,
)


def request_of_manifest(
    source: Path, bundles: Path | None, *, nodes: int, node_cpus: int
) -> PlanRequest:
    """The request that fusion-backend would send to the planner for the Job of this file.

    `bundles` is the folder of the bundle, by default that of the file; automatic fusion assumes
    so many nodes with so many CPUs each. Raises Misused, and PlanRefused for what the spec refuses.
    """
    job = job_of(source)
    return _request_of(
        job,
        lambda wanted: bundle_file(wanted, bundles or source.parent, "--bundles DIR"),
        nodes=nodes,
        mcpu=node_cpus * 1000,
    )


def request_of_job(job: dict[str, Any], bundle: Path) -> PlanRequest:
    """The request for a Job that runs this bundle, on a cluster of one node. Raises PlanRefused."""
    return _request_of(job, lambda _: bundle, nodes=1, mcpu=1000)


def _request_of(
    job: dict[str, Any], file_of: Callable[[BundleSource], Path], *, nodes: int, mcpu: int
) -> PlanRequest:
    if (refusal := refusal_of_spec(job["spec"], None)) is not None:
        raise refusal
    inputs = first_inputs(
        JobSpec.model_validate(job["spec"]),
        job_name=job["metadata"]["name"],
        job_id=0,
        generation=0,
        cluster=Cluster(nodes, nodes * mcpu, mcpu),
        template=template_of(job["spec"]),
    )
    bundle = bundle_of(file_of(inputs.bundle))
    application = read_application(bundle)
    wanted = request(inputs, application=application, bundle_digest=bundle.digest, previous=None)
    return replace(wanted, generation=0)


def job_of(source: Path) -> dict[str, Any]:
    """The one Job of a file. Raises Misused."""
    jobs = [each for each in _documents(source) if _is_job(each)]
    if len(jobs) != 1:
        count = f"{len(jobs)} Jobs" if jobs else "no Job"
        raise Misused(f"{source} has {count} of {JOB.api_version}: say a file with one")
    job: dict[str, Any] = jobs[0]
    name = (job.get("metadata") or {}).get("name")
    if not isinstance(name, str) or not is_name(name):
        raise Misused(f"{source}: metadata.name is {name!r}, which cannot be a job's name")
    if not isinstance(job.get("spec"), dict):
        raise Misused(f"{source}: the Job has no spec")
    return job


def bundle_file(source: BundleSource, folder: Path, option: str) -> Path:
    """The bundle's file in this folder, which stands for the bundle root. Raises Misused.

    `option` of the command names another folder.
    """
    file = folder / (source.path or source.name)
    if file.is_file():
        return file
    where = f"{source.field} is {source.value}" if source.url else f"{source.field} names it"
    raise Misused(f"there is no bundle {file}: {where}; say {option}, the folder that it is in")


def _documents(source: Path) -> Iterator[Any]:
    try:
        yield from yaml.safe_load_all(contents_of(source))
    except yaml.YAMLError as problem:
        raise Misused(f"{source} is not YAML: {problem}") from None


def _is_job(document: Any) -> bool:
    return (
        isinstance(document, dict)
        and document.get("kind") == JOB.kind
        and document.get("apiVersion") == JOB.api_version
    )

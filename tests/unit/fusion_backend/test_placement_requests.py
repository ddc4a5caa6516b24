"""What a job asks of hostpool-manager: its plan and its pods, class by class, and nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from contracts.id_runs import ids_of
from contracts.reasons import Reason
from contracts.resources import PlacementSpec
from planner.numbering.records import (
    Fusion,
    HighWater,
    PeRecord,
    PlanRecord,
    PoolRecord,
)
from planner.refusals import PlanRefused
from services.chassis.table.entries import Entry
from services.fusion_backend.core import placement_requests as asking
from services.fusion_backend.core.placement_requests import (
    has_constraints,
    placement_spec,
    pod_demand,
)
from services.fusion_backend.core.snapshot import KnownPlan, Snapshot
from services.fusion_backend.core.spec.inputs import BundleSource, PlanInputs, template_of
from tests.unit.fusion_backend.test_children import job

DEFAULT = PoolRecord(0, "$default", None, "shared", (), ())
GPUS = PoolRecord(1, "gpus", 2, "exclusive", (), ("gpu",))
FREE: dict[str, Any] = {
    "coLocations": [],
    "exLocations": [],
    "isolation": False,
    "nodeSelector": {},
    "nodeSelectorTerms": [],
    "tolerations": [],
}
USUAL = {"cpu": "100m", "memory": "134217728"}


def pe(number: int, **more: Any) -> PeRecord:
    """A PE that runs anywhere, but for what is reported."""
    return PeRecord(
        id=number,
        name=f"shop-{number}",
        meaning="m",
        content_id=f"content-{number}",
        config_map=f"shop-{number}-c",
        operators=(f"Op{number}",),
        restartable=True,
        relocatable=True,
        input_ports=(),
        regions=(),
        **{"host_pool": 0, **more},
    )


def plan(*pes: PeRecord, pools: tuple[PoolRecord, ...] = (DEFAULT,), **spec: Any) -> KnownPlan:
    """A plan of these PEs, made of a Job with this spec."""
    record = PlanRecord(
        generation=4,
        bundle_digest="d",
        job_name="shop",
        job_id=7,
        application_name="app::Main",
        application_scope="Default",
        fusion=Fusion.legacy(),
        regions=(),
        pools=pools,
        pes=pes,
        operators=(),
        port_runs=(),
        splitters=(),
        high_water=HighWater(),
    )
    inputs = PlanInputs(
        "shop", 7, 4, BundleSource("shop.sab"), Fusion.legacy(), template=template_of(spec)
    )
    return KnownPlan(record, inputs, "")


def asked(known: KnownPlan, **children: Any) -> dict[str, Any]:
    """The Placement's spec."""
    return placement_spec(
        Snapshot("default", "shop", job=job(), children=children), known, is_in_force=False
    )


@pytest.mark.parametrize(
    "constraint",
    [
        {"host": "node-1"},
        {"colocations": ("together",)},
        {"exlocations": ("apart",)},
        {"isolation": True},
        {"isolated": ("Op0",)},
    ],
)
def test_a_job_asks_where_one_pe_has_a_constraint(constraint: dict[str, Any]) -> None:
    assert not has_constraints(plan(pe(0), pe(1)).record)
    assert has_constraints(plan(pe(0), pe(1, **constraint)).record)


def test_a_job_asks_where_a_pool_beside_the_default_one_is_declared() -> None:
    assert has_constraints(plan(pe(0), pools=(DEFAULT, GPUS)).record)


def test_tokens_of_co_location_are_those_of_the_plan() -> None:
    (found,) = asked(plan(pe(0, colocations=("together",))))["classes"]
    assert found["coLocations"] == ["together"]


def test_pes_that_ask_for_the_same_are_one_class_and_fields_are_written_out() -> None:
    spec = asked(
        plan(
            *(pe(number) for number in (0, 1, 2, 5)),
            pe(3, host_pool=1, in_pool_index=1),
            pe(4, host="10.0.0.4", exlocations=("b", "a"), isolated=("Op4",)),
            pools=(DEFAULT, GPUS),
        )
    )
    assert spec == {
        "generation": 4,
        "topologyKey": "kubernetes.io/hostname",
        "required": True,
        "inForce": False,
        "pools": [
            {
                "name": "$default",
                "index": 0,
                "membershipMode": "shared",
                "hosts": [],
                "tags": [],
            },
            {
                "name": "gpus",
                "index": 1,
                "membershipMode": "exclusive",
                "hosts": [],
                "tags": ["gpu"],
                "size": 2,
            },
        ],
        "classes": [
            {"pes": "0-2,5", "requests": USUAL, **FREE},
            {
                "pes": "3",
                "requests": USUAL,
                **FREE,
                "hostPoolLocation": {"poolIndex": 1, "inpoolIndex": 1},
            },
            {
                "pes": "4",
                "requests": USUAL,
                **FREE,
                "host": "10.0.0.4",
                "exLocations": ["b", "a"],
                "isolation": True,
            },
        ],
    }
    whole = PlacementSpec.model_validate(spec).model_dump(by_alias=True, exclude_none=True)
    assert whole == spec, "nothing is left for the API server to fill in"


def test_zones_and_preferences_are_those_of_the_plan_s_template() -> None:
    wishes = {"topologyKey": "topology.kubernetes.io/zone", "required": False}
    spec = asked(plan(pe(0), placement=wishes))
    assert (spec["topologyKey"], spec["required"]) == ("topology.kubernetes.io/zone", False)


def test_a_pod_requests_what_all_of_its_containers_do() -> None:
    template = {
        "spec": {
            "containers": [
                {"name": "pe", "env": []},
                {"name": "log", "resources": {"limits": {"cpu": "0.25"}}},
            ],
            "initContainers": [
                {
                    "name": "side",
                    "restartPolicy": "Always",
                    "resources": {"requests": {"memory": "1Ki"}},
                },
                {"name": "first", "resources": {"requests": {"cpu": "2"}}},
            ],
            "overhead": {"memory": "1Ki"},
        }
    }
    found = pod_demand({"requests": {"cpu": "1", "memory": "1Ki", "gpus.io/a": 1}}, template)
    assert found.requests == {"cpu": "2000m", "memory": "3072", "gpus.io/a": "1"}


def test_what_the_template_asks_of_nodes_is_asked_and_what_it_prefers_is_not() -> None:
    expression = {"key": "disk", "operator": "In", "values": ["ssd"]}
    field = {"key": "metadata.name", "operator": "In", "values": ["node-1"]}
    term = {"matchExpressions": [expression]}
    template = {
        "spec": {
            "nodeSelector": {"arch": "amd64"},
            "affinity": {
                "nodeAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": {
                        "nodeSelectorTerms": [term, {"matchFields": [field]}]
                    },
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": 1, "preference": term}
                    ],
                }
            },
            "tolerations": [
                {"key": "gpu", "operator": "Exists"},
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5},
            ],
        }
    }
    found = pod_demand({}, template)
    assert found.node_selector == {"arch": "amd64"}
    assert found.node_selector_terms == [
        {"matchExpressions": [expression], "matchFields": []},
        {"matchExpressions": [], "matchFields": [field]},
    ]
    assert found.tolerations == [
        {"key": "gpu", "operator": "Exists"},
        {"operator": "Exists", "effect": "NoExecute"},
    ]


def test_the_resources_of_the_job_are_divided_as_in_its_pes() -> None:
    spec = asked(plan(pe(0), pe(1), resources={"requests": {"cpu": "1"}}))
    assert spec["classes"][0]["requests"] == {"cpu": "500m"}


def test_a_pe_that_has_its_content_counts_as_it_is() -> None:
    """Of three, one was edited, one runs what an older plan made of it, and one is not there."""
    edited = {"resources": {"requests": {"cpu": "3"}}}

    def entry(number: int, content: str) -> Entry:
        spec = {"contentId": content, **edited}
        data = {"metadata": {"deletionTimestamp": None}, "spec": spec}
        return Entry("ProcessingElement", "default", f"shop-{number}", "u", 1, data)

    pes = {"shop-0": entry(0, "content-0"), "shop-1": entry(1, "older")}
    spec = asked(plan(pe(0), pe(1), pe(2)), ProcessingElement=pes)
    assert [(each["pes"], each["requests"]) for each in spec["classes"]] == [
        ("0", {"cpu": "3000m"}),
        ("1-2", USUAL),
    ]


def test_thousands_of_pes_are_several_classes_whose_ids_fit_into_their_field() -> None:
    ids = [*range(0, 20_000, 2), *range(20_000, 30_000)]
    spec = asked(plan(*(pe(number) for number in ids), pe(1, host="node-1")))
    PlacementSpec.model_validate(spec)
    *several, other = spec["classes"]
    assert len(several) > 1
    assert [number for each in several for number in ids_of(each["pes"])] == ids
    assert other["pes"] == "1"


@pytest.mark.parametrize("limit", ["PLACEMENT_BYTES_MAX", "CLASSES_MAX", "POOLS_MAX"])
def test_a_question_beyond_a_limit_is_refused_by_name(
    limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, limit, 1)
    known = plan(pe(0), pe(1, host="node-1"), pools=(DEFAULT, GPUS))
    with pytest.raises(PlanRefused) as refused:
        asked(known)
    assert refused.value.reason is Reason.PLAN_TOO_LARGE
    assert "Placement shop" in refused.value.message


def test_an_older_record_names_the_first_operator_as_the_isolated_one() -> None:
    spec = asked(plan(pe(0, isolation=True), replace(pe(1))))
    assert [each["isolation"] for each in spec["classes"]] == [True, False]

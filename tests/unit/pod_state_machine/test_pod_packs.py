"""A PE whose AADL is in a pack: the gate of its launch, and what its pod sees."""

from __future__ import annotations

import pytest

from contracts import labels
from services.chassis.table.entries import Change
from services.launching.core.rules import Observation
from services.pod_state_machine.adapters import intake
from services.pod_state_machine.adapters.reading import job_view, pe_of
from services.pod_state_machine.core.pod_spec import RuntimeImage, pod_of_launch
from services.pod_state_machine.core.snapshot import PeKey
from tests.builders import NAMESPACE, Builder, a_config_map, a_job, a_pack, a_pe
from tests.unit.pod_state_machine.cluster import PE_KEY, decided, observed, woken, world

PACK = {"name": labels.pack_name("shop", "d1"), "key": "pe-0.xml"}


def a_packed_pe(pe_id: int = 0) -> Builder:
    return a_pe(pe_id=pe_id).with_spec(pack=PACK)


@pytest.mark.parametrize("other", [(), (a_config_map(pe_id=0),), (a_pack().deleting(),)])
def test_no_pod_is_created_before_the_pack_exists(other: tuple[Builder, ...]) -> None:
    gates = (a_config_map(), *other)
    assert observed(a_packed_pe(), *gates) is Observation.GATES_CLOSED
    assert decided(a_packed_pe(), a_config_map(), a_pack()).effects


def test_a_pack_queues_the_pes_that_name_it() -> None:
    table = world(a_packed_pe(), a_packed_pe(pe_id=1), a_pe(pe_id=2), a_job())
    both = {PE_KEY, PeKey(NAMESPACE, "shop-1")}
    assert woken(table, a_pack()) == both
    assert woken(table, a_pack(digest="d2")) == set()


def test_a_pack_that_is_labelled_later_queues_the_pes_that_name_it() -> None:
    labelled = a_pack()
    bare = labelled.having("metadata", "labels", value={})
    change = Change(bare.entry(), labelled.entry())
    assert PE_KEY in set(intake.keys_of(change, world(a_packed_pe(), a_job())))


def test_a_pod_sees_its_own_aadl_and_nothing_else_of_the_pack() -> None:
    pe, job = pe_of(a_packed_pe().entry()), job_view(a_job().entry())
    pod = pod_of_launch(pe, job, 1, RuntimeImage())
    volume = pod["spec"]["volumes"][0]
    items = [{"key": "pe-0.xml", "path": "aadl.xml"}]
    assert volume == {
        "name": "pe-config-volume",
        "configMap": {"name": PACK["name"], "items": items},
    }
    assert pod["metadata"]["annotations"][labels.PACK] == PACK["name"]


def test_a_pod_of_a_pe_without_a_pack_mounts_its_own_config_map() -> None:
    pod = pod_of_launch(pe_of(a_pe().entry()), job_view(a_job().entry()), 1, RuntimeImage())
    own = {"name": labels.pe_config_map_name("shop", 0, "c1")}
    assert pod["spec"]["volumes"][0]["configMap"] == own
    assert labels.PACK not in pod["metadata"]["annotations"]

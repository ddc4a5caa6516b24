"""A plan record that cannot be read: told, made again where nobody can read it, else waited for."""

from __future__ import annotations

import base64
import gzip

import orjson
import pytest

from planner.numbering.records import SCHEMA_VERSION
from services.fusion_backend.core import recording
from services.fusion_backend.core.deciding import decide
from services.fusion_backend.core.effects import DeleteChild
from services.fusion_backend.core.recording import RecordDamaged, parts_of, plan_of
from services.fusion_backend.core.snapshot import Damage
from tests.unit.fusion_backend.world import JOB, Obj, World

HEAD = "ConfigMap", f"{JOB}.plan.0"


def submitted() -> World:
    world = World()
    world.converge()
    return world


def read(head: Obj) -> None:
    """As fusion-backend does it."""
    parts_of(head)
    plan_of(head, [])


def packed(text: bytes) -> str:
    return base64.b64encode(gzip.compress(text, mtime=0)).decode()  # as the name of its test


@pytest.mark.parametrize(
    "change",
    [
        {"binaryData": None},
        {"binaryData": {"record.json.gz": "!!"}},
        {"binaryData": {"record.json.gz": "bm90IGd6aXA="}},
        {"binaryData": {"record.json.gz": packed(b"no json")}},
        {"binaryData": {"record.json.gz": packed(b"[]")}},
        {"binaryData": {"record.json.gz": packed(b'{"schema": 1}')}},
        {"data": None},
        {"data": {"about.json": "{"}},
        {"data": {"about.json": "[]"}},
        {"data": {"about.json": '{"parts": 7}'}},
    ],
    ids=str,
)
def test_whatever_a_record_says_that_nobody_can_read_is_damage_and_no_crash(change: Obj) -> None:
    head = submitted().objects[HEAD] | change
    with pytest.raises(RecordDamaged, match=f"{JOB}.plan.0") as caught:
        read(head)
    assert caught.value.is_lost


@pytest.mark.parametrize(
    "change",
    [
        {"pes": "x"},
        {"ports": [[0, "out", 0, 0, -1, -1, 0, 2**31 - 1]]},
        {"ports": [[0, "out", 0, 0, -1, -1, 0, 0]]},
        {"ports": [[0, "out", 0, 0, -1, -1, -7]]},
        {"ports": [[0, "out", 0, 0, 0, 2**31 - 1, 0]]},
        {"ports": [[0, "out", 0, 0, 0, -50, 0]]},
    ],
    ids=str,
)
def test_what_no_plan_has_is_damage_and_costs_no_planner_its_time(change: Obj) -> None:
    """Records are ConfigMaps: who may write them in a namespace may write anything."""
    head = submitted().objects[HEAD]
    text = gzip.decompress(base64.b64decode(head["binaryData"]["record.json.gz"]))
    with pytest.raises(RecordDamaged):
        read(
            head
            | {"binaryData": {"record.json.gz": packed(orjson.dumps(orjson.loads(text) | change))}}
        )


def test_a_record_that_unpacks_to_more_than_any_is_damage(monkeypatch: pytest.MonkeyPatch) -> None:
    head = submitted().objects[HEAD]
    read(head)
    monkeypatch.setattr(recording, "RECORD_BYTES_MAX", 1000)
    with pytest.raises(RecordDamaged, match="less than 1000 bytes"):
        read(head)


def test_a_head_names_no_more_parts_than_are_written() -> None:
    head = submitted().objects[HEAD]
    about = orjson.dumps({"parts": ["shop.plan.0.1"] * recording.PARTS_MAX}).decode()
    with pytest.raises(RecordDamaged, match="16 parts"):
        parts_of(head | {"data": {"about.json": about}})


def test_gzip_that_broke_in_the_middle_is_damage() -> None:
    head = submitted().objects[HEAD]
    whole = base64.b64decode(head["binaryData"]["record.json.gz"])
    broken = whole[:40] + b"\0\0\0\0" + whole[44:]
    head["binaryData"]["record.json.gz"] = base64.b64encode(broken).decode()
    with pytest.raises(RecordDamaged):
        plan_of(head, [])


def test_a_record_of_a_newer_release_is_reported_and_left_alone() -> None:
    """Whoever goes back to an older release loses no plan by it."""
    world = submitted()
    head = world.objects[HEAD]
    newer = orjson.dumps({"schema": SCHEMA_VERSION + 1, "something": "else"})
    with pytest.raises(RecordDamaged, match="newer release") as caught:
        plan_of(head | {"binaryData": {"record.json.gz": packed(newer)}}, [])
    assert not caught.value.is_lost
    world.crash()
    known = world.answers.of(world.uid)
    known.damaged[head["metadata"]["uid"]] = Damage(str(caught.value), is_lost=False)
    before = world.named("ConfigMap")
    world.converge()
    assert world.named("ConfigMap") == before
    fused = world.condition("Fused")
    assert (fused["status"], fused["reason"]) == ("False", "PlanDamaged")
    assert "newer release" in fused["message"]


def test_a_record_that_nobody_can_read_is_deleted_under_its_uid_and_reported() -> None:
    world = submitted()
    uid = world.objects[HEAD]["metadata"]["uid"]
    world.crash()
    world.answers.of(world.uid).damaged[uid] = Damage("plan record is damaged", is_lost=True)
    (_, deletion) = decide(world.snapshot(), world.now).effects
    assert isinstance(deletion, DeleteChild)
    assert deletion.uid == uid
    world.converge()
    assert world.condition("Fused")["status"] == "True"
    assert [reason for reason, _ in world.events if reason == "PlanDamaged"] == ["PlanDamaged"]
    assert world.status()["phase"] == "Submitted"

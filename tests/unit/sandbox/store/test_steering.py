"""Annotations that steer the simulated kubelets have words that exist, or the write is refused."""

from __future__ import annotations

import pytest

from sandbox.controllers.behaviors import Behavior
from sandbox.store import steering
from sandbox.store.errors import ApiError
from sandbox.store.played_cpu import played_mcpu
from sandbox.store.resources import NODE, POD
from sandbox.store.steering import BEHAVIORS, PREFIX
from tests.places import ROOT
from tests.sandboxed import MERGE, new_cluster

CONTAINERS = [{"name": "c", "image": "i"}]


def body(kind: str, annotations: dict[str, str]) -> dict[str, object]:
    meta: dict[str, object] = {"name": "x", "annotations": annotations}
    spec = {} if kind == "Node" else {"spec": {"containers": CONTAINERS}}
    return {"apiVersion": "v1", "kind": kind, "metadata": meta, **spec}


@pytest.mark.parametrize(
    ("kind", "word", "value", "message"),
    [
        ("Pod", "behavior", "dance", "[sandbox.millrace.dev/behavior]: Unsupported value: "),
        ("Pod", "behavior", "evict", "[sandbox.millrace.dev/behavior]: Unsupported value: "),
        ("Pod", "behaviour", "fail", "metadata.annotations: Unsupported value: "),
        ("Pod", "after", "soon", "must be a duration such as 2s or 500ms"),
        ("Pod", "exit-code", "256", "must be a number from 0 to 255"),
        ("Pod", "exit-code", "-1", "must be a number from 0 to 255"),
        ("Pod", "cpu", "much", "must be a quantity of CPU such as 250m or 1.5"),
        ("Pod", "cpu", "-1", "must be a quantity of CPU such as 250m or 1.5"),
        ("Pod", "cpu", "1e99", "must be a quantity of CPU such as 250m or 1.5"),
        ("Node", "cpu", "", "must be a quantity of CPU such as 250m or 1.5"),
        ("Node", "behavior", "fail", 'supported values: "silent"'),
        ("Node", "after", "2s", "metadata.annotations: Unsupported value: "),
    ],
)
def test_a_word_that_no_kubelet_knows_is_refused(
    kind: str, word: str, value: str, message: str
) -> None:
    """When the object is created, and when it is changed. It had no effect, which nobody saw."""
    store = new_cluster(now=lambda: 1_800_000_000.0, nodes=0).store
    rt, namespace = (NODE, None) if kind == "Node" else (POD, "default")
    wrong = {f"{PREFIX}{word}": value}
    with pytest.raises(ApiError) as caught:
        store.create(rt, namespace, body(kind, wrong))
    assert (caught.value.code, message in str(caught.value)) == (422, True)
    store.create(rt, namespace, body(kind, {"other": "x"}))
    with pytest.raises(ApiError, match="is invalid"):
        store.patch(rt, namespace, "x", {"metadata": {"annotations": wrong}}, MERGE)


@pytest.mark.parametrize("value", ["500ms", "2s", "1.5m", "3", "1h"])
def test_words_that_kubelets_know_are_stored(value: str) -> None:
    store = new_cluster(now=lambda: 1_800_000_000.0, nodes=0).store
    words = {"behavior": "fail", "after": value, "exit-code": "137"}
    store.create(POD, "default", body("Pod", {f"{PREFIX}{k}": v for k, v in words.items()}))


@pytest.mark.parametrize(("text", "mcpu"), [("250m", 250), ("1.5", 1500), ("0", 0), ("1n", 1)])
def test_the_cpu_that_an_annotation_plays_is_read_in_thousandths(text: str, mcpu: int) -> None:
    store = new_cluster(now=lambda: 1_800_000_000.0, nodes=0).store
    pod = store.create(POD, "default", body("Pod", {f"{PREFIX}cpu": text}))
    assert played_mcpu(pod) == mcpu
    assert played_mcpu(store.create(NODE, None, body("Node", {}))) is None


def test_every_behavior_can_be_requested_but_an_eviction() -> None:
    assert set(BEHAVIORS["pods"]) == set(Behavior) - {Behavior.EVICT}


def test_every_annotation_of_the_sandbox_is_on_its_page() -> None:
    """A log by annotation existed, and nobody could know."""
    page = (ROOT / "docs" / "sandbox.md").read_text()
    names = {
        value
        for value in vars(steering).values()
        if isinstance(value, str) and value.startswith(steering.PREFIX) and value != steering.PREFIX
    }
    assert steering.LOG in names
    assert not [name for name in sorted(names) if f"| `{name}` |" not in page]

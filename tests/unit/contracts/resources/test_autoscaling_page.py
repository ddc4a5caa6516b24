"""The examples of docs/autoscaling.md: what they name exists, and their fields are right."""

from __future__ import annotations

import re
from typing import Any

import yaml

from contracts.resources import API_VERSION, CUSTOM_RESOURCES
from sandbox.store.resources import HORIZONTAL_POD_AUTOSCALER
from sandbox.store.store import Store
from tests.places import ROOT

PAGE = ROOT / "docs" / "autoscaling.md"
OF_SCALED_OBJECT = {"scaleTargetRef", "minReplicaCount", "maxReplicaCount", "triggers"}
"""Of those that KEDA's definition of ScaledObjects has, the ones that the page uses."""
OF_TRIGGER = {"type", "metricType", "metadata"}
SCALED = {each.kind for each in CUSTOM_RESOURCES if each.scale and each.scale.label_selector_path}


def _examples() -> dict[str, dict[str, Any]]:
    blocks = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    return {found["kind"]: found for found in map(yaml.safe_load, blocks)}


def _names_a_scale(target: dict[str, str]) -> bool:
    return target["apiVersion"] == API_VERSION and target["kind"] in SCALED


def test_the_autoscaler_of_the_page_is_accepted_and_names_a_kind_with_a_scale() -> None:
    example = _examples()["HorizontalPodAutoscaler"]
    store = Store(now=lambda: 0.0, new_uid=lambda: "uid")
    made = store.create(HORIZONTAL_POD_AUTOSCALER, "default", example)
    assert _names_a_scale(made["spec"]["scaleTargetRef"])


def test_the_scaled_object_of_the_page_fits_keda_and_names_a_kind_with_a_scale() -> None:
    """All metadata of a trigger is text, and a region has at least one channel."""
    example = _examples()["ScaledObject"]
    assert example["apiVersion"] == "keda.sh/v1alpha1"
    spec = example["spec"]
    assert set(spec) == OF_SCALED_OBJECT
    assert 1 <= spec["minReplicaCount"] < spec["maxReplicaCount"]
    assert _names_a_scale(spec["scaleTargetRef"])
    for trigger in spec["triggers"]:
        assert set(trigger) == OF_TRIGGER
        assert trigger["metricType"] == "AverageValue"
        assert all(isinstance(value, str) for value in trigger["metadata"].values())

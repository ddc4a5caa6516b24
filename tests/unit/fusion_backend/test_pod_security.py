"""Pod templates against the Pod Security Standards: each control, and templates of any shape."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from contracts.resources.pod_schema import SCHEMA
from services.fusion_backend.core.spec.pod_parts import CONTAINER_LISTS, Group
from services.fusion_backend.core.spec.pod_rules import PodRules, faults_of, hardened
from services.fusion_backend.core.spec.pod_security import CONTROLS, Level, excesses
from tests.pod_security_cases import CASES, CONTAINERS, Case, hard_template

Json = dict[str, Any]
LEVELS = tuple(Level)


def fields(template: Any, level: Level) -> list[str]:
    return [each.field for each in excesses(template, level, "t")]


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_control_refuses_its_field_and_no_other(case: Case) -> None:
    (control,) = (each for each in CONTROLS if each.name == case.control)
    broken = case.template(case.refused)
    assert [field for field, _ in control.broken_by(Group("t", broken))] == [f"t.{case.field}"]
    (excess,) = excesses(broken, case.level, "t")
    assert (excess.field, excess.value) == (f"t.{case.field}", case.refused)
    assert excess.level is case.level
    for value in case.allowed:
        assert fields(case.template(value), case.level) == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_level_refuses_what_the_ones_before_it_refuse(case: Case) -> None:
    refusing = LEVELS.index(case.level)
    for number, level in enumerate(LEVELS):
        is_refused = f"t.{case.field}" in fields(case.template(case.refused), level)
        assert is_refused == (number >= refusing), level


def test_every_control_has_cases_and_no_two_have_one_name() -> None:
    assert {case.control for case in CASES} == {each.name for each in CONTROLS}
    assert len({each.name for each in CONTROLS}) == len(CONTROLS)


def test_a_template_that_says_nothing_is_within_baseline() -> None:
    assert fields({}, Level.BASELINE) == []
    assert (
        fields({"spec": {"containers": [{"name": "beside", "image": "i"}]}}, Level.BASELINE) == []
    )


@pytest.mark.parametrize("name", ["runAsNonRoot", "runAsUser", "procMount"])
def test_a_user_namespace_of_its_own_makes_root_harmless(name: str) -> None:
    """As Kubernetes has it since 1.35."""
    template = hard_template()
    at, value, level = {
        "runAsNonRoot": ("securityContext", False, Level.RESTRICTED),
        "runAsUser": ("securityContext", 0, Level.RESTRICTED),
        "procMount": ("containers", "Unmasked", Level.BASELINE),
    }[name]
    part = template["spec"][at]
    (part if isinstance(part, dict) else part[0]["securityContext"])[name] = value
    assert fields(template, level)
    template["spec"]["hostUsers"] = False
    assert fields(template, level) == []
    template["spec"]["hostUsers"] = True
    assert fields(template, level)


def test_what_two_levels_refuse_is_named_once_with_the_lower_of_them() -> None:
    template = hard_template()
    template["spec"]["containers"][1]["securityContext"]["capabilities"]["add"] = ["NET_RAW"]
    (excess,) = excesses(template, Level.RESTRICTED, "t")
    assert excess.level is Level.BASELINE
    assert "NET_BIND_SERVICE" in excess.why
    assert "CHOWN" not in excess.why


# --------------------------------------------------------------------------- any shape


JUNK = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=3)
    | st.sampled_from(["", "default", "ALL", "pe", "data-volume", "Unconfined", "\ud800"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    *("spec", "containers", "name", "securityContext", "capabilities", "drop"),
                    *("add", "volumes", "projected", "sources", "path", "fileSystem"),
                    *("metadata", "annotations"),
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(
    junk=JUNK, case=st.sampled_from(CASES), depth=st.integers(0, 7), level=st.sampled_from(LEVELS)
)
def test_no_shape_of_json_makes_the_check_raise(
    junk: Any, case: Case, depth: int, level: Level
) -> None:
    """Whatever stands anywhere on the way to a field that is looked at."""
    path = "/".join(case.path.split("/")[: depth + 1])
    template = Case(case.control, case.level, path, junk, ()).template(junk)
    excesses(template, level, "t")
    excesses(junk, level, "t")
    for given_spec in (
        {"processingElement": {"podTemplate": template}},
        {"processingElement": {"podTemplate": junk}},
        {"processingElement": junk},
        {"processingElement": dict.fromkeys(FIELDS_OF_JOB, junk)},
    ):
        rules = PodRules(level, host_paths=False, ptrace=False)
        assert all(isinstance(each[0], str) for each in faults_of(given_spec, rules))
        hardened(given_spec, rules)


FIELDS_OF_JOB = (
    "dataPath",
    "dataVolumeClaim",
    "checkpointRepository",
    "checkpointDataStore",
    "allowPtrace",
    "runWithValgrind",
)


def test_every_kind_of_container_is_looked_at() -> None:
    """One more in a PodSpec of a newer Kubernetes would be a hole."""
    kinds = set(re.findall(r"(\w+)=\[(?:Ephemeral)?Container\]", SCHEMA))
    assert kinds == set(CONTAINER_LISTS) == {at.split("/")[1] for at in CONTAINERS}

"""What a Job may ask of its pods: settings, fields of the Job, and what becomes of a refusal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from contracts.reasons import Reason
from planner.refusals import PlanRefused
from services.fusion_backend.core.spec.accepting import refusal_of_spec
from services.fusion_backend.core.spec.pod_rules import DEFAULT_RULES, PodRules, hardened
from services.fusion_backend.core.spec.pod_security import Level, excesses
from services.fusion_backend.settings import FusionBackendSettings
from tests.golden_pods import VARIANTS
from tests.unit.fusion_backend.world import JOB, World
from tests.unit.pod_state_machine.test_pod_spec import pod

Json = dict[str, Any]
PE = "spec.processingElement"
TEMPLATE = f"{PE}.podTemplate"
RESTRICTED = PodRules(Level.RESTRICTED)
ON_HOST: Json = {"podTemplate": {"spec": {"hostNetwork": True}}}


def refused(rules: PodRules, **pe: Any) -> PlanRefused | None:
    return refusal_of_spec({"bundle": {"name": "a.sab"}, "processingElement": pe}, rules)


def refusal(rules: PodRules, **pe: Any) -> PlanRefused:
    found = refused(rules, **pe)
    assert found is not None
    assert found.reason is Reason.POD_SECURITY
    return found


def test_the_default_is_baseline_with_the_fields_of_the_original_allowed() -> None:
    settings = FusionBackendSettings(bundle_root=Path("r"), bundle_store=Path("s"))
    assert settings.pod_rules == DEFAULT_RULES == PodRules(Level.BASELINE, True, True)


def test_the_settings_are_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_POD_SECURITY", "restricted")
    monkeypatch.setenv("MILLRACE_ALLOW_HOST_PATHS", "false")
    monkeypatch.setenv("MILLRACE_ALLOW_PTRACE", "false")
    settings = FusionBackendSettings(bundle_root=Path("r"), bundle_store=Path("s"))
    assert settings.pod_rules == PodRules(Level.RESTRICTED, False, False)


def test_a_refusal_names_field_value_level_setting_and_what_to_do() -> None:
    told = refusal(DEFAULT_RULES, **ON_HOST)
    assert (told.field, told.value) == (f"{TEMPLATE}.spec.hostNetwork", "True")
    assert told.message == (
        f"{TEMPLATE}.spec.hostNetwork: level baseline of MILLRACE_POD_SECURITY allows no namespace"
        " of the host: leave it out; level privileged of that setting of fusion-backend would"
        " allow it (it is True)"
    )
    rooted: Json = {"spec": {"securityContext": {"runAsNonRoot": False}}}
    assert "level baseline of that setting" in refusal(RESTRICTED, podTemplate=rooted).message
    assert refused(PodRules(Level.PRIVILEGED), **ON_HOST) is None


# --------------------------------------------------------------------------- fields of the Job


@pytest.mark.parametrize(
    ("pe", "field"),
    [
        ({"dataPath": "/d"}, "dataPath"),
        (
            {"checkpointRepository": {"fileSystem": {"path": "/c"}}},
            "checkpointRepository.fileSystem.path",
        ),
        (
            {"checkpointDataStore": {"fileSystem": {"path": "/c"}}},
            "checkpointDataStore.fileSystem.path",
        ),
        ({"allowPtrace": True}, "allowPtrace"),
        ({"runWithValgrind": True}, "runWithValgrind"),
    ],
)
def test_a_field_of_the_job_that_needs_more_has_a_setting_that_is_on(pe: Json, field: str) -> None:
    """And restricted, of which no setting is an exception, refuses it in any case."""
    assert refused(DEFAULT_RULES, **pe) is None
    is_path = "ath" in field and field != "runWithValgrind"
    setting = "MILLRACE_ALLOW_HOST_PATHS" if is_path else "MILLRACE_ALLOW_PTRACE"
    off = PodRules(host_paths=not is_path, ptrace=is_path)
    told = refusal(off, **pe)
    assert told.field == f"{PE}.{field}"
    assert setting in told.message
    assert refused(PodRules(host_paths=is_path, ptrace=not is_path), **pe) is None
    assert refusal(RESTRICTED, **pe).field == f"{PE}.{field}"
    assert "MILLRACE_POD_SECURITY" in refusal(RESTRICTED, **pe).message


@pytest.mark.parametrize(
    "pe",
    [
        {"dataVolumeClaim": {"name": "disk"}, "dataPath": "/d"},
        {"checkpointRepository": {"fileSystem": {"volumeClaim": {"name": "disk"}}}},
        {"checkpointRepository": {"fileSystem": {"path": None}}},
        {"checkpointDataStore": {"fileSystem": {}}},
        {"allowPtrace": False, "runWithValgrind": False},
    ],
)
def test_what_comes_to_no_path_of_the_job_s_own_is_no_matter_of_the_settings(pe: Json) -> None:
    """A claim wins over a path; no path at all is that of pod-state-machine's settings."""
    assert refused(PodRules(host_paths=False, ptrace=False), **pe) is None


def test_level_restricted_refuses_the_path_of_the_settings_too() -> None:
    """It is a path of the host, and the API server would refuse the pod."""
    found = refusal(RESTRICTED, checkpointRepository={"fileSystem": {}})
    assert found.field == f"{PE}.checkpointRepository.fileSystem.path"
    assert "volumeClaim" in found.message


@pytest.mark.parametrize("group", ["containers", "initContainers"])
@pytest.mark.parametrize(
    ("volume", "by_claim"),
    [
        ("data-volume", {"dataVolumeClaim": {"name": "disk"}}),
        (
            "checkpoint-volume",
            {"checkpointRepository": {"fileSystem": {"volumeClaim": {"name": "disk"}}}},
        ),
    ],
)
def test_a_container_that_may_be_root_does_not_mount_a_path_of_the_host(
    group: str, volume: str, by_claim: Json
) -> None:
    """`dataPath: /` and a container of root in the template would be root on the node."""
    mount = {"name": volume, "mountPath": "/host"}
    beside = {"name": "root", "image": "i", "volumeMounts": [mount]}
    template = {"spec": {group: [beside]}}
    told = refusal(DEFAULT_RULES, dataPath="/", podTemplate=template)
    assert told.field == f"{TEMPLATE}.spec.{group}[0].volumeMounts[0].name"
    assert refused(DEFAULT_RULES, podTemplate=template, **by_claim) is None
    assert refused(PodRules(Level.PRIVILEGED), dataPath="/", podTemplate=template) is None


def test_the_container_of_the_pe_may_mount_its_data_at_another_path_too() -> None:
    ours = {"name": "pe", "volumeMounts": [{"name": "data-volume", "mountPath": "/again"}]}
    template = {"spec": {"containers": [ours]}}
    assert refused(DEFAULT_RULES, dataPath="/d", podTemplate=template) is None


# --------------------------------------------------------------------------- restricted


BESIDE: Json = {
    "name": "beside",
    "image": "i",
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}
TEMPLATES: dict[str, Json | None] = {
    "none": None,
    "empty": {},
    "pe": {"spec": {"containers": [{"name": "pe", "env": [{"name": "A", "value": "b"}]}]}},
    "beside": {"spec": {"containers": [BESIDE]}},
    "nulls": {
        "spec": {
            "automountServiceAccountToken": None,
            "securityContext": {"seccompProfile": None, "runAsNonRoot": None},
            "containers": [{"name": "pe", "securityContext": {"capabilities": None}}],
        }
    },
    "drops": {
        "spec": {
            "containers": [{"name": "pe", "securityContext": {"capabilities": {"drop": ["KILL"]}}}]
        }
    },
}


def rendered(rules: PodRules, **pe: Any) -> Json:
    """The pod of a PE that is made of a template under these rules."""
    made = hardened({"processingElement": pe}, rules)["processingElement"]
    return pod(**made)


@pytest.mark.parametrize("name", TEMPLATES)
def test_a_pod_that_is_rendered_at_restricted_meets_restricted(name: str) -> None:
    """Whatever an accepted template leaves to us."""
    template = TEMPLATES[name]
    assert refused(RESTRICTED, podTemplate=template) is None
    made = rendered(RESTRICTED, podTemplate=template)
    assert excesses(made, Level.RESTRICTED, "pod") == ()
    assert made["spec"]["automountServiceAccountToken"] is False


@pytest.mark.parametrize("option", VARIANTS)
def test_an_option_gives_a_pod_that_meets_the_level_or_is_refused(option: str) -> None:
    spec = VARIANTS[option].spec
    told = refused(RESTRICTED, **spec)
    if told is None:
        assert excesses(rendered(RESTRICTED, **spec), Level.RESTRICTED, "pod") == ()
    else:
        assert told.reason is Reason.POD_SECURITY
    strict = PodRules(Level.BASELINE, host_paths=False, ptrace=False)
    is_on_path_of_settings = option == "checkpoints in a file system"
    if refused(strict, **spec) is None and not is_on_path_of_settings:
        assert excesses(rendered(strict, **spec), Level.BASELINE, "pod") == ()
    assert rendered(DEFAULT_RULES, **spec) == pod(**spec)


def test_options_without_a_path_of_the_host_or_a_debugger_are_not_refused_at_restricted() -> None:
    """Of a pod template only what people themselves say beside `pe` has to be said."""
    told = {option for option in VARIANTS if refused(RESTRICTED, **VARIANTS[option].spec)}
    assert told == {
        "ptrace",
        "valgrind",
        "data path",
        "checkpoints in a file system",
        "checkpoints under a path",
        "pod template",
    }


# --------------------------------------------------------------------------- a job's life


def test_a_job_that_asks_for_too_much_fails_and_nothing_of_it_is_made() -> None:
    world = World(processingElement=ON_HOST)
    world.converge()
    status = world.status()
    assert (status["phase"], status["reason"]) == ("Failed", "PodSecurity")
    accepted = world.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("False", "PodSecurity")
    assert f"{TEMPLATE}.spec.hostNetwork" in accepted["message"]
    assert {kind for kind, _ in world.objects} == {"Job", "Node"}
    assert world.planned == 0


def test_a_failed_job_is_tried_again_once_it_asks_for_less() -> None:
    world = World(processingElement=ON_HOST)
    world.converge()
    world.edit("Job", JOB, processingElement={"podTemplate": None})
    world.converge()
    assert world.status()["phase"] == "Submitted"


def test_an_edit_of_a_running_job_that_asks_for_too_much_is_refused_and_never_taken_up() -> None:
    world = World()
    world.converge()
    world.edit("Job", JOB, processingElement=ON_HOST)
    world.converge()
    accepted = world.condition("Accepted")
    assert (accepted["status"], accepted["reason"]) == ("False", "EditRefused")
    for words in (f"{TEMPLATE}.spec.hostNetwork", "MILLRACE_POD_SECURITY", "take the edit back"):
        assert words in accepted["message"]
    world.resize(0, 3)
    world.converge()
    specs = [world.objects["ProcessingElement", each] for each in world.named("ProcessingElement")]
    assert len(specs) == 7
    assert not any("podTemplate" in each["spec"] for each in specs)


def test_a_job_keeps_what_was_accepted_when_the_level_falls_and_gets_no_other_of_that_kind() -> (
    None
):
    """What runs is not refused for a setting that its owner did not touch."""
    world = World(processingElement=ON_HOST)
    world.pod_rules = PodRules(Level.PRIVILEGED)
    world.converge()
    world.pod_rules = DEFAULT_RULES
    before = world.versions()
    world.converge()
    assert world.versions() == before
    assert world.condition("Accepted")["reason"] == "Accepted"
    world.edit("Job", JOB, processingElement={**ON_HOST, "image": "mine:2"})
    world.converge()
    assert world.condition("Accepted")["reason"] == "EditRefused"


def test_at_restricted_every_pe_asks_for_what_its_pod_needs() -> None:
    world = World()
    world.pod_rules = RESTRICTED
    world.converge()
    world.resize(0, 3)
    world.converge()
    for name in world.named("ProcessingElement"):
        spec = world.objects["ProcessingElement", name]["spec"]["podTemplate"]["spec"]
        assert spec["securityContext"] == {"runAsNonRoot": True}
        (container,) = spec["containers"]
        assert container["securityContext"] == {"capabilities": {"drop": ["ALL"]}}
    assert world.condition("Accepted")["reason"] == "Accepted"

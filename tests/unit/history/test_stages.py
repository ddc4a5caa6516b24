"""A replay makes the stage of a service from what its start recorded, and from nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.topics import TopicLayout
from history.replaying import release_notes
from history.stages import SettingsRefused, settings_of, stage_of, unknown_settings
from history.starts import StartFound
from services.chassis.table.table import Table
from services.fusion_backend.settings import FusionBackendSettings
from services.pod_state_machine.settings import PodStateMachineSettings
from services.roster import DECIDING


def test_recorded_settings_have_no_place_of_the_machine_and_no_address() -> None:
    settings = FusionBackendSettings(
        bundle_root=Path("/srv/bundles"),
        bundle_store=Path("/srv/store"),
        bundle_ca_file="/srv/ca.pem",
        bundle_root_url="https://inner.example.com/bundles",
        kubeconfig="/srv/kubeconfig",
        width_max=7,
    )
    recorded = settings.recorded()
    assert "/srv" not in str(recorded)
    assert "inner" not in str(recorded)
    assert "kubeconfig" not in recorded
    again = settings_of("fusion-backend", recorded)
    assert isinstance(again, FusionBackendSettings)
    assert (again.width_max, bool(again.bundle_root_url)) == (7, True)


def test_the_environment_changes_no_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MILLRACE_STUCK_S", "77")
    monkeypatch.setenv("MILLRACE_RESTART_FIRST_S", "78")
    found = settings_of("pod-state-machine", {"restart_first_s": 5.0})
    assert isinstance(found, PodStateMachineSettings)
    assert (found.stuck_s, found.restart_first_s) == (10.0, 5.0)


@pytest.mark.parametrize("service", DECIDING)
def test_each_service_that_decides_has_a_stage(service: str) -> None:
    assert stage_of(service, {}, TopicLayout())(Table()).name == service


def test_settings_that_cannot_be_used_are_refused_with_their_names() -> None:
    with pytest.raises(SettingsRefused, match="WIDTH_MAX=x: "):
        settings_of("fusion-backend", {"width_max": "x"})


def test_other_releases_and_settings_are_named() -> None:
    assert unknown_settings("node-tainter", {"former": 1}) == ["former"]
    notes = release_notes(
        [
            StartFound("node-tainter", "a", release="0.1.0", settings={"former": 1}),
            StartFound("fusion-backend", "b"),
            StartFound("hostpool-manager", "c", release="0.2.0", settings={}),
        ],
        "0.2.0",
    )
    assert notes == [
        "node-tainter was of release 0.1.0, and this is 0.2.0",
        "node-tainter has no setting former in this release",
        "fusion-backend did not record its settings, as older releases did not: the defaults of"
        " this release are used",
    ]

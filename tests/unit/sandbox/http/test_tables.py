"""Tables: the columns and cells that kubectl prints."""

from __future__ import annotations

from typing import Any

import pytest

from sandbox.http.durations import shown_duration
from sandbox.http.json_paths import find_all
from sandbox.store.timestamps import rfc3339
from tests.unit.sandbox.http.asking import (
    CONFIG_MAPS,
    NOW_S,
    WIDGETS,
    Asker,
    config_map,
    pod,
    widget,
)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PODS = "/api/v1/namespaces/default/pods"


def cells(table: Any, *, wide: bool = False) -> list[dict[str, Any]]:
    """Rows as column name -> cell, without the columns of `-o wide` unless requested."""
    columns = table["columnDefinitions"]
    return [
        {
            column["name"]: cell
            for column, cell in zip(columns, row["cells"], strict=True)
            if wide or not column["priority"]
        }
        for row in table["rows"]
    ]


def test_custom_resources_show_the_columns_of_their_definition(with_widgets: Asker) -> None:
    with_widgets.ask("POST", WIDGETS, widget("a", width=3))
    table = with_widgets.json("GET", WIDGETS, accept=TABLE)
    assert table["kind"] == "Table"
    assert cells(table) == [{"Name": "a", "Width": 3, "Ready": None, "Age": "90s"}]
    with_widgets.ask(
        "PATCH",
        f"{WIDGETS}/a/status",
        {"status": {"conditions": [{"type": "Ready", "status": "False"}]}},
        content_type="application/merge-patch+json",
    )
    table = with_widgets.json("GET", f"{WIDGETS}/a", accept=TABLE)
    assert cells(table)[0]["Ready"] == "False"


@pytest.mark.parametrize(
    ("include", "kind"), [("Object", "ConfigMap"), ("Metadata", "PartialObjectMetadata")]
)
def test_rows_carry_as_much_of_the_object_as_was_requested(
    asker: Asker, include: str, kind: str
) -> None:
    asker.ask("POST", CONFIG_MAPS, config_map("a"))
    table = asker.json("GET", f"{CONFIG_MAPS}?includeObject={include}", accept=TABLE)
    assert table["rows"][0]["object"]["kind"] == kind
    none = asker.json("GET", f"{CONFIG_MAPS}?includeObject=None", accept=TABLE)
    assert none["rows"][0]["object"] is None
    assert asker.ask("GET", f"{CONFIG_MAPS}?includeObject=All", accept=TABLE).status == 400


def test_pods_show_ready_status_and_with_wide_their_node(asker: Asker) -> None:
    asker.ask("POST", PODS, pod("p"))
    asker.api.store.bind("default", "p", "node-1")
    (row,) = cells(asker.json("GET", PODS, accept=TABLE), wide=True)
    assert (row["Ready"], row["Status"], row["Restarts"]) == ("0/1", "Pending", "0")
    assert (row["Node"], row["IP"]) == ("node-1", "<none>")
    asker.ask("DELETE", f"{PODS}/p")
    (row,) = cells(asker.json("GET", PODS, accept=TABLE))
    assert row["Status"] == "Terminating"


def test_a_pod_that_crashes_shows_the_reason_of_its_container(asker: Asker) -> None:
    asker.ask("POST", PODS, pod("p"))
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = {
        "phase": "Running",
        "containerStatuses": [{"name": "main", "restartCount": 4, "state": waiting}],
    }
    asker.ask(
        "PATCH",
        f"{PODS}/p/status",
        {"status": status},
        content_type="application/merge-patch+json",
    )
    (row,) = cells(asker.json("GET", PODS, accept=TABLE))
    assert (row["Status"], row["Restarts"]) == ("CrashLoopBackOff", "4")


def test_nodes_say_whether_they_are_ready_and_schedulable(asker: Asker) -> None:
    body = {
        "metadata": {"name": "n", "labels": {"node-role.kubernetes.io/worker": ""}},
        "spec": {"unschedulable": True},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    asker.ask("POST", "/api/v1/nodes", body)
    (row,) = cells(asker.json("GET", "/api/v1/nodes", accept=TABLE))
    assert (row["Status"], row["Roles"]) == ("Ready,SchedulingDisabled", "worker")


def test_services_show_address_and_ports(asker: Asker) -> None:
    body = {
        "metadata": {"name": "s"},
        "spec": {
            "clusterIP": "None",
            "ports": [{"port": 10000, "name": "a"}, {"port": 10001, "name": "b"}],
        },
    }
    path = "/api/v1/namespaces/default/services"
    answer = asker.ask("POST", path, body)
    assert answer.status == 201, answer.body
    (row,) = cells(asker.json("GET", path, accept=TABLE))
    assert (row["Cluster-IP"], row["Port(s)"]) == ("None", "10000/TCP,10001/TCP")


def test_events_show_what_they_are_about(asker: Asker) -> None:
    body = {
        "metadata": {"name": "e"},
        "involvedObject": {"kind": "Pod", "name": "p", "namespace": "default"},
        "type": "Warning",
        "reason": "Sad",
        "message": "Something broke.\n",
        "source": {"component": "test"},
        "lastTimestamp": rfc3339(NOW_S),
    }
    path = "/api/v1/namespaces/default/events"
    asker.ask("POST", path, body)
    (row,) = cells(asker.json("GET", path, accept=TABLE))
    assert row == {
        "Last Seen": "90s",
        "Type": "Warning",
        "Reason": "Sad",
        "Object": "pod/p",
        "Message": "Something broke.",
    }


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "<invalid>"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (190, "3m10s"),
        (600, "10m"),
        (3 * 3600, "3h"),
        (3 * 3600 + 60, "3h1m"),
        (10 * 3600, "10h"),
        (50 * 3600, "2d2h"),
        (30 * 86400, "30d"),
        (3 * 365 * 86400, "3y"),
        (20 * 365 * 86400, "20y"),
    ],
)
def test_durations_get_coarser_with_their_length(seconds: float, text: str) -> None:
    assert shown_duration(seconds) == text


@pytest.mark.parametrize(
    ("path", "found"),
    [
        (".spec.width", [3]),
        ("{.spec.width}", [3]),
        (".metadata.labels['a.b/c']", ["d"]),
        (r".metadata.labels.a\.b/c", ["d"]),
        (".items[0].name", ["x"]),
        (".items[-1].name", ["y"]),
        (".items[*].name", ["x", "y"]),
        ('.items[?(@.name=="y")].value', [2]),
        (".items[?(@.name=='z')].value", []),
        (".absent.field", []),
        ("]broken", []),
    ],
)
def test_json_paths_find_what_crds_ask_for(path: str, found: list[Any]) -> None:
    obj = {
        "metadata": {"labels": {"a.b/c": "d"}},
        "spec": {"width": 3},
        "items": [{"name": "x", "value": 1}, {"name": "y", "value": 2}],
    }
    assert find_all(path, obj) == found

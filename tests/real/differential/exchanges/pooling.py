"""Placements and HostPools: their columns, and what their statuses may hold."""

from __future__ import annotations

from typing import Any

from contracts.id_runs import runs_of
from contracts.resources.placement import PES_MAX
from tests.real.differential.objects import Obj, custom
from tests.real.differential.steps import TABLE, Exchange, Step, exchange, get, merge, post

COVERS = (
    "contracts/resources/host_pool.py",
    "contracts/resources/placement.py",
    "sandbox/store/custom_resources.py",
    "sandbox/store/rule*",
)

PLACES_MAX = 16_384
_TIME = "2026-01-01T00:00:00Z"
_POOL = custom("HostPool", spec={"hostpool": {"name": "p", "membershipMode": "exclusive"}})
_PLACEMENT = custom(
    "Placement",
    spec={
        "generation": 3,
        "pools": [{"name": "p", "index": 0, "tags": ["blue"], "size": 2}],
        "classes": [
            {
                "pes": "0-9,12",
                "requests": {"cpu": "500m", "memory": "1Gi"},
                "hostPoolLocation": {"poolIndex": 0, "inpoolIndex": 1},
                "exLocations": ["apart"],
            }
        ],
    },
)
_READY = {
    "type": "Ready",
    "status": "False",
    "reason": "MembersMissing",
    "message": "one of two members",
    "lastTransitionTime": _TIME,
}


def _names(count: int, length: int = 6) -> list[str]:
    return [f"{number:0{length}}" for number in range(count)]


_POOL_STATUSES: tuple[Obj, ...] = (
    {"members": ["a", "b"], "claimed": ["a"], "generation": 2, "reason": "R", "message": "m"},
    {"members": [], "claimed": []},
    {"members": ["", "b", ""], "claimed": None},
    {"members": None, "reason": None, "message": None},
    {"members": ["a", None]},
    {"members": "a"},
    {"conditions": [_READY]},
    {"conditions": [_READY, _READY]},
    {"conditions": [{**_READY, "reason": ""}]},
    {"generation": -1},
    {"unknown": 1, "members": ["a"]},
    {"members": _names(PLACES_MAX)},
    {"members": _names(PLACES_MAX + 1)},
    {"members": _names(PLACES_MAX), "claimed": _names(PLACES_MAX + 2)},
    {"members": _names(PLACES_MAX, 63)},
    {"members": _names(PLACES_MAX, 100)},
)
_PLACEMENT_STATUSES: tuple[Obj, ...] = (
    {
        "phase": "Placed",
        "generation": 3,
        "observedGeneration": 1,
        "pools": [{"index": 0, "members": ["a", ""]}],
        "assignments": [{"node": "a", "pes": "0-9,12"}],
    },
    {
        "phase": "Refused",
        "reason": "InsufficientCapacity",
        "message": "node a lacks cpu",
        "waits": True,
        "families": ["requests"],
        "nearest": [{"node": "a", "lacks": ["cpu"]}],
    },
    {"phase": "Placing"},
    {"phase": "Unknown", "nearest": [{"node": "a"}]},
    {"nearest": [{"node": f"n{number}", "lacks": []} for number in range(17)]},
    {"pools": [{"index": 0, "members": _names(PLACES_MAX)}], "phase": "Placed"},
    {"pools": [{"index": 0, "members": _names(PLACES_MAX + 1)}]},
    {"assignments": [{"node": name, "pes": name} for name in _names(PLACES_MAX)]},
    {"assignments": [{"node": name, "pes": name} for name in _names(PLACES_MAX + 1)]},
    {"assignments": [{"node": "a"}, {"pes": "1"}]},
    {"assignments": [{"node": "a", "pes": runs_of(range(1, PES_MAX, 2))}]},
)
_SPECS: tuple[Any, ...] = (
    {},
    {"generation": 0},
    {"generation": -1},
    {"generation": "1"},
    {"generation": 1, "classes": [{}]},
    {"generation": 1, "classes": [{"pes": "1", "requests": {"cpu": "much"}}]},
    {"generation": 1, "classes": [{"pes": "1", "requests": {"cpu": 2}}]},
    {"generation": 1, "pools": [{"name": "p", "membershipMode": "mine"}]},
    {"generation": 1, "pools": [{"name": ""}]},
    {"generation": 1, "topologyKey": "", "required": None},
    {"generation": 1, "topologyKey": "zone", "required": False},
    {"generation": 1, "classes": [{"pes": "1", "tolerations": [{"key": "a", "seconds": 1}]}]},
    None,
)


def _pool(name: str, *steps: Step) -> Exchange:
    return exchange(name, post("streamshostpools", _POOL, compared=False), *steps)


def _placement(name: str, *steps: Step) -> Exchange:
    return exchange(name, post("streamsplacements", _PLACEMENT, compared=False), *steps)


def _status(plural: str, status: Any) -> Step:
    return merge(plural, "one", {"status": status}, "status")


EXCHANGES = (
    exchange("a Table of no HostPools", get("streamshostpools", accept=TABLE)),
    exchange("a Table of no Placements", get("streamsplacements", accept=TABLE)),
    _pool("a HostPool that is new in a Table", get("streamshostpools", accept=TABLE)),
    _placement("a Placement that is new in a Table", get("streamsplacements", accept=TABLE)),
    *(
        _pool(
            f"a status of a HostPool {i}",
            _status("streamshostpools", each),
            get("streamshostpools", accept=TABLE),
            get("streamshostpools", "one", accept=TABLE),
        )
        for i, each in enumerate(_POOL_STATUSES)
    ),
    *(
        _placement(
            f"a status of a Placement {i}",
            _status("streamsplacements", each),
            get("streamsplacements", accept=TABLE),
            get("streamsplacements", "one", accept=TABLE),
        )
        for i, each in enumerate(_PLACEMENT_STATUSES)
    ),
    *(
        exchange(
            f"a Placement {i}",
            post("streamsplacements", custom("Placement", spec=each)),
        )
        for i, each in enumerate(_SPECS)
    ),
    *(
        _pool(
            f"the generation of a HostPool's status becomes {after}",
            _status("streamshostpools", {"generation": 2, "members": ["a"]}),
            _status("streamshostpools", {"generation": after}),
            _status("streamshostpools", None),
        )
        for after in (1, 2, 3, None)
    ),
    _placement(
        "the generation of a Placement's status falls",
        _status("streamsplacements", {"generation": 3}),
        _status("streamsplacements", {"generation": 2}),
        merge("streamsplacements", "one", {"spec": {"generation": 2}}),
    ),
    _pool(
        "a member's finalizer is put on a HostPool and taken from it",
        merge(
            "streamshostpools",
            "one",
            {"metadata": {"finalizers": ["streams.ibm.com/node-claims"]}},
        ),
        merge("streamshostpools", "one", {"metadata": {"finalizers": None}}),
    ),
)

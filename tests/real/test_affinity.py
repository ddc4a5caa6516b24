"""kube-scheduler and the sandbox's scheduler agree on who may, or would rather, be beside whom.

Generated cases: in groups of nodes some pods reside, each on a node of its own, and others ask to
be let in. Residents speak of those who ask only, and the other way round, so that no case depends
on another. Compared is what a pod was reported, word for word, and where it had no choice, its
node.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable

import pytest

from tests.patience import patient
from tests.real.scheduling import (
    HOST,
    PREFERRED,
    REQUIRED,
    ZONE,
    Judgement,
    Obj,
    Trial,
    a_node,
    a_pod,
    both_sides,
)

COVERS = (
    "placement/spreading.py",
    "sandbox/controllers/scheduler.py",
    "sandbox/controllers/neighbours.py",
    "sandbox/controllers/scoring.py",
    "contracts/scheduling/*",
)

SEED = 20261122
GROUPS, PODS_OF_GROUP = 8, 20
_RESIDENT, _GUEST = {"part": "resident"}, {"part": "guest"}
_TEAMS = ("red", "blue")
_VALUES = ("x", "y")


def selecting(draw: random.Random, part: Obj, label: str) -> Obj:
    """A selector of pods of one part by one more label."""
    operator = draw.choice(("In", "In", "NotIn", "Exists", "DoesNotExist"))
    expression: Obj = {"key": label, "operator": operator}
    if operator in {"In", "NotIn"}:
        expression["values"] = [draw.choice(_VALUES)]
    return {"matchLabels": part, "matchExpressions": [expression]}


def spoken_to(draw: random.Random, run: str) -> Obj:
    """Whose pods a term is about: those of its own namespace, or of others."""
    how = draw.random()
    if how < 0.1:
        return {}
    if how < 0.3:
        return {"namespaces": [f"{run}-{draw.choice(_TEAMS)}"]}
    if how < 0.5:
        return {"namespaceSelector": {"matchLabels": {"team": f"{run}-{draw.choice(_TEAMS)}"}}}
    return {"namespaceSelector": {}}


def term(draw: random.Random, run: str, part: Obj, label: str) -> Obj:
    """A term of required (anti-)affinity."""
    return {
        "topologyKey": draw.choice((*[HOST] * 4, *[ZONE] * 4, "diff.example.com/absent")),
        "labelSelector": selecting(draw, part, label),
        **spoken_to(draw, run),
    }


def make_residents(draw: random.Random, run: str, group: str) -> dict[str, list[Obj]]:
    """Pods on the first three hosts of a group; some keep others away. By namespace."""
    made: dict[str, list[Obj]] = {f"{run}-{team}": [] for team in _TEAMS}
    for number in range(3):
        affinity: Obj = {}
        if draw.random() < 0.7:
            terms = [term(draw, run, _GUEST, "g")]
            affinity = {"podAntiAffinity": {REQUIRED: terms}}
        pod = a_pod(
            f"{group}-resident-{number}",
            group=group,
            labels={**_RESIDENT, "r": draw.choice(_VALUES)},
            on=f"{group}-{number}",
            affinity=affinity,
        )
        made[f"{run}-{draw.choice(_TEAMS)}"].append(pod)
    return made


def make_guest(draw: random.Random, run: str, group: str, number: int) -> Obj:
    """A pod that asks for a place beside residents, away from them, or to begin a group."""
    name = f"{group}-guest-{number}"
    affinity: Obj = {}
    labels = {**_GUEST, "g": draw.choice(_VALUES)}
    if draw.random() < 0.4:
        terms = [term(draw, run, _RESIDENT, "r") for _ in range(draw.choice((1, 1, 2)))]
        affinity["podAffinity"] = {REQUIRED: terms}
    elif draw.random() < 0.4:
        labels["first"] = name
        own = {"matchLabels": {"first": name}}
        first = [{"topologyKey": key, "labelSelector": own} for key in (HOST, ZONE)]
        affinity["podAffinity"] = {REQUIRED: first[: draw.choice((1, 2))]}
    if draw.random() < 0.5:
        terms = [term(draw, run, _RESIDENT, "r") for _ in range(draw.choice((1, 1, 2)))]
        affinity["podAntiAffinity"] = {REQUIRED: terms}
    on = {"on": f"{group}-{draw.randrange(4)}"} if draw.random() < 0.4 else {}
    return a_pod(name, group=group, labels=labels, affinity=affinity, **on)


def nodes_of(group: str) -> list[Obj]:
    """Four nodes: two in one zone, one in another, one in none."""
    zones = [{ZONE: f"{group}-a"}, {ZONE: f"{group}-a"}, {ZONE: f"{group}-b"}, {}]
    return [
        a_node(f"{group}-{number}", group=group, labels=zone) for number, zone in enumerate(zones)
    ]


async def on_both(
    sandbox: Trial, real: Trial, play: Callable[[Trial], Awaitable[dict[str, Judgement]]]
) -> tuple[dict[str, Judgement], dict[str, Judgement]]:
    """The same on both sides, side by side."""
    mine, theirs = await asyncio.gather(play(sandbox), play(real))
    return mine, theirs


@pytest.mark.real
@pytest.mark.timeout(patient(300))
async def test_both_schedulers_let_the_same_pods_in_and_tell_the_others_why_not() -> None:
    """Required pod affinity and anti-affinity in 160 generated cases, word for word."""
    draw = random.Random(SEED)
    async with both_sides() as (sandbox, real):
        run = sandbox.run
        groups = [f"{run}-{number}" for number in range(GROUPS)]
        residents = [make_residents(draw, run, group) for group in groups]
        guests = [make_guest(draw, run, g, n) for g in groups for n in range(PODS_OF_GROUP)]

        async def play(side: Trial) -> dict[str, Judgement]:
            for team in _TEAMS:
                await side.make_namespace(f"{run}-{team}", {"team": f"{run}-{team}"})
            await side.make_nodes([node for group in groups for node in nodes_of(group)])
            for by_namespace in residents:
                for namespace, pods in by_namespace.items():
                    await side.make_pods(namespace, pods)
            for team in _TEAMS:
                namespace = f"{run}-{team}"
                count = sum(len(of_group[namespace]) for of_group in residents)
                housed = await side.judged(namespace, count=count)
                assert all(judgement.node for judgement in housed.values())
            await side.make_namespace(f"{run}-guests", {"team": f"{run}-{_TEAMS[0]}"})
            await side.make_pods(f"{run}-guests", guests)
            return await side.judged(f"{run}-guests", count=len(guests))

        mine, theirs = await on_both(sandbox, real, play)
    pinned = {pod["metadata"]["name"] for pod in guests if HOST in pod["spec"]["nodeSelector"]}
    specs = {pod["metadata"]["name"]: pod for pod in guests}
    for name, judgement in theirs.items():
        assert bool(mine[name].node) == bool(judgement.node), (specs[name], mine[name], judgement)
        assert mine[name].message == judgement.message, specs[name]
        assert mine[name].node == judgement.node or name not in pinned
    assert 0.2 < sum(bool(each.node) for each in theirs.values()) / len(theirs) < 0.8
    assert len({each.message for each in theirs.values()}) >= 8, "the refusals say little"


def _leaning(kind: str, weight: int, labels: Obj, *, topology: str = HOST) -> Obj:
    about = {"topologyKey": topology, "labelSelector": {"matchLabels": labels}}
    return {kind: {PREFERRED: [{"weight": weight, "podAffinityTerm": about}]}}


def _needing(labels: Obj) -> Obj:
    about = {"topologyKey": HOST, "labelSelector": {"matchLabels": labels}}
    return {"podAffinity": {REQUIRED: [about]}}


def _liking(*weights: tuple[int, str]) -> Obj:
    """A preferred node affinity, by hosts."""
    return {
        "nodeAffinity": {
            PREFERRED: [
                {
                    "weight": weight,
                    "preference": {
                        "matchExpressions": [{"key": HOST, "operator": "In", "values": [host]}]
                    },
                }
                for weight, host in weights
            ]
        }
    }


def those_that_please(group: str) -> list[Obj]:
    """Residents that others want to be near or away from, or that have wishes of their own."""
    zero, one, two, three = (f"{group}-{number}" for number in range(4))
    averse = _leaning("podAntiAffinity", 50, {"g": "odd"})
    return [
        a_pod("lures", group=group, labels={"r": "lures"}, on=zero),
        a_pod("second", group=group, labels={"r": "second"}, on=two),
        a_pod("here", group=group, labels={"r": "feared"}, on=zero),
        a_pod("there", group=group, labels={"r": "feared"}, on=one),
        a_pod("everywhere", group=group, labels={"r": "feared"}, on=three),
        a_pod("fond", group=group, on=two, affinity=_leaning("podAffinity", 50, {"g": "dear"})),
        *(a_pod(f"averse-{on}", group=group, on=on, affinity=averse) for on in (zero, one, two)),
        a_pod(
            "devoted", group=group, labels={"g": "idol"}, on=three, affinity=_needing({"g": "idol"})
        ),
    ]


def those_that_choose(group: str) -> dict[str, tuple[str, Obj]]:
    """Guests in their order: the node that each has to get, and the pod."""
    zero, one, two, three = (f"{group}-{number}" for number in range(4))
    zone = _leaning("podAffinity", 1, {"r": "second"}, topology=ZONE)
    guests: tuple[tuple[str, str, Obj, Obj], ...] = (
        ("likes-a-host", one, {}, _liking((1, one))),
        ("likes-one-more", two, {}, _liking((10, zero), (60, two), (50, three))),
        ("adds-likings-up", zero, {}, _liking((60, two), (30, zero), (40, zero))),
        ("is-lured", zero, {}, _leaning("podAffinity", 100, {"r": "lures"})),
        ("is-lured-to-a-zone", two, {}, zone),
        ("is-afraid", two, {}, _leaning("podAntiAffinity", 100, {"r": "feared"})),
        ("is-dear-to-one", two, {"g": "dear"}, {}),
        ("is-odd-to-others", three, {"g": "odd"}, {}),
        ("is-needed", three, {"g": "idol"}, {}),
    )
    return {
        name: (node, a_pod(name, group=group, labels=labels, affinity=affinity))
        for name, node, labels, affinity in guests
    }


@pytest.mark.real
@pytest.mark.timeout(patient(300))
async def test_both_schedulers_follow_preferences() -> None:
    """Preferred affinity to nodes and pods, of pods that ask and of those that are there."""
    async with both_sides() as (sandbox, real):
        group = sandbox.run
        residents, guests = those_that_please(group), those_that_choose(group)

        async def play(side: Trial) -> dict[str, Judgement]:
            await side.make_namespace(group)
            await side.make_nodes(nodes_of(group))
            await side.make_pods(group, residents)
            await side.judged(group, count=len(residents))
            found: dict[str, Judgement] = {}
            for name, (_, guest) in guests.items():  # one by one: none is in the way of the next
                await side.make_pods(group, [guest])
                found[name] = Judgement(await side.placed(group, name))
                await side.ask("DELETE", f"/api/v1/namespaces/{group}/pods/{name}")
            return found

        mine, theirs = await on_both(sandbox, real, play)
    expected = {name: node for name, (node, _) in guests.items()}
    assert {name: judgement.node for name, judgement in theirs.items()} == expected
    assert {name: judgement.node for name, judgement in mine.items()} == expected


def _apart(kind: str, labels: Obj) -> Obj:
    return {kind: {REQUIRED: [{"topologyKey": HOST, "labelSelector": {"matchLabels": labels}}]}}


def those_that_are_in_the_way(run: str) -> list[Obj]:
    """Residents, each on a node of its own; the fourth node has a taint."""
    shy = _apart("podAntiAffinity", {"g": "loud"})
    return [
        a_pod("plain", group=f"{run}-0"),
        a_pod("shy", group=f"{run}-1", affinity=shy),
        a_pod("rival", group=f"{run}-2", labels={"r": "rival"}),
    ]


def those_that_wait(run: str) -> list[Obj]:
    """Guests for whom there is no place yet."""
    away_from_rival = _apart("podAntiAffinity", {"r": "rival"})
    return [
        a_pod("fan", group=f"{run}-0", affinity=_apart("podAffinity", {"r": "star"})),
        a_pod("friend", group=f"{run}-0", affinity=_apart("podAffinity", {"r": "late"})),
        a_pod("loud", group=f"{run}-1", labels={"g": "loud"}),
        a_pod("other", group=f"{run}-2", affinity=away_from_rival),
        a_pod("kept-out", group=f"{run}-3"),
        a_pod("picky", group=f"{run}-0", on="a-host-to-be"),
    ]


async def change_everything(side: Trial) -> None:
    """What each of those that wait was waiting for."""
    run = side.run
    pods = f"/api/v1/namespaces/{run}/pods"
    await side.merge(f"{pods}/plain", {"metadata": {"labels": {"r": "star"}}})
    await side.make_pods(run, [a_pod("late", group=f"{run}-0", labels={"r": "late"})])
    await side.placed(run, "late")
    await side.ask("DELETE", f"{pods}/shy")
    await side.merge(f"{pods}/rival", {"metadata": {"labels": {"r": "friend"}}})
    await side.merge(f"/api/v1/nodes/{run}-3", {"spec": {"taints": None}})
    await side.merge(f"/api/v1/nodes/{run}-0", {"metadata": {"labels": {HOST: "a-host-to-be"}}})


@pytest.mark.real
@pytest.mark.timeout(patient(300))
async def test_a_waiting_pod_gets_its_place_when_pods_and_nodes_change() -> None:
    """Labels of pods, labels and taints of nodes, pods that come and go: on both sides."""
    taint = {"key": "diff.example.com/keep-out", "effect": "NoSchedule"}
    async with both_sides() as (sandbox, real):
        run = sandbox.run
        names = [f"{run}-{number}" for number in range(4)]
        nodes = [a_node(name, group=name) for name in names[:3]]
        nodes.append(a_node(names[3], group=names[3], taints=[taint]))
        residents, guests = those_that_are_in_the_way(run), those_that_wait(run)
        waiting = [pod["metadata"]["name"] for pod in guests]

        async def play(side: Trial) -> dict[str, Judgement]:
            await side.make_namespace(run)
            await side.make_nodes(nodes)
            await side.make_pods(run, residents)
            await side.judged(run, count=len(residents))
            await side.make_pods(run, guests)
            before = await side.judged(run, count=len(residents) + len(guests))
            assert sorted(name for name, each in before.items() if not each.node) == sorted(waiting)
            await change_everything(side)
            return {name: Judgement(await side.placed(run, name)) for name in waiting}

        mine, theirs = await on_both(sandbox, real, play)
    assert mine == theirs

"""`millrace replay`: what people see of a recording, and the exit codes."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml
from typer.testing import CliRunner, Result

from cli.commands import app
from history.accepting import FILE
from history.breaking import known_names
from history.comparing import Verdict
from history.entries import Decided, Gap
from history.manifests import StartKept
from history.replaying import Wanted, replayed
from history.stepping import Stepping
from history.tallying import replay_file, tally_of
from services.launching.core import deciding as launch_deciding
from services.launching.core.rules import RULES
from tests.simulation.applications import submit_example
from tests.simulation.remaking import Log, edited, log_of, steps_of, without
from tests.simulation.world import World, simulate
from tests.unit.history.logs import FewRecords, with_manifest, written

RULE = "POD_RUNNING"
"""What holds as long as the pod of a PE runs."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    logs: list[Log] = []

    async def test(world: World) -> None:
        world.start()
        submit_example(world, "j", width=1)
        await world.until("running", lambda: world.is_running("j"))
        await world.settle()
        await world.kill("pod-state-machine")
        world.start("pod-state-machine")
        await world.settle()
        for service in ("pod-state-machine", "fusion-backend"):
            await world.stop(service)
        logs.append(await log_of(world))

    simulate(tmp_path_factory.mktemp("replay"), test)
    return logs[0]


@pytest.fixture
def file(log: Log, tmp_path: Path) -> Path:
    """The recording of the run, in a folder of its own."""
    return recording_of(log, tmp_path / "shop.rec")


@pytest.fixture
def mutant(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release whose rules are others."""
    left = tuple(each for each in RULES if each.observation.name != RULE)
    monkeypatch.setattr(launch_deciding, "RULES", left)


def recording_of(log: Log, path: Path) -> Path:
    kept = {name: records for name, records in log.records.items() if records}
    return written(path, FewRecords(log.layout, kept))


def replay(*words: object, keys: str = "") -> Result:
    return CliRunner().invoke(app, ["replay", *map(str, words)], input=keys)


def documents(result: Result) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in result.stdout.splitlines()]


def first_with_rule(log: Log) -> Decided:
    """The first decision for which the rule holds."""
    steps = asyncio.run(steps_of(log, Wanted(has_changes=False)))
    return next(each.recorded for each in steps if RULE in each.recorded.decision.rules.values())


# --------------------------------------------------------------------------- what is shown


def test_every_decision_is_shown_with_its_snapshot_rules_and_effects(log: Log, file: Path) -> None:
    result = replay(file)
    assert result.exit_code == 0
    shown = result.stdout
    assert "pod-state-machine default/j-0: " in shown
    assert "snapshot: " in shown
    assert "changed: " in shown
    assert "effect: CreatePod" in shown
    count = asyncio.run(tally_of(log)).decisions
    assert f"{count} decisions of 3 starts: {count} equal, 0 different, 0 unknown" in shown


def test_a_release_that_is_another_one_is_named(file: Path) -> None:
    assert "was of release (not installed), and this is" in replay(file, "--diff").stderr


def test_programs_get_a_json_object_for_each_decision_and_one_for_all(file: Path) -> None:
    *steps, total = documents(replay(file, "--json", "--service", "pod-state-machine"))
    assert {each["recorded"]["service"] for each in steps} == {"pod-state-machine"}
    assert {each["verdict"] for each in steps} == {"equal"}
    assert total["decisions"] == len(steps)
    created = next(each for each in steps if each["again"]["effects"])
    assert created["again"]["decided"] == created["recorded"]["decided"]


@pytest.mark.parametrize("until", ["3", "#3"])
def test_a_replay_ends_where_that_is_requested(file: Path, until: str) -> None:
    *steps, _ = documents(replay(file, "--json", "--until", until))
    assert [each["number"] for each in steps] == [1, 2, 3]
    (*_, last), _ = steps, None
    *same, _ = documents(replay(file, "--json", "--until", last["place"]))
    assert [each["number"] for each in same] == [1, 2, 3]
    *none, _ = documents(replay(file, "--json", "--until", "2001-01-01T00:00:00Z"))
    assert none == []


def test_a_replay_ends_before_a_fact_is_known(file: Path) -> None:
    *steps, _ = documents(replay(file, "--json", "--until", "cluster/0@0"))
    assert all(each["recorded"]["position"]["offsets"].get("cluster/0", 0) == 0 for each in steps)


# --------------------------------------------------------------------------- differences


@pytest.mark.usefixtures("mutant")
def test_a_planted_bug_is_named_as_the_first_decision_that_differs(log: Log, file: Path) -> None:
    """With both decisions, and the inputs of both."""
    place = first_with_rule(log).place
    result = replay(file, "--diff")
    assert result.exit_code == 1
    first, *lines = result.stdout.splitlines()
    assert first.startswith("the first decision that differs: #")
    assert f" {place} " in first
    assert "the snapshot has the same objects" in lines[0]
    assert [line.split(":")[0].strip() for line in lines[1:3]] == [
        "inputs, recorded",
        "inputs, this release",
    ]
    assert lines[1].split(":")[1] == lines[2].split(":")[1]
    assert RULE in "\n".join(lines)


def test_without_a_bug_nothing_differs(file: Path) -> None:
    result = replay(file, "--diff")
    assert (result.exit_code, len(result.stdout.splitlines())) == (0, 1)


@pytest.mark.usefixtures("mutant")
def test_differences_that_are_meant_are_listed_beside_the_recording(log: Log, file: Path) -> None:
    found = asyncio.run(steps_of(log, Wanted(has_changes=False)))
    differ = [str(each.place) for each in found if each.compared.verdict is Verdict.DIFFERENT]
    accept(file, differ)
    result = replay(file, "--diff")
    assert result.exit_code == 0
    assert f"{len(differ)} different and accepted" in result.stdout
    assert asyncio.run(replay_file(file)).is_equal
    accept(file, differ[1:])
    assert replay(file, "--diff").exit_code == 1, "one is not listed"
    tally = asyncio.run(replay_file(file))
    assert tally.first is not None
    assert str(tally.first.place) == differ[0]


def test_a_listed_difference_that_is_gone_fails_with_a_sentence(log: Log, file: Path) -> None:
    place = first_with_rule(log).place
    accept(file, [str(place), "decisions/0@999999"])
    result = replay(file, "--diff")
    assert result.exit_code == 1
    assert f"lists {place}, which no longer differs" in result.stdout
    assert "lists decisions/0@999999, and the recording has no such decision" in result.stdout


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{}", "is no list"),
        ("- 3", "item 1 has no decision"),
        ("- {decision: a, reason: b}", "item 1: release is not a text"),
        ("- {decision: a, reason: b, release: 1, more: 2}", "has more, which nobody reads"),
        ("- {decision: a, reason: b, release: 1}\n" * 2, "lists a twice"),
        ("[", "cannot be read"),
        ("- &a {decision: a}\n- *a", "has the alias *a: write it out"),
        ("- {decision: a, reason: b, release: 1, recording: [b]}", "recording is not a text"),
        ("x" * (1024 * 1024 + 1), "more than"),
    ],
)
def test_a_list_that_cannot_be_used_is_refused(file: Path, text: str, why: str) -> None:
    (file.parent / FILE).write_text(text)
    result = replay(file, "--diff")
    assert result.exit_code == 2
    assert why in result.stderr


def accept(file: Path, places: Sequence[str]) -> None:
    items = [{"decision": each, "reason": "it is meant", "release": "9"} for each in places]
    (file.parent / FILE).write_text(yaml.safe_dump(items))


def test_what_is_behind_a_gap_is_unknown_and_never_equal(log: Log, tmp_path: Path) -> None:
    start = log.starts("pod-state-machine")[0]
    file = recording_of(without(log, start, 3), tmp_path / "gap.rec")
    result = replay(file, "--diff")
    assert result.exit_code == 0
    assert "gap: pod-state-machine, start" in result.stdout
    assert "observation 3 is missing; " in result.stdout
    assert not asyncio.run(replay_file(file)).is_equal
    alone = replay(file, "--diff", "--service", "pod-state-machine", "--until", "2")
    assert "no decision could be compared" in alone.stderr
    assert alone.exit_code == 1


def test_a_recording_in_which_all_decisions_differ_was_compared(log: Log, tmp_path: Path) -> None:
    other = edited(log, lambda each: each | {"reason": "Other"} if "reason" in each else each)
    file = recording_of(other, tmp_path / "other.rec")
    result = replay(file, "--diff", "--service", "fusion-backend")
    assert result.exit_code == 1
    assert ": 0 equal, " in result.stdout
    assert "no decision could be compared" not in result.stderr


@pytest.mark.parametrize("option", ["--diff", "--json"])
def test_a_job_without_a_decision_is_a_failure(file: Path, option: str) -> None:
    result = replay(file, "--job", "jj", option)
    assert (result.exit_code, result.stdout) == (1, "")
    assert "has no decision about job jj in namespace default" in result.stderr


def test_decisions_that_are_lost_are_a_gap(log: Log, tmp_path: Path) -> None:
    name = first_with_rule(log).place.partition
    records = log.records[name]
    cut = Log({**log.records, name: [*records[:5], *records[6:]]})
    result = replay(recording_of(cut, tmp_path / "cut.rec"), "--diff")
    assert f"gap: records 5 to 5 of {name} are missing: decisions may be among them" in (
        result.stdout
    )


def test_what_the_manifest_counts_and_the_file_lacks_is_a_gap(log: Log, file: Path) -> None:
    position = first_with_rule(log).decision.position
    kept = StartKept("pod-state-machine", position.instance, position.start, decisions=999)
    gap = Gap("resources/0", 0, 0, "it was emptied while it was read")
    with_manifest(file, starts=(kept,), gaps=(gap,))
    result = replay(file, "--diff")
    assert "999 decisions were recorded, and the file has " in result.stdout
    assert "gap: resources/0: it was emptied while it was read" in result.stdout


# --------------------------------------------------------------------------- break and step


def test_a_replay_stops_at_the_first_decision_with_a_rule_or_a_reason(log: Log, file: Path) -> None:
    recorded = first_with_rule(log)
    result = replay(file, "--break", RULE)
    assert result.exit_code == 0
    assert f" {recorded.place} " in result.stdout.splitlines()[0]
    by_reason = replay(file, "--break", recorded.decision.reason)
    assert (by_reason.exit_code, by_reason.stdout) == (0, result.stdout)


def test_a_name_that_does_not_exist_gets_those_that_do(file: Path) -> None:
    assert RULE in known_names()
    wrong = replay(file, "--break", "POD_RUNING")
    assert wrong.exit_code == 1
    assert RULE in wrong.stderr
    not_met = replay(file, "--break", "UNPLACED")
    assert not_met.exit_code == 1
    assert "no decision has the rule or reason UNPLACED; there are " in not_met.stderr


def test_one_steps_forth_and_back_by_lines(log: Log, file: Path) -> None:
    place = first_with_rule(log).place
    keys = f"n\n\np\np\np\ng 3\ng {place}\nb {RULE}\nb nothing\ng elsewhere\n"
    keys += "g 3\ng 9999\nn\nx\nq\nn\n"
    result = replay(file, "--step", keys=keys)
    assert result.exit_code == 0
    heads = [line.split() for line in result.stdout.splitlines() if line.startswith("#")]
    assert [head[0] for head in heads[:6]] == ["#1", "#2", "#3", "#2", "#1", "#3"]
    assert heads[6][1] == str(place)
    assert [head[0] for head in heads[8:]] == ["#3", "#4"]  # where nothing was found, one stays
    for sentence in (
        "there is no decision before this one",
        "from here on, this release has no rule or reason nothing",
        "'elsewhere' is not PARTITION@OFFSET",
        "no decision is at 9999 or behind it",
        "n or Enter: the next decision",
    ):
        assert sentence in result.stderr


def test_stepping_keeps_few_decisions_and_begins_again_to_go_back(log: Log) -> None:
    async def step() -> list[int]:
        async with replayed(log, Wanted()) as replay:
            stepping = Stepping(replay, kept=4)
            for _ in range(9):
                await stepping.forth()
            numbers = []
            for _ in range(8):
                found = await stepping.back()
                assert found is not None
                numbers.append(found.number)
            assert stepping.begun < 8
            assert await stepping.back() is None
            await stepping.close()
            return numbers

    assert asyncio.run(step()) == [8, 7, 6, 5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    ("words", "code", "why"),
    [
        (("--service", "watch-ingest"), 2, "decides nothing"),
        (("--until", "soon"), 2, "is not PARTITION@OFFSET"),
        (("--step", "--diff"), 2, "--step is for people"),
    ],
)
def test_options_that_cannot_be_used_are_refused(
    file: Path, words: Sequence[str], code: int, why: str
) -> None:
    result = replay(file, *words)
    assert result.exit_code == code
    assert why in " ".join(result.output.replace("│", " ").split())


def test_a_file_that_is_no_recording_is_refused(tmp_path: Path) -> None:
    assert replay(tmp_path / "nowhere").exit_code == 2
    (tmp_path / "text").write_text("no recording")
    result = replay(tmp_path / "text")
    assert result.exit_code == 2
    assert "is no recording" in result.stderr


# --------------------------------------------------------------------------- hostile recordings


def _hostile() -> Iterator[tuple[str, Callable[[dict[str, Any]], None], str]]:
    yield "a service", lambda it: it.update(service="stranger"), "has no service stranger"
    yield "a key", lambda it: it.update(key="default/nobody"), "has the key default/nobody"
    yield "a type", lambda it: it.update(rules=[]), "cannot be read"
    yield "no position", lambda it: it.pop("position"), "cannot be read"
    yield "a start", lambda it: it["position"].update(start="x"), "observation 1 is missing"
    yield (
        "far offsets",
        lambda it: it["position"].update(offsets={"resources/0": 10**17}),
        "no record",
    )


@pytest.mark.parametrize(
    ("change", "why"), [each[1:] for each in _hostile()], ids=[each[0] for each in _hostile()]
)
def test_a_decision_of_a_stranger_is_a_sentence(
    log: Log, change: Callable[[dict[str, Any]], None], why: str
) -> None:
    target = first_with_rule(log).decision

    def of(value: dict[str, Any]) -> dict[str, Any]:
        if value.get("key") == target.key and value["position"] == target.position.to_json():
            change(value)
        return value

    tally = asyncio.run(tally_of(edited(log, of)))
    assert any(why in gap for gap in tally.gaps), dict(tally.gaps)


VALUES: tuple[Any, ...] = (None, -1, 2**53, "", "x", "/", [], {}, [[]], {"a": {}}, True, 1e300)


def test_records_with_any_values_end_no_replay(log: Log) -> None:
    """Forty recordings with other values in some decisions and observations."""
    for seed in range(40):
        draw = random.Random(seed)

        def spoilt(value: dict[str, Any], draw: random.Random = draw) -> dict[str, Any]:
            if draw.random() < 0.1:
                spoil(value, draw)
            return value

        tally = asyncio.run(tally_of(edited(log, spoilt), wanted=Wanted("pod-state-machine")))
        assert tally.decisions or tally.gaps


def spoil(value: Any, draw: random.Random) -> None:
    """Put another value somewhere inside."""
    while isinstance(value, dict | list) and value:
        at = draw.choice([*value]) if isinstance(value, dict) else draw.randrange(len(value))
        if not isinstance(value[at], dict | list) or not value[at] or draw.random() < 0.2:
            value[at] = draw.choice(VALUES)
            return
        value = value[at]

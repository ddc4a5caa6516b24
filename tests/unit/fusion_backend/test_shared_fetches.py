"""Who fetches bundles at the same time shares: a slow server delays those who ask it."""

from __future__ import annotations

import asyncio
import hashlib
from pathlib import Path

import pytest

from tests.unit.fusion_backend.test_bundle_store import (
    URL,
    ZIP,
    FromElsewhere,
    behind,
    store_of,
)


@pytest.fixture
def elsewhere() -> FromElsewhere:
    """What is behind every URL."""
    return FromElsewhere()


async def turns() -> None:
    """Let everybody go on until all of them wait."""
    for _ in range(20):
        await asyncio.sleep(0)


async def test_a_server_that_is_slow_for_one_namespace_delays_no_other(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    """Twenty jobs of a namespace ask it; a job of another one does not wait in line for them."""
    store = store_of(tmp_path, elsewhere)
    slow = [behind(f"https://slow.example/{number}.sab") for number in range(20)]
    elsewhere.gates = {each.url: asyncio.Event() for each in slow}
    waiting = [asyncio.create_task(store.take_in(each, "crowded")) for each in slow]
    await turns()
    assert len(elsewhere.asked) == 4
    assert await store.take_in(behind(), "other") == hashlib.sha256(ZIP).hexdigest()
    for gate in elsewhere.gates.values():
        gate.set()
    assert len(await asyncio.gather(*waiting)) == 20


async def test_equal_fetches_at_the_same_time_are_one(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    """Of one namespace, URL, Secret and root: who may have it in another way fetches itself."""
    store = store_of(tmp_path, elsewhere)
    gate = elsewhere.gates[URL] = asyncio.Event()
    equal = [store.take_in(behind(), "default") for _ in range(3)]
    others = [
        store.take_in(behind(), "other"),
        store.take_in(behind(secret="mine"), "default"),
        store.take_in(behind(ca_config_map="roots"), "default"),
    ]
    asked = [asyncio.create_task(each) for each in (*equal, *others)]
    await turns()
    assert len(elsewhere.asked) == 4
    gate.set()
    assert set(await asyncio.gather(*asked)) == {hashlib.sha256(ZIP).hexdigest()}
    assert len(elsewhere.asked) == 4


async def test_who_wants_the_newest_does_not_get_what_began_to_be_fetched_before(
    tmp_path: Path, elsewhere: FromElsewhere
) -> None:
    """The bundle was replaced, and then the Job created, while the old one was on its way."""
    store = store_of(tmp_path, elsewhere)
    gate = elsewhere.gates[URL] = asyncio.Event()
    before = asyncio.create_task(store.take_in(behind(), "default"))
    await turns()
    elsewhere.content = ZIP + b", another one"
    newest = asyncio.create_task(store.take_in(behind(pull_policy="Always"), "default"))
    present = asyncio.create_task(store.take_in(behind(), "default"))
    await turns()
    gate.set()
    assert await newest == hashlib.sha256(ZIP + b", another one").hexdigest()
    assert await before == hashlib.sha256(ZIP).hexdigest()
    await present

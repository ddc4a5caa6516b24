"""An answer counts beside the status until the status records it, and a newer one goes on."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

from placement.answers import Placed
from placement.deciding import Limits
from services.chassis.kube.writing import Writer
from services.chassis.process.metrics import Metrics
from services.chassis.running.wiring import Runtime, Wiring
from services.chassis.table.table import Table
from services.hostpool_manager.adapters.folding import SEARCHED, ClusterFold, data_of, searched_of
from services.hostpool_manager.adapters.searching import Searches
from services.hostpool_manager.core.quotas import Quotas
from services.hostpool_manager.core.snapshot import Found, InForce, LastSearch, Ref, Searched
from services.hostpool_manager.core.statuses import status_of_answer

SHOP = Ref("default", "shop")


def on_node(node: str) -> Found:
    """An answer to a spec of one PE."""
    pes = {0: node}
    status = status_of_answer(Placed(pes, ()), spec_generation=1, in_force=InForce(0, {}, pes))
    return Found("uid", 1, status)


def kept(table: Table, found: Found | None, *, version: int) -> None:
    """Let a search for it have ended."""
    searched = Searched(LastSearch("uid", 1, 7, 100.0, 0.5, 0), found)
    table.observe(SEARCHED, *SHOP, uid="uid", resource_version=version, data=data_of(searched))


def found_in(table: Table) -> Found | None:
    """The answer that still counts."""
    entry = table.get(SEARCHED, *SHOP)
    assert entry is not None
    return searched_of(entry).found


def test_an_answer_counts_until_the_status_records_it() -> None:
    table = Table()
    runtime = cast(Runtime, SimpleNamespace(clock=None))
    wiring = Wiring(table, cast(Writer, None), runtime, lambda _key: None)
    searches = Searches(wiring, ClusterFold(Metrics()), Limits(), Quotas(), in_threads=False)
    kept(table, on_node("n1"), version=1)
    kept(table, on_node("n2"), version=2)
    searches.note_recorded(SHOP, on_node("n1").status)
    assert found_in(table) == on_node("n2"), "another search has ended during the write"
    searches.note_recorded(SHOP, on_node("n2").status)
    assert found_in(table) is None


def test_what_an_entry_has_of_a_search_comes_back() -> None:
    table = Table()
    for version, found in enumerate((on_node("n1"), None), start=1):
        kept(table, found, version=version)
        assert found_in(table) == found
    assert on_node("n1").in_force == InForce(0, {}, {0: "n1"})

"""hostpool-manager, whose view is compared with a fresh fold before each decision."""

from __future__ import annotations

from typing import Any, cast

from services.chassis.process.metrics import Metrics
from services.chassis.running.stage import Stage
from services.chassis.running.wiring import MakeStage, Wiring
from services.chassis.table.entries import TableReading
from services.chassis.table.table import Table
from services.chassis.table.viewing import Views
from services.hostpool_manager.adapters.folding import ClusterFold
from services.hostpool_manager.adapters.intake import Key
from services.hostpool_manager.adapters.stage import HostpoolManager
from services.hostpool_manager.core.snapshot import Snapshot
from tests.cluster_contents import contents_of_view


def checked(make_stage: MakeStage) -> MakeStage:
    """A factory of the stage, which crashes where its view is not what its table says."""

    def make(wiring: Wiring) -> Stage[Any, Any, Any]:
        stage = cast(HostpoolManager, make_stage(wiring))
        snapshot = stage.snapshot

        def checked_snapshot(table: TableReading, key: Key) -> Snapshot:
            (fold,) = stage.views
            assert isinstance(fold, ClusterFold)
            view, fresh = fold.view, folded(wiring.table).view
            checked = [*view._problems]  # only these: what is not checked yet is left for later
            assert contents_of_view(view, checked) == contents_of_view(fresh, checked)
            return snapshot(table, key)

        stage.snapshot = checked_snapshot  # type: ignore[method-assign]
        return stage

    return make


def folded(table: Table) -> ClusterFold:
    """A fold of all that a table holds now, made at once."""
    fold = ClusterFold(Metrics())
    copy = Table()
    views = Views(copy, (fold,), lambda _ref: None)
    for kind in sorted(fold.kinds, reverse=True):
        for entry in table.of_kind(kind):
            ref, uid = entry.ref, entry.uid
            for each in (table.whole(*ref), entry):
                if each is not None:
                    copy.observe(
                        *ref, uid=uid, resource_version=each.resource_version, data=each.data
                    )
    views.fold_all()
    return fold

"""The input of decisions on launches: an owner with its pods, as frozen values.

The services that launch pods build these from their tables; nothing here depends on facts or
writes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from contracts.scheduling.nodes import Node
from services.launching.core.named_objects import NamedObject
from services.launching.core.nodes import NodeOfPod
from services.launching.core.owners import Owner
from services.launching.core.pods import Pod


@dataclass(frozen=True, slots=True)
class Launched:
    """A launch whose pod existed, whether or not it still does."""

    launch: int
    pod: str
    content_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchSnapshot:
    """An owner with its pods, and the nodes that they are or were on.

    `owner` is None when only pods of it are left. `pods` are those that an owner of this name (any
    uid) controls or controlled; `ended` are names of pods whose end was observed; `launched` is the
    newest launch of this owner (by uid) that is known to have had a pod; `last` is the last
    observed state of the newest launch's pod, if it is gone. `nodes` are those that its pods,
    `last`, the status and the placement name.
    """

    owner: Owner | None
    pods: tuple[Pod, ...] = ()
    ended: frozenset[str] = frozenset()
    launched: Launched | None = None
    last: Pod | None = None
    nodes: tuple[Node, ...] = ()

    def node(self, name: str) -> NodeOfPod:
        """The node of this name; one that does not exist if the snapshot lacks it."""
        found = (each for each in self.nodes if each.name == name)
        return NodeOfPod(name, next(found, None))


@dataclass(frozen=True, slots=True)
class Context:
    """What a launch depends on beside its owner and pods; the owner's service fills it in.

    `has_lost_job`: the job is gone, is being deleted, or is another one of the same name.
    `is_job_busy`: it is being submitted or resized; `job_quiet_since` is when that ended (unix s),
    0 if unknown. `owners_in_job` counts what its job launches.
    `has_mounts`: everything that the pod mounts exists. `awaited` is a sentence for users: what
    else a pod waits for, its node or other owners; empty if it may be created. `is_handing_over`:
    the pod that runs seals its state, before another with a new content replaces it.
    `silent`: launches that say nothing, and without which a hand-over went on.
    `is_report_due`: what runs in its pod reports its connections soon after it started. `node` is
    the assigned node, None for a pod that may run anywhere. `named` finds the
    objects that the pod needs and millrace does not make; only messages about a pod that is held up
    need them, and to find them takes a fifth of an ordinary decision.
    """

    has_lost_job: bool
    is_job_busy: bool
    owners_in_job: int
    has_mounts: bool
    awaited: str
    node: str | None
    job_quiet_since: float = 0.0
    is_handing_over: bool = False
    is_report_due: bool = False
    silent: frozenset[int] = frozenset()
    named: Callable[[], Iterable[NamedObject]] = field(default=tuple, compare=False)


@dataclass(frozen=True, slots=True)
class Timing:
    """The clocks of the state machine, in seconds.

    A status that only informs waits while a job is being submitted or resized, for `status_busy_s`
    at most; then status Starting waits `status_settle_s` from the creation of the pod, or from the
    end of the submission or resize if that came later, since the pod will soon run.
    Status Running waits `report_wait_s` for a report that is due, which then comes with it.
    `restart_first_s` doubles with every restart in a row up to `restart_max_s`; a pod that lived
    for `restart_reset_s` resets it. A pod on a node that is lost or not ready hangs `stuck_s` after
    its deletion timestamp.
    """

    status_settle_s: float = 5.0
    status_busy_s: float = 60.0
    report_wait_s: float = 2.0
    restart_first_s: float = 1.0
    restart_max_s: float = 300.0
    restart_reset_s: float = 600.0
    stuck_s: float = 10.0

"""Mutants of the pair's real node: what it would do to the machine, and to the other nodes."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_NODE = ("tests/unit/tools/real/node/test_node.py",)

MUTANTS = (
    Mutant(
        "the kubelet of a real node registers without a label and kwok plays it",
        "tools/real/node/parts.py",
        "node_commands",
        'f"--node-labels={KEY}=true"',
        '"--v=1"',
        _NODE,
    ),
    Mutant(
        "the kubelet of a real node sets the kernel of the machine",
        "tools/real/node/namespaces.py",
        "setup_commands",
        'mounts.append((*enter, "mount", "--bind", file, f"/proc/sys/{name}"))',
        "pass",
        _NODE,
    ),
    Mutant(
        "the folders of the machine are those of the real node",
        "tools/real/node/namespaces.py",
        "setup_commands",
        '(*enter, "mount", "-t", "tmpfs", "tmpfs", path) for path in EMPTY_FOLDERS',
        '(*enter, "true") for path in ()',
        _NODE,
    ),
    Mutant(
        "brokers of a pair with a real node listen where no pod reaches them",
        "tools/real/state.py",
        "PairPlan.address",
        "host = self.host if name in self.reached else LOOPBACK",
        "host = LOOPBACK",
        _NODE,
    ),
    Mutant(
        "a connection that ended counts against the policy of a pod",
        "tests/node/connections.py",
        "parsed",
        "if state == ESTABLISHED and",
        "if",
        ("tests/unit/node/test_connections.py",),
    ),
)

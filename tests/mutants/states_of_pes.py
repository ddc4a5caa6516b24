"""Planted bugs in what surrounds the operators of a PE: which state it loads, and whose groups."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CHOOSING = ("tests/unit/millrace/test_choosing.py",)
_STATES = ("tests/unit/millrace/test_states.py",)
_STORES = ("tests/unit/millrace/test_state_stores.py",)
_GATEWAY = ("tests/unit/millrace/test_gateway_client.py",)
_BUNDLE = ("tests/unit/millrace/test_bundle_in_a_pe.py",)
_SIGNS = ("tests/unit/millrace/test_signs.py",)
_METRICS = ("tests/unit/millrace/test_pe_metrics.py",)
_REDIS = ("tests/unit/millrace/test_redis_store.py",)

MUTANTS = (
    Mutant(
        "a launch loads before the hand-over is complete",
        "millrace/runtime/choosing.py",
        "choose",
        "if not hand_over.complete:",
        "if hand_over.generation < 0:",
        _CHOOSING,
    ),
    Mutant(
        "a later launch loads the hand-over again, and forgets what came since",
        "millrace/runtime/choosing.py",
        "_is_for",
        "return launch > before and not any(name.launch > before for name in own)",
        "return launch > before",
        _CHOOSING,
    ),
    Mutant(
        "a PE that a hand-over does not affect loads from it",
        "millrace/runtime/choosing.py",
        "_is_for",
        "return not own",
        "return True",
        _CHOOSING,
    ),
    Mutant(
        "a checkpoint is taken for exact",
        "millrace/runtime/choosing.py",
        "choose",
        'is_exact=newest.kind == "stopped"',
        "is_exact=newest.launch > 0",
        _CHOOSING,
    ),
    Mutant(
        "a checkpoint wins over the stop that came after it",
        "millrace/runtime/state_names.py",
        "StateName.age",
        "_RANKS[self.kind], self.number",
        "self.number, _RANKS[self.kind]",
        _CHOOSING,
    ),
    Mutant(
        "a seal is taken that another launch made",
        "millrace/runtime/choosing.py",
        "_handed",
        "for pe, launch in sorted(hand_over.sealed.items())",
        "for pe, launch in sorted(hand_over.pes.items())",
        _CHOOSING,
    ),
    Mutant(
        "a state of a newer launch stands for a PE that is gone",
        "millrace/runtime/choosing.py",
        "_instead_of_a_seal",
        "name.launch <= launch",
        "launch >= 0",
        _CHOOSING,
    ),
    Mutant(
        "the seals that other PEs load are removed",
        "millrace/runtime/choosing.py",
        "removable",
        "name.number >= hand_over.generation",
        "name.number > hand_over.generation",
        _CHOOSING,
    ),
    Mutant(
        "an owner takes groups of other channels",
        "millrace/runtime/states.py",
        "merged",
        "if channel_of(group, width, groups) == channel",
        "if channel_of(group, width, groups) >= channel",
        _STATES,
    ),
    Mutant(
        "of two states with one group the later one wins silently",
        "millrace/runtime/states.py",
        "_gathered",
        "if group in found:",
        "if group in found and state.pe < 0:",
        _STATES,
    ),
    Mutant(
        "what a PE that is gone left wins over a seal",
        "millrace/runtime/states.py",
        "merged",
        "missing = wanted - found.keys()",
        "missing = wanted",
        _STATES,
    ),
    Mutant(
        "groups are loaded that were divided by another number",
        "millrace/runtime/states.py",
        "_of_operator",
        "if saved.groups_of != groups:",
        "if saved.groups_of < 0:",
        _STATES,
    ),
    Mutant(
        "a damaged state is loaded",
        "millrace/runtime/states.py",
        "decoded",
        "if hashlib.sha256(body).digest() != digest:",
        "if not digest:",
        _STATES,
    ),
    Mutant(
        "a state is overwritten",
        "millrace/runtime/state_stores.py",
        "_link",
        "os.link(temporary, target)",
        "temporary.rename(target)",
        _STORES,
    ),
    Mutant(
        "a report is forgotten when its answer is lost",
        "millrace/runtime/gateway.py",
        "Gateway.deliver",
        "await trying.failed(trouble)\n                continue",
        "await trying.failed(trouble)",
        _GATEWAY,
    ),
    Mutant(
        "a newer launch does not end this one",
        "millrace/runtime/gateway.py",
        "Gateway.watch",
        "if seen.launch > self._launch:",
        "if seen.launch < 0:",
        _GATEWAY,
    ),
    Mutant(
        "a report that is being sent is left out for a newer one",
        "millrace/runtime/reports.py",
        "Outgoing.add",
        "(place == 0 and self._is_head_sent)",
        "place < 0",
        _GATEWAY,
    ),
    Mutant(
        "a file of a bundle is written over another one",
        "millrace/runtime/unpacking.py",
        "new_file",
        "os.O_EXCL",
        "os.O_TRUNC",
        _BUNDLE,
    ),
    Mutant(
        "a path of a bundle may leave its folder",
        "millrace/runtime/unpacking.py",
        "check_path",
        ' or ".." in parts',
        "",
        _BUNDLE,
    ),
    Mutant(
        "wheels are unpacked before all are checked",
        "millrace/runtime/wheels.py",
        "add_wheels",
        "check_tags(wheel.name, here)",
        "wheel.name",
        _BUNDLE,
    ),
    Mutant(
        "a loop that hangs keeps its liveness file",
        "millrace/runtime/signs.py",
        "LiveFile.look",
        "if self._silent == self._stalled_looks:",
        "if self._silent < 0:",
        _SIGNS,
    ),
    Mutant(
        "counters of PEs have names that the original has not",
        "millrace/runtime/metrics.py",
        "_text_of",
        'if family.type != "counter":',
        "if family.type:",
        _METRICS,
    ),
    Mutant(
        "a state that one of three redis groups has counts as kept",
        "millrace/runtime/redis_store.py",
        "RedisStore._majority",
        "len(self._groups) // 2 + 1",
        "1",
        _REDIS,
    ),
    Mutant(
        "a launch looks for seals where nobody keeps them",
        "millrace/runtime/saving.py",
        "Loading.loaded",
        "case Handed() if isinstance(self.store, NoStore):",
        "case Handed() if self.pe < 0:",
        ("tests/unit/millrace/test_loading_states.py",),
    ),
)

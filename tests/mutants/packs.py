"""Mutants of packs: which AADLs share one, what pods see of it, and when it goes."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_PACKING = "planner/numbering/packing.py"
_CORE = "services/fusion_backend/core"
_PODS = "services/pod_state_machine"
_SIZES = "tests/unit/planner/test_packing.py"
_LIVES = "tests/unit/fusion_backend/test_packs.py"

MUTANTS = (
    Mutant(
        "packs are as full as the bytes allow",
        _PACKING,
        "_fits",
        "len(members) <= pes_max and size <= PACK_BYTES_MAX",
        "size <= PACK_BYTES_MAX",
        (_SIZES, "-k", "little_is_read or nearly_as_few"),
    ),
    Mutant(
        "a small AADL outside of channels shares a pack with a large one",
        _PACKING,
        "_fits",
        "members[0].place != OUTSIDE or",
        "True or",
        (_SIZES, "-k", "shares_no_pack_with_a_large_one"),
    ),
    Mutant(
        "what a resize left over in packs counts for nothing",
        _PACKING,
        "_Waste.pes_max",
        "held > KEPT_MAX * used",
        "False",
        (_SIZES, "-k", "little_is_kept"),
    ),
    Mutant(
        "what stays outside of channels counts as waste of the channels",
        _PACKING,
        "_Waste.pes_max",
        "if place != OUTSIDE:",
        "if False:",
        (_SIZES, "-k", "makes_no_small_packs"),
    ),
    Mutant(
        "the first channels of a region share packs with ten more",
        _PACKING,
        "_takes",
        "next_.place.channel < 3 * first.place.channel + 2",
        "True",
        (_SIZES, "-k", "little_is_kept"),
    ),
    Mutant(
        "a channel is cut where a pack is full",
        _PACKING,
        "_takes",
        "is_near and _fits((*pack, *channel), pes_max)",
        "is_near",
        (_SIZES, "-k", "one_channel_are_in_one_pack"),
    ),
    Mutant(
        "a resize packs everything again",
        "planner/planning.py",
        "_packing",
        "known.content_id == pe.content_id",
        "known.key == pe.content_id",
        (_LIVES, "-k", "until_a_resize"),
    ),
    Mutant(
        "a pack goes while a pod mounts it",
        f"{_CORE}/packs.py",
        "names_in_use",
        "frozenset(named | mounted)",
        "frozenset(named)",
        (_LIVES, "-k", "a_pod_that_stays"),
    ),
    Mutant(
        "a pack of that name counts, whatever it holds",
        f"{_CORE}/packs.py",
        "holds",
        "all(_mark(pe) in marks for pe in members)",
        "True",
        (_LIVES, "-k", "says_other_contents"),
    ),
    Mutant(
        "a PE may name another pack",
        f"{_CORE}/membership.py",
        "_Search._has_spec",
        "seen.content_id == pe.content_id and seen.pack == pack_of(pe)",
        "seen.content_id == pe.content_id",
        (_LIVES, "-k", "somebody_wrote_into_a_pe"),
    ),
    Mutant(
        "a pod sees every AADL of its pack",
        f"{_PODS}/core/pod_volumes.py",
        "_pe_config",
        "if pe.pack else {}",
        "if not pe.pack else {}",
        ("tests/unit/pod_state_machine/test_pod_packs.py",),
    ),
    Mutant(
        "a pack that appears wakes no PE",
        f"{_PODS}/adapters/intake.py",
        "_by_pack",
        'yield entry.namespace, pack["name"]',
        'yield entry.namespace, pack["key"]',
        ("tests/unit/pod_state_machine/test_pod_packs.py",),
    ),
)

"""Planted bugs in replays of recorded decisions, and in what each start records for them."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_COMPARING = "history/comparing.py"
_REPLAYED = "tests/simulation/test_replaying.py"
_COMMAND = "tests/simulation/test_replay_command.py"

MUTANTS = (
    Mutant(
        "a start does not record its settings",
        "services/chassis/running/recording.py",
        "Recorder.__init__",
        '"settings": settings}',
        '"settings": {}}',
        (_REPLAYED, "-k", "records_its_release"),
    ),
    Mutant(
        "the address of a bundle root is recorded",
        "services/fusion_backend/settings.py",
        "FusionBackendSettings.recorded",
        'SOME_ROOT_URL if self.bundle_root_url else ""',
        "self.bundle_root_url",
        ("tests/unit/history/test_stages.py",),
    ),
    Mutant(
        "a replay takes settings from the environment",
        "history/stages.py",
        "settings_of",
        "settings(**defaults | known)",
        'settings(**known | {"bundle_root": _NOWHERE, "bundle_store": _NOWHERE})',
        ("tests/unit/history/test_stages.py",),
    ),
    Mutant(
        "a replay goes on behind a missing observation",
        "services/chassis/running/replaying.py",
        "Replica._observe_up_to",
        "if observation is None or observation.number != self._number + 1:",
        "if observation is None:",
        (_COMMAND, "-k", "behind_a_gap"),
    ),
    Mutant(
        "lost facts are not noticed",
        "services/chassis/running/replaying.py",
        "Replica.ready",
        "if self._is_whole and self._read_facts != position.facts:",
        "if False:",
        (_REPLAYED, "-k", "facts_that_are_lost"),
    ),
    Mutant(
        "a decision with other effects counts as equal",
        _COMPARING,
        "_decided_otherwise",
        "if has_digests and recorded.decided != again.decided:",
        "if False:",
        ("tests/unit/history/test_comparing.py",),
    ),
    Mutant(
        "a decision on other objects is a difference of rules",
        _COMPARING,
        "compared",
        "if has_digests and recorded.objects != again.objects:",
        "if False:",
        (_REPLAYED, "-k", "only_a_view_uses"),
    ),
    Mutant(
        "an accepted difference that is gone is not named",
        "history/accepting.py",
        "Judging.is_meant",
        "item = self._open.pop(place, None)",
        "item = self._open.pop(place, None) if step.compared.sentence else None",
        (_COMMAND, "-k", "listed_difference"),
    ),
    Mutant(
        "a step back shows the decision before the one before",
        "history/stepping.py",
        "Stepping.back",
        "found = await self._step(self._at - 1)",
        "found = await self._step(max(1, self._at - 2))",
        (_COMMAND, "-k", "forth_and_back"),
    ),
)

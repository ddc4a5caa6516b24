"""Mutants of the sandbox: a double that forgives more than the original hides our mistakes."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_STORE = "tests/unit/sandbox/store"
_CONTROLLERS = "tests/unit/sandbox/controllers"

MUTANTS = (
    Mutant(
        "a patch under an old version is taken",
        "sandbox/store/metadata.py",
        "check_version",
        "raise conflict(rt, name)",
        "pass",
        (f"{_STORE}/test_changing.py", f"{_STORE}/test_patching.py"),
    ),
    Mutant(
        "a delete of another uid is taken",
        "sandbox/store/deleting.py",
        "check_preconditions",
        'if options.uid is not None and options.uid != meta["uid"]:',
        "if False:",
        (f"{_STORE}/test_deleting.py",),
    ),
    Mutant(
        "finalizers hold nothing",
        "sandbox/store/deleting.py",
        "decide",
        "if not finalizers:\n    return Deletion(None, gone=True)",
        "return Deletion(None, gone=True)",
        (f"{_STORE}/test_deleting.py",),
    ),
    Mutant(
        "a watch misses what is forgotten and does not say so",
        "sandbox/store/watching.py",
        "History.since",
        "if version < self.forgotten:\n    return None",
        "",
        (f"{_STORE}/test_watching.py",),
    ),
    Mutant(
        "transition rules of a definition are not asked",
        "sandbox/store/custom_resources.py",
        "CustomStrategy._causes",
        "return found + rules.causes(self._rules, self._schema.root, obj, old)",
        "return found",
        (f"{_STORE}/test_rules.py", f"{_STORE}/test_custom_resources.py"),
    ),
    Mutant(
        "a body of more than 10,000 levels is taken",
        "sandbox/http/bodies.py",
        "decoded",
        "if depth > DEPTH_MAX:",
        "if False:",
        ("tests/unit/sandbox/http/test_hostile_bodies.py",),
    ),
    Mutant(
        "managed fields that a client sends are dropped",
        "sandbox/store/managed_fields.py",
        "settle",
        "if kept:",
        "if False:",
        ("tests/unit/sandbox/http/test_hostile_bodies.py",),
    ),
    Mutant(
        "a log that is followed on the sandbox ends at once",
        "sandbox/http/played_logs.py",
        "log_answer",
        'if call.query.text("follow") not in _TRUE:',
        "if True:",
        ("tests/unit/sandbox/http/test_played_logs.py",),
    ),
    Mutant(
        "the garbage collector takes a later object of the owner's name for the owner",
        "sandbox/controllers/garbage_collector.py",
        "GarbageCollector._fate",
        "if owner is None or _uid(owner) != uid:",
        "if owner is None:",
        (f"{_CONTROLLERS}/test_garbage_collection.py",),
    ),
)

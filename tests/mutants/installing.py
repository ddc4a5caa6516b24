"""Mutants of the chart's generators, of `millrace install`, and of the rights of accounts."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_UNIT = "tests/unit/cli/installing"
_SEQUENCE = "cli/installing/sequence.py"
_FILLING = "cli/installing/filling.py"
_CHECKING = "cli/installing/checking.py"
_FRESH = ("tests/architecture/test_generated_files.py", "-k", "every_generated_file")

MUTANTS = (
    Mutant(
        "values set a setting of a service that the chart gives it from another value",
        "deploy/chart_sections.py",
        "settings_of_the_chart",
        "    given |= {each.setting for each in row.mounts}\n",
        "",
        _FRESH,
    ),
    Mutant(
        "Compose gives a service that reads bundles a store that it can write to",
        "deploy/composing.py",
        "_container",
        "each.read_only",
        "False",
        _FRESH,
    ),
    Mutant(
        "a service that serves some namespaces has no right that it needs in all",
        "deploy/charting.py",
        "_of_service",
        "is_cluster_scoped(each) or each in everywhere",
        "is_cluster_scoped(each)",
        _FRESH,
    ),
    Mutant(
        "an installation takes over an object that is not its own",
        _CHECKING,
        "refuse_foreign",
        "    if foreign:\n",
        "    if False:\n",
        (f"{_UNIT}/test_sequence.py", "-k", "not_taken_over"),
    ),
    Mutant(
        "definitions of the same release are not brought up to date",
        _CHECKING,
        "newer_definitions",
        "if _order(version) > _order(application_version()):",
        "if _order(version) >= _order(application_version()):",
        (f"{_UNIT}/test_sequence.py", "-k", "newer_release"),
    ),
    Mutant(
        "an interrupted installation leaves no inventory",
        _SEQUENCE,
        "_carry_out",
        "    await target.apply(inventory_object(begun))\n",
        "",
        (f"{_UNIT}/test_sequence.py", "-k", "interrupted"),
    ),
    Mutant(
        "an upgrade forgets the objects of the release before",
        _SEQUENCE,
        "_carry_out",
        "_delete_own(target, old - refs,",
        "_delete_own(target, (),",
        (f"{_UNIT}/test_sequence.py", "-k", "only_the_release_before"),
    ),
    Mutant(
        "services are started before their topics are made",
        _SEQUENCE,
        "_carry_out",
        "if each not in gates and each not in services]",
        "if each not in gates]",
        (f"{_UNIT}/test_sequence.py", "-k", "before_the_services"),
    ),
    Mutant(
        "an uninstallation deletes the claim with the bundles",
        "cli/installing/objects.py",
        "to_delete",
        "if ref.kind not in KEPT_KINDS",
        "if ref.kind != 'CustomResourceDefinition'",
        (f"{_UNIT}/test_sequence.py", "-k", "leaves_data"),
    ),
    Mutant(
        "brokers that are away look like any failure of an installation",
        _SEQUENCE,
        "_failure_of",
        "CannotReach if any(each.exit_code == KAFKA_AWAY for each in troubles) else Failure",
        "Failure",
        (f"{_UNIT}/test_sequence.py", "-k", "cannot_reach"),
    ),
    Mutant(
        "a value that decides which objects there are is ignored by an installation",
        _FILLING,
        "_flat",
        "if not (is_copied(profile, path) or is_env(path)):",
        "if False:",
        (f"{_UNIT}/test_filling.py", "-k", "cannot_follow"),
    ),
    Mutant(
        "an installation has objects of another profile",
        "cli/installing/profiles.py",
        "text_for",
        "is_kept = profile in line.split()",
        "is_kept = True",
        ("tests/unit/tools/test_rendering.py",),
    ),
    Mutant(
        "an installation takes values that Helm refuses",
        _FILLING,
        "_problem_of",
        "return problem_of(path, value, known[path].schema)",
        'return ""',
        (f"{_UNIT}/test_filling.py", "-k", "cannot_follow"),
    ),
    Mutant(
        "limits inside of a value are not looked at",
        "cli/installing/allowing.py",
        "_additional",
        "if isinstance(others, bool):",
        "if True:",
        (f"{_UNIT}/test_allowing.py", "-k", "named_with_what_is_allowed"),
    ),
    Mutant(
        "a service with a kubeconfig of no use ends with a traceback",
        "services/chassis/running/hosting.py",
        "_refusal_in",
        "isinstance(problem, LogRefused | Misconfigured)",
        "isinstance(problem, LogRefused)",
        ("tests/unit/chassis/running/test_hosting.py", "-k", "kubeconfig"),
    ),
    Mutant(
        "the settings of a service take those of the chart away",
        _FILLING,
        "_merged",
        "if not (isinstance(usual, dict) and isinstance(chosen, dict)):",
        "if True:",
        (f"{_UNIT}/test_filling.py", "-k", "environment"),
    ),
    Mutant(
        "a reader of a topic may write it on Kafka",
        "services/chassis/log/kafka_acls.py",
        "_on_topics",
        "if topic in row.writes:",
        "if topic in row.writes or topic in row.reads:",
        ("tests/unit/chassis/log/test_kafka_acls.py",),
    ),
    Mutant(
        "bundles are removed by the Jobs of namespaces that no Role covers",
        "services/fusion_backend/adapters/bundles/unused.py",
        "UnusedBundles.remove",
        "for namespace in self._namespaces or (None,):",
        "for namespace in (None,):",
        ("tests/unit/fusion_backend/test_unused.py", "-k", "where_the_service_works"),
    ),
)

"""Mutants of the command: what it does to files of a person, and what it says of a request."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_CONTEXTS = "tests/unit/cli/test_contexts.py"
_SPLICING = "tests/unit/cli/test_splicing.py"
_SUBMITTING = "tests/unit/cli/test_submitting.py"
_CONTROLLING = "tests/unit/cli/test_controlling.py"

MUTANTS = (
    Mutant(
        "the current context of a person is not restored after up",
        "cli/contexts.py",
        "without_context",
        'current = next((each for each in info.previous if each in left), "")',
        'current = ""',
        (_CONTEXTS,),
    ),
    Mutant(
        "a context that a person chose while up ran is changed at its end",
        "cli/contexts.py",
        "without_context",
        'if config.get("current-context") != name:',
        "if False:",
        (_CONTEXTS,),
    ),
    Mutant(
        "entries of an up that runs are taken over by the next one",
        "cli/contexts.py",
        "_put_in",
        "if left.has_ended():",
        "if True:",
        (_CONTEXTS,),
    ),
    Mutant(
        "entries of an up on another machine count as ended",
        "cli/kubeconfigs.py",
        "UpInfo.has_ended",
        'return self.host == socket.gethostname() and not is_locked(self.state / "logs")',
        'return not is_locked(self.state / "logs")',
        (_CONTEXTS,),
    ),
    Mutant(
        "the kubeconfig is changed without the lock of kubectl",
        "cli/contexts.py",
        "_locked",
        "await _take_lock(path)",
        "pass",
        (_CONTEXTS,),
    ),
    Mutant(
        "a kubeconfig loses its modes",
        "cli/contexts.py",
        "_write",
        "os.fchmod(file.fileno(), stat.S_IMODE(found.st_mode))",
        "pass",
        (_CONTEXTS,),
    ),
    Mutant(
        "a kubeconfig of a form that cannot be changed in place is damaged",
        "cli/splicing.py",
        "_checked",
        "if document != expected:",
        "if False:",
        (_SPLICING,),
    ),
    Mutant(
        "submit stores another bundle under the name of an existing one",
        "cli/submitting.py",
        "put_bundle",
        "if not force:",
        "if False:",
        (_SUBMITTING,),
    ),
    Mutant(
        "submit stores a bundle without a look at its problems",
        "cli/submitting.py",
        "checked_content",
        "if found.problems:",
        "if False:",
        (_SUBMITTING,),
    ),
    Mutant(
        "submit stores the bundle of a job whose name is taken",
        "cli/submitting.py",
        "submit",
        "await _refuse_existing(cluster, submission.namespace, name)",
        "",
        (_SUBMITTING,),
    ),
    Mutant(
        "submit accepts a bundle root that the cluster does not read",
        "cli/submitting.py",
        "bundle_root",
        "if given is not None and given.resolve() != root.resolve():",
        "if False:",
        (_SUBMITTING,),
    ),
    Mutant(
        "a time-out does not name the service that is stopped",
        "cli/ending.py",
        "after_time_out",
        "if up is not None and up.state is not None and (away := await services_away(up.state)):",
        "if up is None and (away := ''):",
        (_CONTROLLING,),
    ),
    Mutant(
        "pack replaces a bundle that has another content",
        "cli/bundling.py",
        "_packed",
        "if not force:",
        "if False:",
        ("tests/unit/cli/test_recognizing.py",),
    ),
    Mutant(
        "Ctrl-C during the imports prints a traceback",
        "cli/__main__.py",
        "main",
        "ctrl_c_ends_at_once()\n    from",
        "from",
        ("tests/unit/cli/test_interrupting.py",),
    ),
    Mutant(
        "only the first pool is named whose tags no node has",
        "placement/contradicting.py",
        "missing",
        "return _no_tags(cluster, without) if without else None",
        "return _no_tags(cluster, without[:1]) if without else None",
        ("tests/unit/placement/test_refusals.py",),
    ),
    Mutant(
        "a misspelled behavior of a pod is stored, and has no effect",
        "sandbox/store/steering.py",
        "steering_causes",
        "elif name == BEHAVIOR and value not in BEHAVIORS[kind]:",
        "elif False:",
        ("tests/unit/sandbox/store/test_steering.py",),
    ),
    Mutant(
        "a refusal of the API server is shown with words of Go",
        "services/chassis/process/errors.py",
        "Rejected.__init__",
        "message = readable(message)",
        "pass",
        ("tests/unit/contracts/test_showing.py",),
    ),
    Mutant(
        "Ctrl-C in submit does not say that the job goes on",
        "cli/job_commands.py",
        "submit",
        "except asyncio.CancelledError:",
        "except KeyError:",
        (_SUBMITTING,),
    ),
)

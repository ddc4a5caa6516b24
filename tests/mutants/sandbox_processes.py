"""Mutants of the sandbox's pods that are processes; each name has the words "pod that runs"."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_RULES = "tests/unit/sandbox/controllers/test_process_states.py"
_KUBELET = "tests/unit/sandbox/controllers/test_pods_as_processes.py"
_CONTAINERS = "tests/unit/sandbox/containers/"

MUTANTS = (
    Mutant(
        "a pod that runs starts all its init containers at once",
        "sandbox/controllers/process_states.py",
        "_go_on",
        "if not _is_past(container, run):",
        "if False:",
        (_RULES,),
    ),
    Mutant(
        "a pod that runs waits as long before each restart",
        "sandbox/controllers/process_states.py",
        "_back_off_s",
        "2.0 ** min(crashes - 1, 30)",
        "1.0",
        (_RULES,),
    ),
    Mutant(
        "a pod that runs forgets no crash",
        "sandbox/controllers/process_states.py",
        "_container",
        "run.ended_s - run.began_s >= STEADY_S",
        "False",
        (_RULES,),
    ),
    Mutant(
        "a pod that runs ends its sidecars with the others",
        "sandbox/controllers/process_states.py",
        "_stops",
        "chosen = others or going[-1:]",
        "chosen = going",
        (_RULES,),
    ),
    Mutant(
        "a pod that runs is removed while its containers end",
        "sandbox/controllers/process_states.py",
        "_end_deleted",
        "if not going:",
        "if True:",
        (_RULES,),
    ),
    Mutant(
        "a pod that runs is written before its process has started",
        "sandbox/controllers/kubelet_processes.py",
        "PodProcesses._write",
        "and not is_starting",
        "",
        (_KUBELET,),
    ),
    Mutant(
        "a pod that runs on a silent node ends when its object is gone",
        "sandbox/controllers/kubelet_processes.py",
        "PodProcesses.forget",
        "if is_away:",
        "if False:",
        (_KUBELET,),
    ),
    Mutant(
        "a pod that runs keeps its token until it has ended",
        "sandbox/controllers/projected_tokens.py",
        "ProjectedTokens._new",
        "seconds * RENEW_AFTER",
        "seconds * 1.2",
        (_KUBELET,),
    ),
    Mutant(
        "a pod that runs sees its files replaced one by one",
        "sandbox/containers/folders.py",
        "write_files",
        "draft.replace(data)",
        "(data.unlink(missing_ok=True), draft.replace(data), shutil.copytree(new, folder, "
        "dirs_exist_ok=True))",
        (f"{_CONTAINERS}test_folders.py",),
    ),
    Mutant(
        "a pod that runs finds what its last run left in /tmp",
        "sandbox/containers/folders.py",
        "Folders.make_root",
        "shutil.rmtree(root.parent)",
        "pass",
        (f"{_CONTAINERS}test_folders.py",),
    ),
    Mutant(
        "a pod that runs has a probe whose script finds no file",
        "sandbox/containers/local_paths.py",
        "localized",
        "pattern.sub(lambda found: root + found[0], word)",
        "root + word if pattern.match(word) else word",
        (f"{_CONTAINERS}test_local_paths.py",),
    ),
    Mutant(
        "a pod that runs leaves what its process started",
        "sandbox/containers/children.py",
        "Child.ended",
        "self.kill()",
        "pass",
        (f"{_CONTAINERS}test_pods_that_run.py",),
    ),
    Mutant(
        "a pod that runs gets no SIGTERM",
        "sandbox/containers/container.py",
        "Container.stop",
        "self._child.terminate()",
        "pass",
        (f"{_CONTAINERS}test_lives_of_containers.py",),
    ),
    Mutant(
        "a pod that runs logs without a bound",
        "sandbox/containers/log_files.py",
        "LogFile._put",
        "self._rotate()",
        "pass",
        (f"{_CONTAINERS}test_log_files.py",),
    ),
    Mutant(
        "a pod that runs leaves the commands of kubectl exec behind",
        "sandbox/containers/container.py",
        "Container._live",
        "session.child.kill()",
        "pass",
        (f"{_CONTAINERS}test_executing.py",),
    ),
)

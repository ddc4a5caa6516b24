"""Mutants of how kubeconfigs are read: as kubectl does, and the namespace of the context."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_FILES = "services/chassis/kube/kubeconfig_files.py"
_READ = ("tests/unit/chassis/kube/test_kubeconfigs_of_kubectl.py",)
_PLUGINS = ("tests/unit/chassis/kube/test_exec_plugins.py",)
_PROXIES = ("tests/unit/chassis/kube/test_proxies.py",)
_NAMESPACES = ("tests/unit/cli/test_namespaces.py",)

MUTANTS = (
    Mutant(
        "of several kubeconfigs the last current-context counts",
        _FILES,
        "read_kubeconfig",
        'current = current or content.get("current-context") or ""',
        'current = content.get("current-context") or current or ""',
        _READ,
    ),
    Mutant(
        "a file that a kubeconfig names is looked for in the folder of the person",
        _FILES,
        "_with_files",
        "folder = entry.file.absolute().parent",
        "folder = Path.cwd()",
        _READ,
    ),
    Mutant(
        "a message shows the URL of a proxy with its password",
        "services/chassis/kube/http.py",
        "_worded",
        'text = f"{problem.status} {problem.message}"',
        "pass",
        (*_READ, "-k", "password_of_a_proxy"),
    ),
    Mutant(
        "a line of a kubeconfig that is not YAML is shown, with the token in it",
        _FILES,
        "place_of",
        "if not isinstance(problem, yaml.MarkedYAMLError) or problem.problem_mark is None:",
        "if True:",
        _READ,
    ),
    Mutant(
        "each letter of a group that is not in a list is a group",
        _FILES,
        "_check_impersonation",
        "if groups is not None and not _are_lines(groups):",
        "if False:",
        _READ,
    ),
    Mutant(
        "an exec plugin with a slash is looked for in the folder of the person",
        _FILES,
        "_with_files",
        'os.sep in str(plugin.get("command") or "")',
        "False",
        _PLUGINS,
    ),
    Mutant(
        "an exec plugin is looked for in the PATH that it gets",
        "services/chassis/kube/exec_plugins.py",
        "Plugin._started",
        'executable=_program(call["command"]),',
        "",
        _PLUGINS,
    ),
    Mutant(
        "a credential of a plugin that has expired is used on",
        "services/chassis/kube/http.py",
        "PluginToken.user",
        "if not known or known.is_over(time.time()):",
        "if not known:",
        _PLUGINS,
    ),
    Mutant(
        "a plugin runs for every connection of a command",
        "services/chassis/kube/http.py",
        "PluginToken.user",
        "if not known or known.is_over(time.time()):",
        "if True:",
        _PLUGINS,
    ),
    Mutant(
        "a proxy of the environment hides the cluster of this machine",
        "services/chassis/kube/proxies.py",
        "_takes_proxy",
        'if host == "localhost" or (address is not None and address.is_loopback):',
        'if host == "localhost":',
        _PROXIES,
    ),
    Mutant(
        "the name of a certificate's server is read and not used",
        "services/chassis/kube/http.py",
        "HttpTransport.__init__",
        "if configuration.tls_server_name:",
        "if False:",
        _READ,
    ),
    Mutant(
        "a command looks into the namespace default whatever the context has",
        "cli/connecting.py",
        "connected",
        "namespace or namespace_of(kubeconfig)",
        "namespace or NAMESPACE",
        _NAMESPACES,
    ),
    Mutant(
        "a person without rights in the namespace default cannot use the command",
        "cli/connecting.py",
        "_problem_of",
        "if refused.code == HTTPStatus.UNAUTHORIZED:",
        "if True:",
        _NAMESPACES,
    ),
)

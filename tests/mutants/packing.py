"""Planted bugs in how an application is packed, and in what is installed to write one."""

from __future__ import annotations

from tests.mutants.planting import Mutant

_NAMES = ("tests/architecture/test_distribution_names.py",)
_ANOTHER = "millrace"
_PACKING = ("tests/unit/millrace/test_packing.py",)
_INSTALLED = ("tests/unit/millrace/test_installed.py",)

MUTANTS = (
    Mutant(
        "a file that is not there is a bad application",
        "cli/bundling.py",
        "_require_files",
        "not each.exists()",
        "False",
        ("tests/unit/cli/test_exit_codes.py", "-k", "is_not_there"),
    ),
    Mutant(
        "a file that a bundle lacks is named by the place that it has on the machine",
        "millrace/libraries.py",
        "_of_files",
        "file.is_relative_to(here)",
        "False",
        _PACKING,
    ),
    Mutant(
        "a message tells people to install another project",
        "millrace/adapters/http_requests.py",
        "Client._session",
        '"millrace.adapters.http needs aiohttp: install millrace-streams[http]"',
        f'"millrace.adapters.http needs aiohttp: install {_ANOTHER}[http]"',
        _NAMES,
    ),
    Mutant(
        "a former wheel beside the new one is not noticed",
        "millrace/installed.py",
        "warn_of_another",
        "version(ANOTHER), version(OURS)",
        'version(ANOTHER), version("millrace-planes")',
        _INSTALLED,
    ),
    Mutant(
        "an application is imported without its wheels",
        "millrace/loading.py",
        "importable",
        "add_wheels([each.path for each in read], Path(folder))",
        "add_wheels([], Path(folder))",
        _PACKING,
    ),
    Mutant(
        "an import inside of a function is not looked at",
        "millrace/imports.py",
        "_imports_in",
        "for each in ast.iter_child_nodes(node)",
        "for each in ast.iter_child_nodes(node) if not isinstance(node, ast.FunctionDef)",
        _PACKING,
    ),
    Mutant(
        "an optional import is named as one that is missing",
        "millrace/libraries.py",
        "_of_modules",
        "each.top not in known and not each.is_optional",
        "each.top not in known",
        _PACKING,
    ),
    Mutant(
        "a data file comes to the top of the bundle",
        "millrace/including.py",
        "_files_of",
        "file.relative_to(root).as_posix()",
        "file.name",
        _PACKING,
    ),
    Mutant(
        "a link that leads out of the project is packed",
        "millrace/including.py",
        "_check_link",
        "if not path.resolve().is_relative_to(root):",
        "if not path.is_relative_to(root):",
        _PACKING,
    ),
    Mutant(
        "a relative path is one of the working directory",
        "millrace/paths.py",
        "path",
        "root = root_of(sys._getframe(1).f_globals)",
        "root = Path.cwd()",
        _PACKING,
    ),
)

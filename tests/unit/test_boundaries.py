"""Who may import what: the trust boundaries of the design, held by tests."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "reward_service"


def imports_of(path: Path) -> set[str]:
    """Every module that a file names in an import statement."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def importers_of(prefix: str, folder: Path = PACKAGE) -> set[str]:
    return {
        str(path.relative_to(PACKAGE))
        for path in folder.rglob("*.py")
        if any(name == prefix or name.startswith(prefix + ".") for name in imports_of(path))
    }


def test_what_shares_a_process_with_foreign_code_knows_nothing_of_the_judge():
    # The zygote, which runs no foreign code, forks the judge.
    judge = importers_of("reward_service.judge", PACKAGE / "runner")
    assert judge == {"runner/zygote.py"}


def test_one_module_imports_rq():
    assert importers_of("rq") == {"jobs/queue.py"}


@pytest.mark.parametrize(
    "module",
    [
        "reward_service.api.app",
        "reward_service.jobs.process",
        "reward_service.build.stage",
        "reward_service.worker.supervisor",
        "reward_service.schemas",
        "reward_service.cli",
    ],
)
def test_it_imports_no_torch(module):
    program = f"import sys, {module}; sys.exit('torch' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_wire_format_needs_nothing_but_pydantic():
    ours = {name for name in imports_of(PACKAGE / "schemas.py") if not name.startswith("pydantic")}
    assert all(name.split(".")[0] in sys.stdlib_module_names for name in ours)

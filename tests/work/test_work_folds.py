"""Does anybody notice that a fold gives another state than it gave before?

A snapshot is only as good as the folds that made it, so it says which those were: `FOLDS_VERSION`. Nobody remembers to
raise a number. Therefore the code from which states are made is remembered here.
"""

import ast
import hashlib
from pathlib import Path

from telex.work.snapshots import FOLDS_VERSION
from tests.proofs import proves

SOURCE = Path(__file__).parents[2] / "src/telex"
FOLDING = (
    *(
        f"work/{name}.py"
        for name in (
            *("approvals", "blockers", "escalations", "plans", "reducer"),
            *("view", "shutdown", "signals", "tasks", "pipeline"),
        )
    ),
    *("model/contracts.py", "model/work.py"),
)
REMEMBERED = (8, "eb6d801f2a6f5b83")


def code_of(path: Path) -> str:
    """What a file does, whatever it says about itself."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node) is not None:
            node.body = node.body[1:]
    return ast.dump(tree)


@proves("work/snapshot")
def test_the_folds_are_those_that_the_version_of_snapshots_stands_for() -> None:
    """Ask whether any state is another than before for the same messages. If so, raise FOLDS_VERSION. Then write down
    the new pair above; if not, only the digest."""
    digest = hashlib.sha256("".join(code_of(SOURCE / name) for name in FOLDING).encode()).hexdigest()[:16]
    assert (FOLDS_VERSION, digest) == REMEMBERED

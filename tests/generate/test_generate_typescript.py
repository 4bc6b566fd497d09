"""Do the TypeScript types compile, take every example, and refuse what is wrong?"""

import json
import subprocess
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from telex.dialects.registry import BUILT_IN, PLAIN
from telex.dialects.schema import Dialect, MessageType, OneOf
from telex.generate.typings import typescript
from tests.dialects.user_dialect import OWN

STRICTEST = ("--strict", "--noEmit", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess", "--target", "es2022")


def own_fields(dialect: Dialect, tree: dict[str, Any]) -> dict[str, Any]:
    inner: dict[str, Any] = tree[dialect.payload] if dialect.payload else tree
    return inner


def wrong(dialect: Dialect, type_: MessageType) -> list[dict[str, Any]]:
    """The example with another type, with each required field missing, and with each choice misspelt."""
    wrongs = [type_.example | {"type": "no_such_type"}]
    for name, field in type_.fields.items():
        lacking, misspelt = deepcopy(type_.example), deepcopy(type_.example)
        own_fields(dialect, lacking).pop(name, None)
        own_fields(dialect, misspelt)[name] = "no-such-choice"
        wrongs += [lacking] if field.required else []
        wrongs += [misspelt] if isinstance(field.kind, OneOf) else []
    return wrongs


def usage(dialect: Dialect, module: str) -> str:
    """A program that is right only if every right message fits and every wrong one does not."""
    lines = [f'import {{ TYPES, type Message, type Role }} from "./{module}";']
    for type_ in dialect.types.values():
        lines.append(f"const right_{len(lines)}: Message = {json.dumps(type_.example)};")
        for tree in wrong(dialect, type_):
            lines.append(f"// @ts-expect-error\nconst wrong_{len(lines)}: Message = {json.dumps(tree)};")
    first = next(iter(dialect.types.values()))
    lines += [
        f"const senders: readonly (Role | '*')[] = TYPES[{json.dumps(first.name)}].senders;",
        f"const known: {json.dumps(first.priority)} = TYPES[{json.dumps(first.name)}].priority;",
        "// @ts-expect-error\nTYPES.no_such_type;",
        "export const seen = [senders, known];",
    ]
    return "\n".join(lines)


@pytest.mark.slow
def test_types_compile_and_tell_right_messages_from_wrong_ones(tsc: list[str], tmp_path: Path) -> None:
    for dialect in (*BUILT_IN, OWN):
        (tmp_path / f"{dialect.name}.ts").write_text(typescript(dialect), encoding="utf-8")
        (tmp_path / f"use-{dialect.name}.ts").write_text(usage(dialect, dialect.name), encoding="utf-8")
    (tmp_path / "plain.ts").write_text(typescript(PLAIN), encoding="utf-8")
    files = [str(file) for file in sorted(tmp_path.glob("*.ts"))]
    result = subprocess.run([*tsc, *STRICTEST, *files], capture_output=True, text=True, check=False, timeout=110)
    assert result.returncode == 0, result.stdout


def test_a_type_reads_like_its_page() -> None:
    text = typescript(next(dialect for dialect in BUILT_IN if dialect.name == "vbw-typed"))
    assert "export interface ExecutionUpdate {" in text
    assert '  type: "execution_update";' in text
    assert '    status: "complete" | "partial" | "failed";' in text
    assert "    files_modified?: Array<string>;" in text
    assert '  author_role: "dev" | "docs";' in text
    assert " * How far a task has come, and the commit that shows it." in text


def test_names_that_typescript_does_not_take_are_quoted_or_changed() -> None:
    text = typescript(OWN)
    assert '  "call-sign": string;' in text
    assert "export interface Message_ {" in text
    assert "It ends *\\/ here." in text

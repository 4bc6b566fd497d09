"""Edits of JSON and TOML text: entries come and go, everything else stays."""

import json
import tomllib
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from telex.surfaces.clients import config_file, json_edit, toml_edit
from telex.surfaces.clients.config_file import ConfigEntry
from tests.proofs import proves

SERVER = {"command": "/a b/telex", "args": ["mcp"]}
GROUP = {"matcher": "Write|Edit", "hooks": [{"type": "command", "command": "'/a b/telex' hook claude Stop"}]}
ENTRIES = [
    ConfigEntry(("mcpServers", "telex"), SERVER),
    ConfigEntry(("hooks", "Stop"), GROUP, is_item=True),
    ConfigEntry(("hooks", "PreToolUse"), GROUP, is_item=True),
    ConfigEntry(("permissions", "allow"), "mcp__telex", is_item=True),
]
BLANKS = st.sampled_from(["", "", " ", "\n", "\n  ", "\r\n\t", " /* c */ ", " // d\n", "\n\n    "])
KEYS = st.sampled_from(["a", "Stop", "hooks", "mcpServers", "telex2", "allow", "// no comment", 'q"', "ä"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-9, 9), st.sampled_from(["", "x", "/* no */", "\\", "\u2028"])
)


@st.composite
def json_texts(draw: st.DrawFn, value: Any) -> str:
    """The value as text, with blanks, comments and trailing commas anywhere."""
    if not isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=draw(st.booleans()))
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    parts: list[str] = []
    for key in value if isinstance(value, dict) else range(len(value)):
        name = f"{json.dumps(key)}{draw(BLANKS)}:{draw(BLANKS)}" if isinstance(key, str) else ""
        parts.append(draw(BLANKS) + name + draw(json_texts(value[key])) + draw(BLANKS))
    has_comma: bool = bool(parts) and draw(st.booleans())
    trailing = "," + draw(BLANKS) if has_comma else ""
    return opening + (",".join(parts) or draw(BLANKS)) + trailing + closing


TREES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=2), max_leaves=4
)
GROUPS = st.lists(st.dictionaries(KEYS, TREES, max_size=2), max_size=2)
SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "a": TREES,
        "hooks": st.dictionaries(st.sampled_from(["Stop", "PreToolUse", "Other"]), GROUPS, max_size=3),
        "mcpServers": st.dictionaries(KEYS, TREES, max_size=2),
        "permissions": st.fixed_dictionaries({}, optional={"allow": st.lists(st.text("ab", max_size=2), max_size=2)}),
        "z": TREES,
    },
)


@st.composite
def files(draw: st.DrawFn) -> str:
    return draw(BLANKS) + draw(json_texts(draw(SETTINGS))) + draw(BLANKS)


def merged_tree(tree: dict[str, Any]) -> dict[str, Any]:
    """What the entries do to a tree, in the simplest words."""
    copy = json.loads(json.dumps(tree))
    copy.setdefault("mcpServers", {})["telex"] = SERVER
    for event in ("Stop", "PreToolUse"):
        copy.setdefault("hooks", {}).setdefault(event, []).append(GROUP)
    copy.setdefault("permissions", {}).setdefault("allow", []).append("mcp__telex")
    return dict(copy)


def without_empties(tree: dict[str, Any]) -> dict[str, Any]:
    """The tree without those containers that may go with our last entry in them."""
    hooks = {event: groups for event, groups in tree.get("hooks", {}).items() if groups}
    allow = {name: rules for name, rules in tree.get("permissions", {}).items() if rules}
    kept = tree | {"hooks": hooks, "permissions": allow, "mcpServers": tree.get("mcpServers")}
    return {key: value for key, value in kept.items() if value or key not in ("hooks", "permissions", "mcpServers")}


@proves("init/only-ours", "init/twice")
@given(files())
def test_entries_are_added_and_everything_else_stays(text: str) -> None:
    merged = config_file.merge_json(text, ENTRIES)
    assert json_edit.parse(merged).value == merged_tree(json_edit.parse(text).value)
    assert sorted(json_edit.comments(merged)) == sorted(json_edit.comments(text))
    assert config_file.merge_json(merged, ENTRIES) == merged


@proves("init/restores")
@given(files(), st.booleans())
def test_a_file_is_restored_also_after_the_client_has_rewritten_it(text: str, is_rewritten: bool) -> None:
    merged = config_file.merge_json(text, ENTRIES)
    if is_rewritten:
        merged = json.dumps(
            json_edit.parse(merged).value | {"enabledPlugins": {}, "$version": 4}, sort_keys=True, indent=1
        )
    assert config_file.unmerge_json(merged, text) == text


@proves("init/only-ours")
@given(files())
@example('{"a":1, // x\n"hooks":{}}')
def test_without_a_backup_only_our_entries_go(text: str) -> None:
    tree = json_edit.parse(text).value
    left = config_file.unmerge_json(config_file.merge_json(text, ENTRIES), None)
    if left is None:
        assert without_empties(tree) == {}
    else:
        assert without_empties(json_edit.parse(left).value) == without_empties(tree)


@proves("init/only-ours")
@given(files(), st.data())
def test_any_value_can_be_removed_from_any_text(text: str, data: st.DataObject) -> None:
    tree = json_edit.parse(text).value
    assume(tree)
    path: list[Any] = []
    node: Any = tree
    parent: Any = None
    while isinstance(node, dict | list) and node and (not path or data.draw(st.booleans())):
        path.append(data.draw(st.sampled_from(sorted(node) if isinstance(node, dict) else list(range(len(node))))))
        parent, node = node, node[path[-1]]
    del parent[path[-1]]
    assert json_edit.parse(json_edit.remove(text, tuple(path))).value == tree


def is_toml(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


LINES = st.sampled_from(
    [
        "",
        "# note",
        "key = 1",
        'text = "[mcp_servers.telex]"',
        "[table]",
        '["quoted.name"]',
        "[mcp_servers.x]",
        "[[items]]",
    ]
)


@proves("init/restores", "init/only-ours", "init/twice")
@given(st.lists(LINES, max_size=8), st.sampled_from(["\n", "\r\n"]), st.booleans(), st.lists(LINES, max_size=4))
def test_a_table_is_added_to_toml_and_removed(lines: list[str], newline: str, is_ended: bool, more: list[str]) -> None:
    text = newline.join(lines) + (newline if is_ended and lines else "")
    assume(is_toml(text))
    tree = tomllib.loads(text)
    values = SERVER | {"required": True}
    merged = config_file.merge_toml(text, values)
    assert merged.startswith(text)
    assert tomllib.loads(merged) == tree | {"mcp_servers": tree.get("mcp_servers", {}) | {"telex": values}}
    assert config_file.merge_toml(merged, values) == merged
    assert config_file.unmerge_toml(merged, text) == text
    later = merged + newline.join(["", "[later]", *(line for line in more if not line.startswith("["))])
    assume(is_toml(later))
    expected = tomllib.loads(later)
    del expected["mcp_servers"]["telex"]
    left = tomllib.loads(toml_edit.remove_table(later, config_file.TABLE))
    left.setdefault("mcp_servers", {})
    assert left == expected

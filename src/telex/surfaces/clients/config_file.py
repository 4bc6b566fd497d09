"""Entries of Telex in the configuration files of clients: merge, removal, backup.

An entry belongs to Telex if it is a server called `telex` that runs `telex mcp`, a hook that runs `telex hook`, or the
permission for its tools. Nothing else is changed. The file as it was before is kept beside it; when the removal of our
entries leaves the content of that backup, the backup's bytes are restored, also if the client has rewritten the file.
"""

import json
import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

from telex.model.named_tuple import NamedTuple
from telex.surfaces.clients import json_edit, toml_edit

SERVER = "telex"
BACKUP = ".telex-backup"
PERMISSIONS = ("mcp__telex", "mcp__plugin_telex_telex")
SERVER_PATHS = (("mcpServers",), ("mcp",), ("mcp", "servers"), ("mcp_servers",))  # of objects with servers, by name
TABLE = ("mcp_servers", SERVER)  # of Codex
PLUGIN = "telex@telex"  # a client's own entry for our plugin
_PLUGIN_KEYS = ("enabledPlugins", "extraKnownMarketplaces")
_STAMPS = ("$schema", "$version")  # that clients add to their files
FILE_BYTES_MAX = 8_388_608
_HOOK = re.compile(r"""(?:^|[\\/"'\s])telex(?:\.exe)?["']?\s+hook\s""")


class ConfigFileError(Exception):
    """A configuration file that cannot be edited: it is unreadable, or has a foreign server called telex."""

    def __init__(self, path: str, say: str, *, is_foreign: bool = False) -> None:
        super().__init__(f"{path} {say}")
        self.path, self.say, self.is_foreign = path, say, is_foreign


class ConfigEntry(NamedTuple):
    path: tuple[str, ...]
    value: Any
    is_item: bool = False  # of the list at the path


class FileEdit(NamedTuple):
    """A change of one file; None: the file is absent."""

    path: str
    before: str | None
    after: str | None
    backup: str | None = None  # content of the backup after the change

    @property
    def is_change(self) -> bool:
        return self.before != self.after


# --- entries ----------------------------------------------------------------------------------------------------------
def is_our_server(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    command, args = value.get("command"), value.get("args")
    words = command if isinstance(command, list) else [command, *(args if isinstance(args, list) else [])]
    name = os.path.basename(words[0]).removesuffix(".exe") if words and isinstance(words[0], str) else ""
    return name == "telex" and words[1:2] == ["mcp"]


def is_our_hook(value: Any) -> bool:
    """Whether a hook runs `telex hook`."""
    commands = [value.get(key) for key in ("command", "bash")] if isinstance(value, dict) else []
    return any(isinstance(command, str) and _HOOK.search(command) for command in commands)


def our_paths(tree: Any) -> list[json_edit.Path]:
    """Paths of the entries that are ours, in the order of the file."""
    if not isinstance(tree, dict):
        return []
    paths: list[json_edit.Path] = [(*path, SERVER) for path in SERVER_PATHS if is_our_server(_get(tree, *path, SERVER))]
    for event, groups in _dict(tree.get("hooks")).items():
        for place, group in enumerate(groups if isinstance(groups, list) else []):
            paths += _hook_paths(("hooks", event, place), group)
    allowed = _get(tree, "permissions", "allow")
    for place, rule in enumerate(allowed if isinstance(allowed, list) else []):
        if rule in PERMISSIONS:
            paths.append(("permissions", "allow", place))
    return paths


def _hook_paths(path: json_edit.Path, group: Any) -> list[json_edit.Path]:
    """The group if all of its hooks are ours, otherwise those in it that are."""
    hooks = group.get("hooks") if isinstance(group, dict) else None
    if not isinstance(hooks, list):
        return [path] if is_our_hook(group) else []
    ours = [place for place, hook in enumerate(hooks) if is_our_hook(hook)]
    return [path] if ours and len(ours) == len(hooks) else [(*path, "hooks", place) for place in ours]


# --- merge ------------------------------------------------------------------------------------------------------------
def merge_json(text: str, entries: Sequence[ConfigEntry]) -> str:
    """The text with these entries in place of all earlier ones of ours.

    Raises:
        json_edit.JsonTextError: the text is no JSON, or has other values where the entries belong.
    """
    if not text.strip("\ufeff \t\r\n"):
        text = "{}\n"
    tree = json_edit.parse(text).value
    wanted = {(entry.path, _mark(entry.value)) for entry in entries if entry.is_item}
    members = {entry.path for entry in entries if not entry.is_item}
    seen: set[tuple[json_edit.Path, str]] = set()
    outdated: list[json_edit.Path] = []
    for path in our_paths(tree):
        mark = (path[:-1], _mark(_get(tree, *path)))
        if path not in members and (mark not in wanted or mark in seen):
            outdated.append(path)
        seen.add(mark)
    text = _remove_all(text, outdated, keep=[entry.path for entry in entries])
    for entry in entries:
        if not entry.is_item:
            text = json_edit.set_member(text, entry.path, entry.value)
        elif (entry.path, _mark(entry.value)) not in seen:
            text = json_edit.append_item(text, entry.path, entry.value)
    return text


def _mark(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def unmerge_json(text: str, backup: str | None, markets: Sequence[str] = ()) -> str | None:
    """The text without our entries; None: nothing else is in a file that we made.

    `markets`: folders of ours from which the client's installer has just removed our plugin; the client may leave
    traces of them.
    """
    tree = json_edit.parse(text).value
    before = _tree_or_none(backup)
    paths = [path for path in our_paths(tree) if not _is_permission_of(before, path, tree)]
    paths += _client_paths(tree, markets)
    edited = _remove_all(text, paths, keep=_containers(before))
    left = json_edit.parse(edited).value
    if backup is None:
        is_empty = _without_additions(left, {}) == {} and not json_edit.comments(edited)
        return None if (paths or (markets and left)) and is_empty else edited
    is_same = before is not None and _without_additions(left, before) == before
    return backup if is_same and set(json_edit.comments(edited)) <= set(_comments(backup)) else edited


def merge_toml(text: str, values: dict[str, Any]) -> str:
    return toml_edit.add_table(text, TABLE, values)


def unmerge_toml(text: str, backup: str | None) -> str | None:
    """The text without our table; None: nothing else is in a file that we made."""
    is_ours = is_our_server(_get(toml_edit.tree(text), *TABLE))
    edited = toml_edit.remove_table(text, TABLE) if is_ours else text
    if backup is None:
        return None if is_ours and not edited.strip() else edited
    lines = {line.strip() for line in backup.splitlines()}
    is_same = toml_edit.tree(edited) == toml_edit.tree(backup) and all(
        line.strip() in lines for line in edited.splitlines()
    )
    return backup if is_same else edited


def _remove_all(text: str, paths: list[json_edit.Path], keep: Iterable[json_edit.Path]) -> str:
    kept = set(keep)
    for path in reversed(paths):
        text = json_edit.remove(text, path)
    for path in reversed(paths):
        container = path[:-1]
        while container and container not in kept and isinstance(container[-1], str):
            node = json_edit.parse(text).at(container)
            if node is None or node.children or node.kind == "scalar":
                break
            text = json_edit.remove(text, container)
            container = container[:-1]
    return text


def _client_paths(tree: Any, markets: Sequence[str]) -> list[json_edit.Path]:
    """Traces of our plugin that a client leaves after its removal."""
    market = _get(tree, "extraKnownMarketplaces", SERVER)
    if market is not None and _get(market, "source", "path") not in markets:
        return []
    paths: list[json_edit.Path] = [("extraKnownMarketplaces", SERVER)] if market is not None else []
    if markets and PLUGIN in _dict(_get(tree, "enabledPlugins")):
        paths.append(("enabledPlugins", PLUGIN))
    return paths


def _is_permission_of(before: Any, path: json_edit.Path, tree: Any) -> bool:
    """Whether a permission was there before us."""
    rules = _get(before, "permissions", "allow")
    return path[0] == "permissions" and isinstance(rules, list) and _get(tree, *path) in rules


def _without_additions(tree: Any, before: Any) -> Any:
    """The tree without what clients add of their own: empty containers of plugins, and stamps."""
    if not isinstance(tree, dict):
        return tree
    added = {key for key in tree if key in _STAMPS or (key in _PLUGIN_KEYS and not tree[key])} - {*_dict(before)}
    return {key: value for key, value in tree.items() if key not in added}


def _containers(tree: Any, path: json_edit.Path = ()) -> list[json_edit.Path]:
    """Paths of all objects and lists in objects."""
    paths = []
    for key, value in _dict(tree).items():
        if isinstance(value, dict | list):
            paths += [(*path, key), *_containers(value, (*path, key))]
    return paths


def _tree_or_none(text: str | None) -> Any:
    if text is None:
        return None
    if not text.strip("\ufeff \t\r\n"):
        return {}
    try:
        return json_edit.parse(text).value
    except json_edit.JsonTextError:
        return None


def _comments(text: str) -> list[str]:
    return json_edit.comments(text) if text.strip() else []


def value_at(tree: Any, path: Sequence[str | int]) -> Any:
    """The value at a path; None: there is none."""
    return _get(tree, *path)


def _get(tree: Any, *path: str | int) -> Any:
    for key in path:
        if isinstance(tree, dict):
            tree = tree.get(key)
        elif isinstance(tree, list) and isinstance(key, int) and key < len(tree):
            tree = tree[key]
        else:
            return None
    return tree


def _dict(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


# --- edits of files ---------------------------------------------------------------------------------------------------
def plan_merge(path: str, entries: Sequence[ConfigEntry]) -> FileEdit:
    """The edit that puts our entries into a JSON file, or into a Codex `config.toml`.

    Raises:
        ConfigFileError
    """
    text = read_text(path)
    is_toml = path.endswith(".toml")
    try:
        tree = toml_edit.tree(text or "") if is_toml else _tree_or_parse(text)
        for entry in entries:
            present = _get(tree, *entry.path)
            if not entry.is_item and present is not None and not is_our_server(present):
                name = ".".join(entry.path)
                say = f"has a server {name} that is not Telex's: rename or remove it, then run telex init again"
                raise ConfigFileError(path, say, is_foreign=True)
        merged = merge_toml(text or "", entries[0].value) if is_toml else merge_json(text or "", entries)
    except (json_edit.JsonTextError, toml_edit.TomlTextError) as error:
        raise ConfigFileError(path, str(error)) from error
    backup = read_text(path + BACKUP) if merged == text or _has_ours(tree, is_toml) or _has_plugin(tree) else None
    if backup is None and text is not None and merged != text and not _is_made_by_us(text, tree, is_toml):
        backup = text
    return FileEdit(path, text, merged, backup)


def _is_made_by_us(text: str, tree: Any, is_toml: bool) -> bool:
    """Whether a file has nothing but entries of ours, or of our plugin. A permission alone may be its owner's."""
    if is_toml:
        return unmerge_toml(text, None) is None or _has_plugin(tree)
    has_entries = any(path[0] != "permissions" for path in our_paths(tree))
    return (has_entries and _unmerged(text) is None) or _has_plugin(tree)


def plan_unmerge(path: str, markets: Sequence[str] = ()) -> FileEdit:
    """The edit that removes our entries; the backup goes when the file is as it was."""
    text, backup = read_text(path), read_text(path + BACKUP)
    if text is None:
        return FileEdit(path, None, None, backup)
    try:
        edited = unmerge_toml(text, backup) if path.endswith(".toml") else _unmerged(text, backup, markets)
    except (json_edit.JsonTextError, toml_edit.TomlTextError) as error:
        raise ConfigFileError(path, str(error)) from error
    return FileEdit(path, text, edited, None if edited == backup else backup)


def _unmerged(text: str, backup: str | None = None, markets: Sequence[str] = ()) -> str | None:
    return unmerge_json(text, backup, markets) if text.strip("\ufeff \t\r\n") else text


def has_our_entries(path: str) -> bool:
    """Whether a file has entries of ours; an unreadable one has none."""
    try:
        text = read_text(path) or ""
        return _has_ours(
            toml_edit.tree(text) if path.endswith(".toml") else _tree_or_parse(text), path.endswith(".toml")
        )
    except (ConfigFileError, json_edit.JsonTextError, toml_edit.TomlTextError):
        return False


def _has_ours(tree: Any, is_toml: bool) -> bool:
    return is_our_server(_get(tree, *TABLE)) if is_toml else bool(our_paths(tree))


def _has_plugin(tree: Any) -> bool:
    """Whether the client has listed our plugin in its settings."""
    return PLUGIN in _dict(_get(tree, "enabledPlugins")) or PLUGIN in _dict(_get(tree, "plugins"))


def _tree_or_parse(text: str | None) -> Any:
    return json_edit.parse(text).value if text and text.strip("\ufeff \t\r\n") else {}


def read_text(path: str) -> str | None:
    """The content of a file; None: it does not exist."""
    try:
        with open(path, "rb") as file:
            raw = file.read(FILE_BYTES_MAX + 1)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise ConfigFileError(path, f"cannot be read: {error.strerror}") from error
    if len(raw) > FILE_BYTES_MAX:
        raise ConfigFileError(path, f"is larger than {FILE_BYTES_MAX:,} bytes")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ConfigFileError(path, f"is not UTF-8 at byte {error.start}") from error


def apply(edit: FileEdit) -> None:
    """Write an edit: first the backup, then the file, each by rename. Folders that were made for it go with it."""
    _write_or_delete(edit.path + BACKUP, edit.backup if edit.after is not None else None, like=edit.path)
    _write_or_delete(edit.path, edit.after, like=edit.path)


def _write_or_delete(path: str, text: str | None, like: str) -> None:
    try:
        if text is None:
            if os.path.lexists(path):
                os.unlink(path)
                _remove_empty_folder(os.path.dirname(path))
        elif read_text(path) != text:
            _replace(os.path.realpath(path), text, like)
    except OSError as error:
        raise ConfigFileError(path, f"cannot be written: {error.strerror}") from error


def _replace(path: str, text: str, like: str) -> None:
    """Replace a file by rename, with the permissions of `like` if that exists."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    mode = os.stat(like).st_mode & 0o777 if os.path.exists(like) else None
    temporary = os.path.join(os.path.dirname(path), f".telex-{os.urandom(6).hex()}.part")
    try:
        with open(
            os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666 if mode is None else 0o600), "wb"
        ) as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(text.encode())
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        if os.path.lexists(temporary):
            os.unlink(temporary)


def _remove_empty_folder(folder: str) -> None:
    """Remove a folder of a client that has become empty, such as `.claude`."""
    while os.path.basename(folder).startswith(".") or os.path.basename(folder) in ("hooks", "plugins", "opencode"):
        try:
            os.rmdir(folder)
        except OSError:
            return
        folder = os.path.dirname(folder)

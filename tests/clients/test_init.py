"""`telex init` with fake clients that record their arguments and rewrite their settings."""

import json
import os
import re
import stat
import sys
import tomllib
from pathlib import Path

import pytest

from telex.surfaces.cli.commands import COMMANDS
from telex.surfaces.clients import json_edit, plugin_files
from telex.surfaces.clients.install import NAMES
from telex.surfaces.mcp.tools import TOOLS
from tests.cli.cli_kit import Ran, Run, on_terminal
from tests.cli.cli_kit import run as run
from tests.proofs import proves

FAKE = Path(__file__).with_name("fake_client.py")
TELEX = str(Path(sys.executable).with_name("telex"))
WITH_INSTALLER = ("claude", "codex", "qwen", "copilot")

JSON_TEXTS = {
    "plain": '{\n  "theme": "dark",\n  "mcpServers": {\n    "other": {"command": "x"}\n  }\n}\n',
    "hooks": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}], "PreToolUse": []}}',
    "comments": '// mine\n{\n\t"a": 1, // one\n\t/* two */ "hooks": {\n\t\t"Stop": [ // none\n\t\t],\n\t},\n}\n',
    "crlf": '{\r\n    "permissions": {\r\n        "allow": ["Bash(ls:*)"]\r\n    }\r\n}',
    "no newline": '{ "mcpServers" : { } , "hooks":{}}',
    "odd": '\ufeff{\n\n   "x": [ 1,\n 2 ]\n      ,"permissions": {"allow": [], "deny": ["Read"]}\n\n\n}\n\n',
    "empty object": "{}",
    "empty file": "",
    "blank file": "\n \n",
}
TOML_TEXTS = {
    "comments": '# mine\nmodel = "m"  # best\n\n[mcp_servers.other]\ncommand = "x"\n\n# end\n',
    "no newline": 'a = 1\n[projects."/x"]\ntrust_level = "trusted"',
    "crlf": '# c\r\nmodel = "m"\r\n\r\n[features]\r\nhooks = true\r\n',
    "empty file": "",
}


class Machine:
    """A home, a project and a PATH with fake clients."""

    def __init__(self, folder: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.project, self.bin = folder / "home", folder / "project", folder / "bin"
        self.log, self.run = folder / "log", run
        for made in (self.home, self.project / ".git", self.bin):
            made.mkdir(parents=True)
        for name in [name for name in os.environ if name.startswith(("XDG_", "CLAUDE", "CODEX", "TELEX_", "COPILOT"))]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.setenv("PATH", str(self.bin))
        monkeypatch.setenv("FAKE_LOG", str(self.log))
        monkeypatch.chdir(self.project)

    def add(self, *clients: str) -> None:
        for name in clients:
            file = self.bin / name
            file.write_text(f'#!/bin/sh\nexec {sys.executable} {FAKE} {name} "$@"\n')
            file.chmod(0o755)

    def init(self, *words: str) -> Ran:
        return self.run("init", *words)

    def calls(self) -> list[list[str]]:
        return [json.loads(line) for line in self.log.read_text().splitlines()] if self.log.exists() else []

    def files(self) -> dict[str, bytes]:
        """Every file of the home and the project, but what a client keeps for itself."""
        return {
            str(path.relative_to(self.home.parent)): path.read_bytes()
            for top in (self.home, self.project)
            for path in sorted(top.rglob("*"))
            if path.is_file()
        }

    def data(self, client: str) -> Path:
        return self.home / ".local/share/telex" / client


@pytest.fixture
def machine(tmp_path: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, run, monkeypatch)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())


# --- installers -------------------------------------------------------------------------------------------------------
@proves("init/installers")
@pytest.mark.parametrize("client", WITH_INSTALLER)
def test_a_client_gets_telex_through_its_own_installer(machine: Machine, client: str) -> None:
    machine.add(client)
    assert machine.init(client).code == 0
    first = machine.calls()[0]
    folder = str(machine.data(client))
    assert first[0] == client
    assert folder in first
    texts = [path.read_text() for path in Path(folder).rglob("*.json")]
    assert any(f"{TELEX} hook {client} " in text for text in texts)


@proves("init/finds")
def test_without_names_the_clients_of_this_machine_are_installed(machine: Machine) -> None:
    assert machine.init().code == 3
    machine.add("claude", "opencode")
    (machine.home / ".cursor").mkdir()
    outcome = machine.init("--json").answer
    assert [(one["client"], one["way"]) for one in outcome] == [
        ("claude", "plugin"), ("opencode", "files"), ("cursor", "files")
    ]  # fmt: skip
    assert machine.init("clade").code == 3


@proves("init/falls-back")
@pytest.mark.parametrize("client, word", [*((client, "all") for client in WITH_INSTALLER), ("claude", "install")])
def test_where_an_installer_fails_the_files_are_edited(
    machine: Machine, client: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    machine.add(client)
    monkeypatch.setenv("FAKE_FAILS", word)
    before = machine.files()
    outcome = machine.init(client, "--json").answer[0]
    assert outcome["way"] == "files"
    assert outcome["problems"]
    assert not machine.data(client).exists()
    files = {name: content for name, content in machine.files().items() if ".local" not in name}
    assert any(b"telex" in content for content in files.values())
    assert not any(str(machine.data(client)).encode() in content for content in files.values())
    assert machine.init(client, "--uninstall").code == 0
    assert machine.files() == before


@proves("init/installers")
def test_gemini_asks_about_its_folder_so_its_installer_needs_a_terminal(machine: Machine) -> None:
    machine.add("gemini")
    assert machine.init("gemini", "--json").answer[0]["way"] == "files"
    assert machine.init("gemini", "--uninstall").code == 0
    seen = on_terminal([sys.executable, "-m", "telex", "init", "gemini"])
    assert seen.code == 0
    assert ["gemini", "extensions", "install", str(machine.data("gemini")), "--consent"] in machine.calls()


def test_a_plugin_of_the_same_name_from_elsewhere_is_left_alone(machine: Machine) -> None:
    machine.add("claude")
    other = {"extraKnownMarketplaces": {"telex": {"source": {"source": "directory", "path": "/elsewhere"}}}}
    write(machine.home / ".claude/settings.json", json.dumps(other | {"enabledPlugins": {"telex@telex": True}}))
    before = machine.files()
    assert machine.init("claude").code == 1
    machine.init("claude", "--uninstall")
    assert machine.files() == before


# --- restore ----------------------------------------------------------------------------------------------------------
def settings_of(client: str, machine: Machine, scope: str) -> list[Path]:
    """The files of others into which entries of ours go."""
    top = machine.home if scope == "user" else machine.project
    names = {
        "claude": [".claude/settings.json", ".claude.json" if scope == "user" else ".mcp.json"],
        "codex": [".codex/hooks.json"],
        "copilot": [".copilot/mcp-config.json", ".copilot/settings.json"] if scope == "user" else [".github/mcp.json"],
        "opencode": [".config/opencode/opencode.json"] if scope == "user" else ["opencode.jsonc"],
    }
    return [top / name for name in names.get(client, [f".{client}/{'mcp' if client == 'cursor' else 'settings'}.json"])]


@proves("init/restores", "init/twice")
@pytest.mark.parametrize("text", JSON_TEXTS.values(), ids=list(JSON_TEXTS))
@pytest.mark.parametrize("scope", ["user", "project"])
def test_uninstall_leaves_json_files_byte_for_byte_as_they_were(machine: Machine, scope: str, text: str) -> None:
    for client in NAMES:
        for path in settings_of(client, machine, scope):
            write(path, text)
    before = machine.files()
    assert machine.init(*NAMES, "--scope", scope).code == 0
    once = machine.files()
    changed = [name for name in before if once[name] != before[name]]
    assert len(changed) >= 6
    assert machine.init(*NAMES, "--scope", scope).code == 0
    assert machine.files() == once
    assert machine.init("--uninstall", "--scope", scope).code == 0
    assert machine.files() == before


@proves("init/restores", "init/twice")
@pytest.mark.parametrize("text", TOML_TEXTS.values(), ids=list(TOML_TEXTS))
@pytest.mark.parametrize("scope", ["user", "project"])
def test_uninstall_leaves_toml_files_byte_for_byte_as_they_were(machine: Machine, scope: str, text: str) -> None:
    path = (machine.home if scope == "user" else machine.project) / ".codex/config.toml"
    write(path, text)
    path.chmod(0o640)
    before = machine.files()
    assert machine.init("codex", "--scope", scope).code == 0
    once = machine.files()
    tree = tomllib.loads(path.read_text())
    assert tree["mcp_servers"]["telex"]["args"] == ["mcp"]
    assert path.read_text().startswith(text.rstrip().replace("\r\n", "\n"))
    assert machine.init("codex", "--scope", scope).code == 0
    assert machine.files() == once
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o640 for file in path.parent.glob("config.toml*"))
    assert machine.init("codex", "--uninstall", "--scope", scope).code == 0
    assert machine.files() == before
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@proves("init/restores", "init/twice")
@pytest.mark.parametrize("is_new", [False, True])
@pytest.mark.parametrize("client", WITH_INSTALLER)
def test_uninstall_restores_what_an_installer_has_rewritten(machine: Machine, client: str, is_new: bool) -> None:
    machine.add(client)
    text = '{\n    "theme": "dark", // mine\n    "permissions": {"allow": ["Read"]}\n}'
    path = machine.home / (".codex/config.toml" if client == "codex" else f".{client}/settings.json")
    if not is_new:
        write(path, TOML_TEXTS["no newline"] if client == "codex" else text)
    before = machine.files()
    assert machine.init(client).code == 0
    once, calls = machine.files(), len(machine.calls())
    assert machine.init(client).code == 0
    assert (machine.files(), len(machine.calls())) == (once, calls)
    assert machine.init(client, "--uninstall").code == 0
    left = {name: content for name, content in machine.files().items() if content.strip()}
    assert left == before  # the fake Codex leaves an empty file


@proves("init/restores")
def test_files_that_init_has_made_are_deleted_with_their_folders(machine: Machine) -> None:
    for scope in ("user", "project"):
        machine.init(*NAMES, "--scope", scope)
        machine.init("--uninstall", "--scope", scope)
        assert machine.files() == {}
        assert sorted(os.listdir(machine.project)) == [".git"]


@proves("init/only-ours")
def test_what_was_added_since_stays(machine: Machine) -> None:
    path = machine.project / ".claude/settings.json"
    write(path, JSON_TEXTS["comments"])
    machine.init("claude", "--scope", "project")
    text = json_edit.set_member(path.read_text(), ("theme",), "light")
    added = json_edit.append_item(text, ("hooks", "Stop"), {"hooks": [{"type": "command", "command": "mine"}]})
    write(path, added)
    machine.init("claude", "--uninstall", "--scope", "project")
    left = json_edit.parse(path.read_text()).value
    assert left == {"a": 1, "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "theme": "light"}
    assert json_edit.comments(path.read_text()) == json_edit.comments(JSON_TEXTS["comments"])


@proves("init/only-ours")
def test_a_hook_of_ours_in_a_group_with_another_goes_alone(machine: Machine) -> None:
    path = machine.project / ".claude/settings.json"
    other = {"type": "command", "command": "telexify hook x"}
    ours = {"type": "command", "command": "/old/bin/telex hook claude Stop"}
    write(path, json.dumps({"hooks": {"Stop": [{"hooks": [ours, other]}], "Gone": [{"hooks": [ours]}]}}))
    machine.init("claude", "--scope", "project")
    hooks = json.loads(path.read_text())["hooks"]
    assert hooks["Stop"][0] == {"hooks": [other]}
    assert "Gone" not in hooks
    assert "/old/bin" not in path.read_text()
    machine.init("claude", "--scope", "project", "--uninstall")
    assert json.loads(path.read_text())["hooks"] == {"Stop": [{"hooks": [other]}]}


@proves("init/only-ours")
def test_tables_that_codex_has_put_behind_ours_stay(machine: Machine) -> None:
    path = machine.home / ".codex/config.toml"
    write(path, "a = 1\n")
    machine.init("codex")
    more = (
        '\n[mcp_servers.telex.tools.send]\napproval_mode = "approve"\n\n# theirs\n[projects."/y"]\ntrust_level = "t"\n'
    )
    write(path, path.read_text() + more)
    machine.init("codex", "--uninstall")
    assert path.read_text() == 'a = 1\n\n\n# theirs\n[projects."/y"]\ntrust_level = "t"\n'


@proves("init/only-ours")
def test_comments_behind_our_table_stay(machine: Machine) -> None:
    path = machine.home / ".codex/config.toml"
    write(path, "a = 1\n")
    machine.init("codex")
    write(path, path.read_text() + "\n# later\n")
    machine.init("codex", "--uninstall")
    assert path.read_text() == "a = 1\n\n# later\n"


@proves("init/only-ours")
def test_a_permission_that_was_there_before_stays(machine: Machine) -> None:
    path = machine.project / ".claude/settings.json"
    write(path, '{"permissions": {"allow": ["mcp__telex"]}}')
    machine.init("claude", "--scope", "project")
    write(path, json_edit.set_member(path.read_text(), ("theme",), "light"))
    machine.init("claude", "--scope", "project", "--uninstall")
    assert json.loads(path.read_text()) == {"permissions": {"allow": ["mcp__telex"]}, "theme": "light"}


@proves("init/foreign")
@pytest.mark.parametrize("client", ["claude", "codex", "gemini", "opencode", "copilot"])
def test_a_server_of_that_name_that_is_not_ours_is_left_alone(machine: Machine, client: str) -> None:
    foreign = {"command": "npx", "args": ["telex-news", "mcp"]}
    if client == "codex":
        write(machine.home / ".codex/config.toml", '[mcp_servers.telex]\ncommand = "npx"\n')
    else:
        path = [path for path in settings_of(client, machine, "user") if path.name != "settings.json"]
        file = (path or settings_of(client, machine, "user"))[0]
        write(file, json.dumps({"mcp" if client == "opencode" else "mcpServers": {"telex": foreign}}))
    before = machine.files()
    assert machine.init(client, "--json").answer[0]["problems"]
    assert machine.init(client).code == 1
    machine.init(client, "--uninstall")
    assert {name: content for name, content in machine.files().items() if ".local" not in name} == before


@proves("init/unreadable")
@pytest.mark.parametrize("text", ['{"a": 1', "{a: 1}", '{"hooks": []}', '"text"', "{}{}", '{"a": 1 "b": 2}'])
def test_entries_for_a_file_that_cannot_be_parsed_are_printed(machine: Machine, text: str) -> None:
    path = machine.project / ".gemini/settings.json"
    write(path, text)
    ran = machine.init("gemini", "--scope", "project", "--json")
    assert ran.code == 3
    snippet = json.loads(ran.answer[0]["snippets"][0]["text"])
    assert snippet["mcpServers"]["telex"]["command"] == TELEX
    assert path.read_text() == text
    assert not Path(f"{path}.telex-backup").exists()


@proves("init/unreadable")
@pytest.mark.parametrize("text", ["a = ", "mcp_servers = {x = {command = 'y'}}\n"])
def test_a_table_for_toml_that_cannot_take_it_is_printed(machine: Machine, text: str) -> None:
    path = machine.home / ".codex/config.toml"
    write(path, text)
    ran = machine.init("codex", "--json")
    assert ran.code == 3
    assert "telex" in tomllib.loads(ran.answer[0]["snippets"][0]["text"])["mcp_servers"]
    assert path.read_text() == text


@proves("init/project")
def test_a_link_out_of_the_project_is_not_followed(machine: Machine) -> None:
    outside = machine.home / "outside.json"
    write(outside, "{}")
    (machine.project / ".mcp.json").symlink_to(outside)
    (machine.project / ".gemini").symlink_to(machine.home)
    for client in ("claude", "gemini"):
        assert machine.init(client, "--scope", "project").code == 1
        machine.init(client, "--scope", "project", "--uninstall")
    assert machine.files() == {"home/outside.json": b"{}", "project/.mcp.json": b"{}"}


@proves("init/project")
def test_a_project_gets_files_of_its_own(machine: Machine) -> None:
    machine.add(*WITH_INSTALLER)
    (machine.project / "src").mkdir()
    os.chdir(machine.project / "src")
    assert machine.init(*NAMES, "--scope", "project").code == 0
    assert machine.calls() == []
    assert all(name.startswith("project/") and "/src/" not in name for name in machine.files())
    server = json.loads((machine.project / ".mcp.json").read_text())["mcpServers"]["telex"]
    assert (server["command"], server["args"]) == (TELEX, ["mcp"])


@proves("init/restores")
def test_a_linked_settings_file_of_a_person_stays_a_link(machine: Machine) -> None:
    target = machine.home / "dotfiles/settings.json"
    write(target, JSON_TEXTS["plain"])
    (machine.home / ".gemini").mkdir()
    (machine.home / ".gemini/settings.json").symlink_to(target)
    machine.init("gemini")
    assert (machine.home / ".gemini/settings.json").is_symlink()
    assert b"telex" in target.read_bytes()
    machine.init("gemini", "--uninstall")
    assert (machine.home / ".gemini/settings.json").is_symlink()
    assert target.read_text() == JSON_TEXTS["plain"]


# --- options ----------------------------------------------------------------------------------------------------------
@proves("init/dry-run")
def test_a_dry_run_shows_the_changes_and_makes_none(machine: Machine) -> None:
    machine.add("claude", "opencode")
    path = machine.home / ".config/opencode/opencode.json"
    write(path, JSON_TEXTS["plain"])
    before = machine.files()
    ran = machine.init("--dry-run")
    assert "claude plugin install telex@telex" in ran.out
    assert '+  "mcp": {' in ran.out
    assert machine.files() == before
    assert machine.calls() == []
    machine.init("opencode")
    once = machine.files()
    assert '-  "mcp": {' in machine.init("opencode", "--uninstall", "--dry-run").out
    assert machine.files() == once


@proves("init/no-hooks")
@pytest.mark.parametrize("client", NAMES)
def test_without_hooks_only_the_server_is_installed(machine: Machine, client: str) -> None:
    machine.add(client)
    for scope in ("user", "project"):
        assert machine.init(client, "--no-hooks", "--scope", scope).code == 0
    texts = [content.decode() for content in machine.files().values()]
    assert not any("telex hook" in text for text in texts)
    assert any('"mcp"' in text for text in texts)


@proves("init/no-names")
@pytest.mark.parametrize("client", NAMES)
def test_the_name_of_an_agent_is_in_no_hook(machine: Machine, client: str) -> None:
    machine.add(client)
    assert machine.init(client, "--as", "ada-lovelace").code == 0
    lines = [line for content in machine.files().values() for line in content.decode().splitlines()]
    assert any("ada-lovelace" in line and "--as" in line for line in lines if "hook" not in line)
    assert not any("ada-lovelace" in line for line in lines if "hook " in line)
    assert machine.init(client, "--as", "$(rm x)").code == 64


@proves("init/twice")
def test_another_path_of_telex_replaces_the_first(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    other = machine.home.parent / "other dir" / "telex"
    write(other, "#!/bin/sh\n")
    other.chmod(0o755)
    before = machine.files()
    for client in NAMES:
        assert machine.init(client).code == 0
    monkeypatch.setattr(sys, "argv", [str(other)])
    for client in NAMES:
        assert machine.init(client).code == 0
    assert not any(f"{TELEX} ".encode() in content for content in machine.files().values())
    assert any(f"'{other}' hook".encode() in content for content in machine.files().values())
    assert machine.init("--uninstall").code == 0
    assert machine.files() == before


@proves("init/manifests")
def test_the_folders_have_the_manifests_of_their_formats(machine: Machine) -> None:
    machine.add(*WITH_INSTALLER)
    machine.init(*WITH_INSTALLER)
    for client in ("claude", "codex", "copilot"):
        market = json.loads((machine.data(client) / ".claude-plugin/marketplace.json").read_text())
        plugin = machine.data(client) / market["plugins"][0]["source"]
        assert json.loads((plugin / ".claude-plugin/plugin.json").read_text())["name"] == "telex"
        assert (plugin / "skills/telex/SKILL.md").read_text().startswith("---\nname: telex\ndescription: ")
    assert json.loads((machine.data("qwen") / "qwen-extension.json").read_text())["mcpServers"]["telex"]
    assert not (machine.data("qwen") / "plugin.json").exists()
    portable = machine.data("agent-plugin")
    for name in ("plugin", "mcp"):
        tree = json.loads((portable / f"{name}.json").read_text())
        assert tree["$schema"] == f"https://agent-plugins.org/schemas/1.0.0/{name}.schema.json"
    assert (portable / "AGENTS.md").exists()


@proves("init/manifests")
def test_the_skill_explains_the_tools_that_there_are() -> None:
    skill = plugin_files.data("SKILL.md")
    assert set(re.findall(r"^\| `(\w+)` \|", skill, re.MULTILINE)) == set(TOOLS)
    commands = set(re.findall(r"`telex ([a-z]+)", skill + plugin_files.data("AGENTS.md")))
    assert commands <= set(COMMANDS)


@proves("init/background")
def test_a_turn_of_claude_does_not_wait_for_the_hook_after_a_tool() -> None:
    hooks = plugin_files.hooks("claude", plugin_files.Setup("/bin/telex", "1"))
    [after], [before] = hooks["PostToolUse"][0]["hooks"], hooks["PreToolUse"][0]["hooks"]
    assert (after.get("async"), before.get("async")) == (True, None)

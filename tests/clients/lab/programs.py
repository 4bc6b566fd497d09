"""Coding tools of the lab: npm packages, how each is configured for the scripted model, and how each is started.

Nothing here is about Telex: its entries are made by `telex init`.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients.lab.wire import ToolCall

NODE_PACKAGE = "node@22.23.3"  # Claude Code and Qwen Code need 22
INSTALL_SECONDS_MAX = 900


class LabHome(NamedTuple):
    """Isolated folders of one client, and the address of its model."""

    home: Path
    project: Path
    address: str
    programs: Path  # where the clients are installed


class LabClient(NamedTuple):
    name: str
    title: str
    package: str
    version: str
    headless: tuple[str, ...]  # arguments after which the prompt comes
    interactive: tuple[str, ...]
    variables: Callable[[LabHome], dict[str, str]]
    configure: Callable[[LabHome], None]
    write: Callable[[str, str], ToolCall]  # a call that writes a file: path, content
    companions: tuple[str, ...] = ()  # packages of the same version that it would fetch when it starts
    write_arguments: tuple[str, ...] = ()  # of the client, where it needs more to offer that tool
    ready: str = ""  # text on the screen when it takes a prompt
    agrees: tuple[tuple[str, str], ...] = ()  # questions at start that a person answers, and the keys

    def installed(self, programs: Path) -> str:
        """Version that npm has installed."""
        manifest = programs / self.name / "node_modules" / self.package / "package.json"
        return str(json.loads(manifest.read_text())["version"])


def write_json(path: Path, tree: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(tree, indent=2) + "\n")


def configure_claude(lab: LabHome) -> None:
    known = {"hasCompletedOnboarding": True, "theme": "dark", "customApiKeyResponses": {"approved": ["sk-dummy"]}}
    write_json(lab.home / ".claude.json", known | {"projects": {str(lab.project): {"hasTrustDialogAccepted": True}}})


def configure_codex(lab: LabHome) -> None:
    (lab.home / ".codex").mkdir(parents=True, exist_ok=True)
    (lab.home / ".codex/config.toml").write_text(
        f"""\
model = "gpt-5"
model_provider = "scripted"
approval_policy = "never"
sandbox_mode = "workspace-write"
check_for_update_on_startup = false

[notice.model_migrations]
"gpt-5.5" = "gpt-6-sol"

[analytics]
enabled = false

[model_providers.scripted]
name = "scripted"
base_url = "{lab.address}/v1"
env_key = "SCRIPTED_KEY"
wire_api = "responses"

[projects."{lab.project}"]
trust_level = "trusted"
"""
    )


def configure_gemini_family(folder: str, auth: str) -> Callable[[LabHome], None]:
    def configure(lab: LabHome) -> None:
        tree = {
            "security": {"auth": {"selectedType": auth}},
            "privacy": {"usageStatisticsEnabled": False},
            "telemetry": {"enabled": False},
            "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
            "ui": {"enableFollowupSuggestions": False},  # Qwen asks its model what the user might type next
        }
        write_json(lab.home / folder / "settings.json", tree)

    return configure


def configure_opencode(lab: LabHome) -> None:
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "scripted",
        "options": {"baseURL": f"{lab.address}/v1", "apiKey": "dummy"},
        "models": {
            "fake-model": {"name": "fake", "tool_call": True, "limit": {"context": 200_000, "output": 8_000}},
        },
    }
    tree = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "model": "scripted/fake-model",
        "small_model": "scripted/fake-model",
        "provider": {"scripted": provider},
    }
    folder = lab.home / ".config/opencode"
    write_json(folder / "opencode.json", tree)
    # What opencode installs from npm at the first start with a plugin, and waits for.
    modules = lab.programs / "opencode/node_modules"
    version = json.loads((modules / "@opencode-ai/plugin/package.json").read_text())["version"]
    needs = {"dependencies": {"@opencode-ai/plugin": version}}
    write_json(folder / "package.json", needs)
    write_json(folder / "package-lock.json", {"lockfileVersion": 3, "packages": {"": needs}})
    (folder / "node_modules").symlink_to(modules)


def configure_copilot(lab: LabHome) -> None:
    write_json(lab.home / ".copilot/config.json", {"trusted_folders": [str(lab.project)], "banner": "never"})


def patch(path: str, content: str) -> str:
    lines = "".join(f"+{line}\n" for line in content.splitlines())
    return f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"


CLIENTS = {
    client.name: client
    for client in (
        LabClient(
            name="claude",
            title="Claude Code",
            package="@anthropic-ai/claude-code",
            version="2.1.326",
            headless=("--permission-mode", "acceptEdits", "-p"),
            interactive=("--permission-mode", "acceptEdits"),
            variables=lambda lab: {
                "ANTHROPIC_BASE_URL": lab.address,
                "ANTHROPIC_API_KEY": "sk-dummy",
                "DISABLE_TELEMETRY": "1",
                "DISABLE_AUTOUPDATER": "1",
                "DISABLE_ERROR_REPORTING": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            },
            configure=configure_claude,
            write=lambda path, content: ToolCall("Write", {"file_path": path, "content": content}),
            ready="accept edits",
        ),
        LabClient(
            name="codex",
            title="Codex",
            package="@openai/codex",
            version="0.169.0",
            headless=("exec", "--dangerously-bypass-hook-trust"),
            interactive=(),
            variables=lambda lab: {"SCRIPTED_KEY": "dummy"},
            configure=configure_codex,
            write=lambda path, content: ToolCall("apply_patch", patch=patch(path, content)),
            write_arguments=("-m", "gpt-5.5"),  # with a model that it does not know it offers no apply_patch
            ready=r"(?:gpt|GPT)-\S+ \w+ · ",
            agrees=(("Hooks need review", "2"),),
        ),
        LabClient(
            name="gemini",
            title="Gemini CLI",
            package="@google/gemini-cli",
            version="0.61.0",
            headless=("--yolo", "-p"),
            interactive=("--yolo",),
            variables=lambda lab: {
                "GEMINI_API_KEY": "dummy",
                "GOOGLE_GEMINI_BASE_URL": lab.address,
                "GEMINI_TELEMETRY_ENABLED": "false",
                "GEMINI_CLI_TRUST_WORKSPACE": "true",
            },
            configure=configure_gemini_family(".gemini", "gemini-api-key"),
            write=lambda path, content: ToolCall("write_file", {"file_path": path, "content": content}),
            ready="Type your message",
        ),
        LabClient(
            name="opencode",
            title="opencode",
            package="opencode-ai",
            version="1.18.33",
            companions=("@opencode-ai/plugin",),
            headless=("run", "--auto"),
            interactive=("--auto",),
            variables=lambda lab: {
                "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1",
                "OPENCODE_DISABLE_SHARE": "1",
                "OPENCODE_DISABLE_LSP_DOWNLOAD": "1",
            },
            configure=configure_opencode,
            write=lambda path, content: ToolCall("write", {"filePath": path, "content": content}),
            ready="Ask anything",
        ),
        LabClient(
            name="qwen",
            title="Qwen Code",
            package="@qwen-code/qwen-code",
            version="0.24.4",
            headless=("--yolo", "-p"),
            interactive=("--yolo",),
            variables=lambda lab: {
                "OPENAI_API_KEY": "dummy",
                "OPENAI_BASE_URL": f"{lab.address}/v1",
                "OPENAI_MODEL": "fake-model",
            },
            configure=configure_gemini_family(".qwen", "openai"),
            write=lambda path, content: ToolCall("write_file", {"file_path": path, "content": content}),
            ready="Type your message",
        ),
        LabClient(
            name="copilot",
            title="Copilot CLI",
            package="@github/copilot",
            version="1.0.102",
            headless=("--allow-all-tools", "-p"),
            interactive=("--allow-all-tools",),
            variables=lambda lab: {
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_TYPE": "openai",
                "COPILOT_PROVIDER_BASE_URL": f"{lab.address}/v1",
                "COPILOT_PROVIDER_API_KEY": "dummy",
                "COPILOT_MODEL": "gpt-5",
                "COPILOT_AUTO_UPDATE": "false",
            },
            configure=configure_copilot,
            write=lambda path, content: ToolCall("create", {"path": path, "file_text": content}),
            ready=r"\? help",
        ),
    )
}


def install(folder: Path, *, newest: bool = False) -> None:
    """Install Node and the clients from npm, each in a folder of its own. Versions that are there are kept."""
    wanted = {"node": NODE_PACKAGE}
    for client in CLIENTS.values():
        version = "latest" if newest else client.version
        wanted[client.name] = " ".join(f"{package}@{version}" for package in (client.package, *client.companions))
    for name, package in wanted.items():
        installed = folder / name / "installed"
        if not newest and installed.exists() and installed.read_text() == package:
            continue
        (folder / name).mkdir(parents=True, exist_ok=True)
        print(f"npm install {package}", flush=True)
        command = ["npm", "install", "--prefix", str(folder / name), "--no-audit", "--no-fund", "--loglevel=error"]
        subprocess.run([*command, *package.split()], check=True, timeout=INSTALL_SECONDS_MAX)
        installed.write_text(package)


def search_path(programs: Path, client: LabClient, telex: Path) -> str:
    """PATH of a client: Telex, the client and Node from npm, and the system."""
    folders = [telex.parent, *(programs / name / "node_modules/.bin" for name in (client.name, "node"))]
    return os.pathsep.join(map(str, [*folders, "/usr/local/bin", "/usr/bin", "/bin"]))


def environment(client: LabClient, lab: LabHome, path: str) -> dict[str, str]:
    home = str(lab.home)
    return {
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_CACHE_HOME": f"{home}/.cache",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "PATH": path,
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "SHELL": shutil.which("bash") or "/bin/sh",
        **client.variables(lab),
    }

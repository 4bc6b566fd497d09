"""A coding client with an installer: it records its arguments, and rewrites its settings as the real ones do."""

import json
import os
import re
import sys
from pathlib import Path

MARKET, PLUGIN = "telex", "telex@telex"


def main(name: str, words: list[str]) -> int:
    with open(os.environ["FAKE_LOG"], "a", encoding="utf-8") as log:
        log.write(json.dumps([name, *words]) + "\n")
    if words == ["--version"]:
        print(f"{name} 9.8.7")
        return 0
    if os.environ.get("FAKE_FAILS") in ("all", words[1]):
        print("Error: installers are switched off")
        return 5
    home = Path(os.environ["HOME"])
    if name == "codex":
        toml_plugin(home / ".codex/config.toml", words)
    elif name in ("gemini", "qwen"):
        folder = home / f".{name}" / "extensions" / MARKET
        if words[1] == "install":
            folder.mkdir(parents=True)
        else:
            folder.rmdir()
    else:
        json_plugin(home / f".{name}/settings.json", words)
    return 0


def json_plugin(path: Path, words: list[str]) -> None:
    """Parse, change, write whole and sorted: comments, order and indentation are lost."""
    text = path.read_text() if path.exists() else ""
    tree = json.loads(re.sub(r"//.*", "", text) or "{}")
    markets, plugins = tree.setdefault("extraKnownMarketplaces", {}), tree.setdefault("enabledPlugins", {})
    if words[:3] == ["plugin", "marketplace", "add"]:
        markets[MARKET] = {"source": {"source": "directory", "path": words[3]}}
    elif words[1] == "install":
        plugins[PLUGIN] = True
    elif words[1] == "uninstall":
        plugins.pop(PLUGIN)
    else:
        markets.pop(MARKET)
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(tree, indent=2, sort_keys=True) + "\n")


def toml_plugin(path: Path, words: list[str]) -> None:
    text = path.read_text() if path.exists() else ""
    if words[:3] == ["plugin", "marketplace", "add"]:
        text = f'{text.rstrip()}\n\n[marketplaces.telex]\nsource_type = "local"\nsource = "{words[3]}"\n'
    elif words[1] == "add":
        text += '\n[plugins."telex@telex"]\nenabled = true\n'
    else:
        text = re.split(r"\n+\[plugins" if words[1] == "remove" else r"\n+\[marketplaces", text)[0] + "\n"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

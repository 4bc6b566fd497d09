"""Table of the environment variables that Telex reads. `telex help environment` and docs/reference/environment.md are
made from it."""

from telex.model.named_tuple import NamedTuple


class EnvironmentVariable(NamedTuple):
    name: str
    takes: str
    default: str
    help: str


VARIABLES: tuple[EnvironmentVariable, ...] = (
    EnvironmentVariable(
        "TELEX_STORE",
        "a path, `memory:`, or the `http://` or `https://` address of a hub; several with commas between them. For "
        "`telex serve` also `nats://HOST:PORT/TEAM`",
        "`path` of `[store]` in telex.toml, else `.telex/telex.db` of the project",
        "Store to use. The option `--store` and the argument of `telex.connect` go before it.",
    ),
    EnvironmentVariable(
        "TELEX_CONFIG",
        "a path",
        "`telex.toml` in the current folder or one above it",
        "Settings file to use. It may name a store outside of its folder.",
    ),
    EnvironmentVariable(
        "TELEX_AGENT",
        "a name",
        "none",
        "Agent that a command acts for. The option `--as` goes before it.",
    ),
    EnvironmentVariable(
        "TELEX_ROLE",
        "a role",
        "the role of the agent in the team",
        "Role with which a session of a coding tool joins the team.",
    ),
    EnvironmentVariable(
        "TELEX_TOKEN",
        "a token",
        "none",
        "Token for a hub. There is no option for it, because other users of a machine can see options.",
    ),
    EnvironmentVariable(
        "TELEX_SESSION",
        "`CLIENT:ID`",
        "the session of the coding tool that started the process",
        "Session of a coding tool that a process belongs to. Hooks and plugins set it.",
    ),
    EnvironmentVariable(
        "TELEX_HUB_KEY",
        "a key, or the path of a file with one key per line",
        "none",
        "Key with which the hubs of a replicated team sign what they write, the same for all of them. The first key "
        "of a file signs, and the others are accepted too.",
    ),
    EnvironmentVariable(
        "TELEX_NATS_CREDS",
        "a path",
        "none",
        "NATS credentials file of a hub, or a file with `USER:PASSWORD`.",
    ),
    EnvironmentVariable(
        "TELEX_TELEMETRY",
        "any value",
        "off",
        "Turns on OpenTelemetry spans in `telex serve`.",
    ),
    EnvironmentVariable(
        "_TELEX_COMPLETE",
        "set by the shell",
        "none",
        "Makes `telex` print completions instead of running a command. The script of `telex completion` sets it.",
    ),
)
OTHERS: tuple[EnvironmentVariable, ...] = (  # of other programs, which Telex honours
    EnvironmentVariable("NO_COLOR", "any value", "colours on a terminal", "Turns colours off."),
    EnvironmentVariable("TERM", "the name of a terminal", "set by the terminal", "`dumb` turns colours off."),
    EnvironmentVariable("COLUMNS", "a number", "the width of the terminal", "Width of tables and texts."),
    EnvironmentVariable(
        "OTEL_SEMCONV_STABILITY_OPT_IN",
        "a list with commas",
        "none",
        "`gen_ai_latest_experimental` adds the attributes of generative AI to spans of processed messages.",
    ),
    EnvironmentVariable(
        "XDG_CONFIG_HOME",
        "a path",
        "`~/.config`",
        "Folder of `telex/hubs`, the list of hubs that you trust in every project.",
    ),
    EnvironmentVariable("XDG_DATA_HOME", "a path", "`~/.local/share`", "Folder in which `telex init` puts the plugin."),
    EnvironmentVariable("CLAUDE_CONFIG_DIR", "a path", "`~/.claude`", "Settings of Claude Code, for `telex init`."),
    EnvironmentVariable("CODEX_HOME", "a path", "`~/.codex`", "Settings of Codex, for `telex init`."),
    EnvironmentVariable("COPILOT_HOME", "a path", "`~/.copilot`", "Settings of Copilot CLI, for `telex init`."),
    EnvironmentVariable(
        "OPENCODE_CONFIG_DIR", "a path", "`~/.config/opencode`", "Settings of opencode, for `telex init`."
    ),
)

"""Table of the environment variables that Telex reads. `telex help environment` and docs/reference/environment.md are
made from it."""

from telex.model.named_tuple import NamedTuple


class Variable(NamedTuple):
    name: str
    takes: str
    default: str
    help: str


VARIABLES: tuple[Variable, ...] = (
    Variable(
        "TELEX_STORE",
        "a path, `memory:`, or the `http://` or `https://` address of a hub",
        "`path` of `[store]` in telex.toml, else `.telex/telex.db` of the project",
        "Store to use. The option `--store` and the argument of `telex.connect` go before it.",
    ),
    Variable(
        "TELEX_CONFIG",
        "a path",
        "`telex.toml` in the current folder or one above it",
        "Settings file to use. It may name a store outside of its folder.",
    ),
    Variable(
        "TELEX_AGENT",
        "a name",
        "none",
        "Agent that a command acts for. The option `--as` goes before it.",
    ),
    Variable(
        "TELEX_ROLE",
        "a role",
        "the role of the agent in the team",
        "Role with which a session of a coding tool joins the team.",
    ),
    Variable(
        "TELEX_TOKEN",
        "a token",
        "none",
        "Token for a hub. There is no option for it, because other users of a machine can see options.",
    ),
    Variable(
        "TELEX_SESSION",
        "`CLIENT:ID`",
        "the session of the coding tool that started the process",
        "Session of a coding tool that a process belongs to. Hooks and plugins set it.",
    ),
    Variable(
        "TELEX_TELEMETRY",
        "any value",
        "off",
        "Turns on OpenTelemetry spans in `telex serve`.",
    ),
    Variable(
        "_TELEX_COMPLETE",
        "set by the shell",
        "none",
        "Makes `telex` print completions instead of running a command. The script of `telex completion` sets it.",
    ),
)
OTHERS: tuple[Variable, ...] = (  # of other programs, which Telex honours
    Variable("NO_COLOR", "any value", "colours on a terminal", "Turns colours off."),
    Variable("TERM", "the name of a terminal", "set by the terminal", "`dumb` turns colours off."),
    Variable("COLUMNS", "a number", "the width of the terminal", "Width of tables and texts."),
    Variable(
        "OTEL_SEMCONV_STABILITY_OPT_IN",
        "a list with commas",
        "none",
        "`gen_ai_latest_experimental` adds the attributes of generative AI to spans of processed messages.",
    ),
    Variable(
        "XDG_CONFIG_HOME",
        "a path",
        "`~/.config`",
        "Folder of `telex/hubs`, the list of hubs that you trust in every project.",
    ),
    Variable("XDG_DATA_HOME", "a path", "`~/.local/share`", "Folder in which `telex init` puts the plugin."),
    Variable("CLAUDE_CONFIG_DIR", "a path", "`~/.claude`", "Settings of Claude Code, for `telex init`."),
    Variable("CODEX_HOME", "a path", "`~/.codex`", "Settings of Codex, for `telex init`."),
    Variable("COPILOT_HOME", "a path", "`~/.copilot`", "Settings of Copilot CLI, for `telex init`."),
    Variable("OPENCODE_CONFIG_DIR", "a path", "`~/.config/opencode`", "Settings of opencode, for `telex init`."),
)

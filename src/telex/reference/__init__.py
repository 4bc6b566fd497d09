"""Reference pages made from the code: Python API, command line, environment variables; tables of HTTP and settings."""

from functools import cache

from telex.config.environment import OTHERS, VARIABLES, EnvironmentVariable
from telex.generate.tables import markdown_table
from telex.reference import settings_page
from telex.reference.command_line import command_line_page
from telex.reference.python_api import python_page
from telex.surfaces.http import openapi

MADE_BY = "<!-- Made by `python -m telex.generate`; a change here is lost. -->"
_INTRODUCTION = """\
Options of a command and arguments in Python go before these variables, and these before `telex.toml`. `telex help
environment` prints this list."""


@cache
def pages() -> dict[str, str]:
    """The text of each page by its path from the repository root."""
    bodies = {"python": python_page(), "cli": command_line_page(), "environment": environment_page()}
    return {f"docs/reference/{name}.md": body.replace("\n\n", f"\n\n{MADE_BY}\n\n", 1) for name, body in bodies.items()}


@cache
def parts() -> dict[str, dict[str, str]]:
    """The text of each generated part of a handwritten page, by page and by name."""
    return {"docs/http.md": openapi.parts(), "docs/settings.md": settings_page.parts()}


def environment_page() -> str:
    parts = [
        "# Environment variables",
        _INTRODUCTION,
        _table(VARIABLES),
        "## Variables of other programs",
        _table(OTHERS),
        "OpenTelemetry reads its own variables, whose names begin with `OTEL_`: see [observe](../observe.md).",
    ]
    return "\n\n".join(parts) + "\n"


def _table(variables: tuple[EnvironmentVariable, ...]) -> str:
    rows = [(f"`{variable.name}`", variable.takes, variable.default, variable.help) for variable in variables]
    return markdown_table(("variable", "takes", "default", "what it does"), rows)

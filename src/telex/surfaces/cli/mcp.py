"""`telex mcp`: the tools of the bus for a coding agent, on stdin and stdout."""

import os
import sys

import click

from telex.surfaces.cli import completion
from telex.surfaces.cli.bus_connection import AGENT, MEMORY, acting_agent, explained, stay_for_long
from telex.surfaces.cli.bus_options import role_option, store_option, text_option
from telex.surfaces.cli.exit_codes import DONE, FAILED, CommandError

STORE = "TELEX_STORE"


@click.command("mcp")
@text_option("--as", "NAME", f"Agent name; {AGENT} if not given.", into="agent", complete=completion.agents)
@role_option
@text_option("--hub", "URL", "Hub to use instead of a store, such as http://127.0.0.1:4477.")
@click.option("--structured", is_flag=True, help="Add structured content to each result, for programs.")
@store_option
def command(agent: str | None, role: str | None, hub: str | None, structured: bool, store: str | None) -> int:
    """Run an MCP server on stdio for one coding agent, which starts this command.

    \b
      claude mcp add telex -- telex mcp --as dev
      codex mcp add telex -- telex mcp --as dev

    The agent's name is set here; no tool argument can change it. It needs no hub.
    """
    if hub and store:
        raise CommandError("give --hub or --store, not both")
    if hub is None and (store or os.environ.get(STORE)) == MEMORY:
        raise CommandError("an in-memory store ends with this command: give a file with --store")
    return _serve(_name(agent, hub or store), role, hub or store, structured=structured)


def _name(given: str | None, where: str | None) -> str | None:
    """None also where the hub cannot be asked now: the server starts and says what is missing."""
    try:
        return acting_agent(given, where)
    except CommandError as error:
        sys.stderr.write(f"{error.say}\n")
        return None


def _serve(agent: str | None, role: str | None, where: str | None, *, structured: bool) -> int:
    try:
        import asyncio
        import signal

        from telex.surfaces.mcp.stdio import serve
        from telex.surfaces.mcp.tool_calls import Identity
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in ("mcp", "mcp_types", "anyio", "starlette", "pydantic"):
            raise
        raise CommandError("telex mcp needs more than the core: pip install 'telex[mcp]'", FAILED) from error
    stay_for_long()
    # stdin is read by a thread that only its end can wake, so an interrupt ends the process. The store takes no harm.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.stdin.isatty():
        sys.stderr.write("telex mcp is started by a coding tool and talks to it on stdio; Ctrl-C ends it\n")
    with explained():
        asyncio.run(serve(Identity(agent, role) if agent else None, where, structured=structured))
    return DONE

"""`telex mcp`: MCP server on stdio. Clients wait for it when they start, so it imports no click, asyncio or SDK."""

import os
import sys

from telex.surfaces.cli.connection import AGENT, MEMORY, acting_agent
from telex.surfaces.cli.usage import DONE, CommandError, Option, parse

STORE = "TELEX_STORE"
OPTIONS = (
    Option("--as", "NAME", f"agent name; {AGENT}, else that of the session, else a free one"),
    Option("--role", "ROLE", "its role, if the agent has not joined yet"),
    Option("--hub", "URL", "hub to use instead of a store, such as http://127.0.0.1:4477; several with commas"),
    Option("--structured", "", "add structured content to each result, for programs"),
    Option("--store", "PATH", "store to use; that of the project if not given"),
    Option("--help", "", "show this", "-h"),
)
HELP = """telex mcp [options]

Run an MCP server on stdio for one coding agent, which starts this command.

The options set the agent's name; no tool argument can change it. It needs no hub.

%s
"""


def run(args: list[str]) -> int:
    """Serve until stdin ends, and return the exit code."""
    options = parse(args, OPTIONS, HELP)
    if options is None:
        return DONE
    if options.operands:
        raise CommandError("telex mcp takes options only: telex mcp --help lists them")
    hub, store = options.get("--hub"), options.get("--store")
    if hub and store:
        raise CommandError("give --hub or --store, not both")
    if hub is None and (store or os.environ.get(STORE)) == MEMORY:
        raise CommandError("an in-memory store ends with this command: give a file with --store")
    if sys.stdin is None:  # closed: there is no client
        return DONE
    if sys.stdin.isatty():
        sys.stderr.write("telex mcp is started by a coding tool and talks to it on stdio; Ctrl-C ends it\n")
    from telex.surfaces.mcp.identity import AgentSession
    from telex.surfaces.mcp.stdio import serve

    where = hub or store
    is_hub = _is_hub(where)
    name = _name_at_hub(options.get("--as"), where) if is_hub else options.get("--as") or os.environ.get(AGENT)
    agent = AgentSession(name, options.get("--role"), where, is_hub=is_hub)
    serve(agent, where, structured=options.has("--structured"))
    return DONE


def _is_hub(where: str | None) -> bool:
    from telex.config import load
    from telex.connection import hub_at
    from telex.errors import TelexError

    try:
        return hub_at(where, load(os.getcwd())) is not None
    except TelexError:  # wrong settings are reported to the agent
        return False


def _name_at_hub(given: str | None, where: str | None) -> str | None:
    try:
        return acting_agent(given, where)
    except CommandError as error:  # the hub does not answer now; the server starts and reports it
        sys.stderr.write(f"{error.say}\n")
        return None

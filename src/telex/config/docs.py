"""What is there to read about the settings? docs/settings.md, with tables made from the same table as the reader."""

from collections.abc import Callable, Mapping

from telex.config.example import example
from telex.config.settings import (
    HUB_BOUNDS,
    LIMIT_BOUNDS,
    MEMBER,
    STATE,
    STORE,
    TASK_STATES,
    TEAM,
    Setting,
    ValueBounds,
    hub_default,
    limit_default,
    number,
)

_HEAD = """\
# Settings

A team needs no settings. With none, every role of the built-in dialects is a member by its own name, `human` is always
there, others join with `telex team join NAME --role ROLE`, and messages are stored in the nearest `.telex/telex.db`,
made on first use.

What a team wants otherwise it writes into `telex.toml`. The file is found as git finds its folder: in the working
directory or the nearest one above it that has one. `TELEX_CONFIG` names another. `telex team --example` prints a file
to begin with.

A file that is wrong stops every command that speaks to the bus with exit code 64, and everything that is wrong with it
is said at once, each with its line and the nearest right spelling:

```text
telex: telex.toml:3: team.strikt: there is no such key here; did you mean strict?
telex: telex.toml:8: team.members.ada.role: 'devv' is not among the choices; did you mean dev?
```
"""
_MEMBERS = """\
Declaring any member closes the team: who is not declared can neither send nor be sent to, and `telex team join` takes
in nobody else. Names compare without case, with spaces as hyphens. A declared member is there from the beginning, so
messages for it wait even before it has been seen.
"""
_STORE = """\
Where messages are stored is decided by the first of these that is given: `--store`, the variable `TELEX_STORE`, this
setting, the nearest `.telex` upwards.
"""
_LIMITS = """\
Every number in the house may be changed. A value outside its range is refused, since it is more likely a slip than a
wish.
"""
_HUB = """\
How much `telex serve` bears of one client and of all together, before it turns them away: see
[the hub's doors](hub-security.md). A hub reads them when it starts.
"""
_TASK_STATES = """\
Which states the tasks of build-flow have is a table that a team may replace as a whole: [task states](task-states.md).
States compare without case, and with hyphens and blanks as underscores.
"""
_STATE = """\
A state that leads nowhere is an end. From every state an end must be within reach, and to every state but the first
something must lead.
"""


def settings_page() -> str:
    parts = [
        _HEAD,
        "## `[team]`\n",
        _table(TEAM),
        "## `[team.members.NAME]`\n",
        _MEMBERS,
        _table(MEMBER),
        "## `[store]`\n",
        _STORE,
        _table(STORE),
        "## `[limits]`\n",
        _LIMITS,
        _numbers(LIMIT_BOUNDS, limit_default),
        "## `[hub]`\n",
        _HUB,
        _numbers(HUB_BOUNDS, hub_default),
        "## `[task_states]`\n",
        _TASK_STATES,
        _table(TASK_STATES),
        "## `[task_states.states.NAME]`\n",
        _STATE,
        _table(STATE),
        "## All of it\n",
        f"```toml\n{example()}```\n",
    ]
    return "\n".join(parts)


def _table(settings: dict[str, Setting]) -> str:
    rows = [
        f"| `{name}` | {setting.takes} | {setting.default} | {setting.says} |" for name, setting in settings.items()
    ]
    return "\n".join(["| setting | takes | default | what it does |", "|---|---|---|---|", *rows]) + "\n"


def _numbers(table: Mapping[str, ValueBounds], default: Callable[[str], float]) -> str:
    rows = [
        f"| `{name}` | {number(bounds.least)} – {number(bounds.most)} | {number(default(name))} | {bounds.says} |"
        for name, bounds in table.items()
    ]
    return "\n".join(["| setting | range | default | what it does |", "|---|---|---|---|", *rows]) + "\n"

"""Generator of docs/settings.md: `python -m telex.config`, from the repository's root."""

from collections.abc import Mapping
from pathlib import Path

from telex.config.settings import (
    HOOKS,
    HUB_BOUNDS,
    LIMIT_BOUNDS,
    MEMBER,
    STATE,
    STORE,
    TASK_STATES,
    TEAM,
    Setting,
    ValueBounds,
    example,
    number,
)
from telex.model.limits import HUB_LIMITS, LIMITS

_HEAD = """\
# Settings

A team needs no settings. By default every role of the built-in dialects is a member under its own name, `human` is
always a member, others join as role `agent` or with `telex team join NAME --role ROLE`, and messages are stored in
`.telex/telex.db` at the top of the project, which is created by the first send or receive.

Other settings go into `telex.toml`, in the working directory or the nearest directory above it that has one; a linked
git worktree that has none uses the one of the main work tree.
`TELEX_CONFIG` names another file. `telex team --example` prints a starter file.

An invalid file stops every command that uses the bus with exit code 64. All errors are printed at once, each with its
line and the nearest valid spelling:

```text
telex: telex.toml:3: team.strikt: there is no such key here; did you mean strict?
telex: telex.toml:8: team.members.ada.role: 'devv' is not among the choices; did you mean dev?
```
"""
_MEMBERS = """\
Declaring any member closes the team: an agent that is not declared can neither send nor receive, and cannot join with
`telex team join`. Names compare without case, with spaces as hyphens. A declared member is a recipient from the start:
messages wait for it before it has been seen.
"""
_STORE = """\
The store is the first of these that is given: `--store`, the variable `TELEX_STORE`, this setting, the folder `.telex`
of the project. A team has one store, whatever folder its agents work in:

| folder | its store is in |
|---|---|
| of a git repository | `.telex` at the top of the repository; that of the repository around it for a submodule |
| of a linked git worktree | `.telex` at the top of the main work tree, or in the git folder of a bare repository |
| with a `telex.toml` in it or above it | `.telex` beside that file, in the main work tree |
| of no repository | the nearest `.telex` upwards; else beside `telex.toml`, or in the folder itself |

`telex doctor` lists other stores of the same repository, which commands do not use, and `telex doctor --merge PATH`
merges one. The folder is made with a `.gitignore`, so that git does not see it.
"""
_LIMITS = """\
Every limit can be changed. A value outside its range is refused.
"""
_HOOKS = """\
Hooks of coding tools: [what each event does](hooks.md).
"""
_HUB = """\
Limits of `telex serve` for each client and for all together: see [hub security](hub-security.md). A hub reads them when
it starts.
"""
_TASK_STATES = """\
The states of build-flow tasks are a table that a team can replace as a whole: [task states](task-states.md). Names of
states compare without case, with hyphens and blanks as underscores.
"""
_STATE = """\
A state without successors is final. A final state must be reachable from every state, and every state but the first
must be reachable.
"""


def settings_page() -> str:
    sections = {
        "`[team]`": (_settings(TEAM),),
        "`[team.members.NAME]`": (_MEMBERS, _settings(MEMBER)),
        "`[store]`": (_STORE, _settings(STORE)),
        "`[hooks]`": (_HOOKS, _settings(HOOKS)),
        "`[limits]`": (_LIMITS, _limits(LIMIT_BOUNDS, LIMITS)),
        "`[hub]`": (_HUB, _limits(HUB_BOUNDS, HUB_LIMITS)),
        "`[task_states]`": (_TASK_STATES, _settings(TASK_STATES)),
        "`[task_states.states.NAME]`": (_STATE, _settings(STATE)),
        "Complete example": (f"```toml\n{example()}```\n",),
    }
    return "\n".join([_HEAD, *(part for title, parts in sections.items() for part in (f"## {title}\n", *parts))])


def _settings(settings: Mapping[str, Setting]) -> str:
    rows = [(f"`{name}`", setting.takes, setting.default, setting.says) for name, setting in settings.items()]
    return _table("takes", rows)


def _limits(bounds: Mapping[str, ValueBounds], defaults: object) -> str:
    rows = [
        (f"`{name}`", f"{number(least)} – {number(most)}", number(getattr(defaults, name)), says)
        for name, (least, most, says) in bounds.items()
    ]
    return _table("range", rows)


def _table(second: str, rows: list[tuple[str, str, str, str]]) -> str:
    head = [("setting", second, "default", "what it does")]
    lines = [f"| {' | '.join(row)} |" for row in [*head, *rows]]
    return "\n".join([lines[0], "|---|---|---|---|", *lines[1:]]) + "\n"


if __name__ == "__main__":
    Path("docs/settings.md").write_text(settings_page(), encoding="utf-8")

"""Example telex.toml with every setting, described in a line and commented out."""

from collections.abc import Callable, Mapping

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
)

_HEAD = """\
# telex.toml: the settings of a team, for this folder and all folders below it.
# Every line is optional; remove the # to change a setting.
"""
_WIDTH = 116


def example() -> str:
    """A telex.toml that says what each setting does, and sets nothing but a name."""
    parts = [
        _HEAD,
        "[team]\n" + _lines(TEAM),
        "# Declaring any member closes the team: no other agent can send or receive.\n"
        "# [team.members.ada]\n" + _lines(MEMBER),
        "[store]\n" + _lines(STORE),
        "[limits]\n" + _numbers(LIMIT_BOUNDS, limit_default),
        "# Limits of a hub for its clients.\n[hub]\n" + _numbers(HUB_BOUNDS, hub_default),
        "# Your own states for build-flow tasks, in place of the built-in ones.\n"
        "# [task_states]\n" + _lines(TASK_STATES),
        "# [task_states.states.doing]\n" + _lines(STATE),
        '# [task_states.states.todo]\n# goes_to = ["doing"]\n',
        "# [task_states.states.done]\n\n# [task_states.states.stuck]\n",
    ]
    return "\n".join(parts)


def _lines(settings: dict[str, Setting]) -> str:
    return "".join(f"{_said(_told(setting))}# {name} = {setting.example}\n" for name, setting in settings.items())


def _told(setting: Setting) -> str:
    choices = f" ({setting.takes.replace(', ', ' or ')})" if setting.takes.startswith("`") else ""
    return setting.says + choices


def _said(text: str) -> str:
    lines, line = [], "#"
    for word in text.replace("`", "").split():
        if len(line) + 1 + len(word) > _WIDTH:
            lines.append(line)
            line = "#"
        line += f" {word}"
    return "".join(f"{one}\n" for one in [*lines, line])


def _numbers(table: Mapping[str, ValueBounds], default: Callable[[str], float]) -> str:
    return "".join(f"{_said(bounds.says)}# {name} = {_value(default(name))}\n" for name, bounds in table.items())


def _value(value: float) -> str:
    return f"{int(value):_}" if value == int(value) else f"{value:g}"

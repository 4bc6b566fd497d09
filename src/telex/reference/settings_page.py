"""Tables and example of `docs/settings.md`, generated from the table of settings."""

from collections.abc import Mapping

from telex.config.settings import (
    HOOKS,
    HUB_BOUNDS,
    LIMIT_BOUNDS,
    MEMBER,
    NOTIFY,
    NOTIFY_BOUNDS,
    NOTIFY_LIMITS,
    STATE,
    STORE,
    TASK_STATES,
    TEAM,
    Setting,
    ValueBounds,
    example,
    notify_example,
    number,
)
from telex.model.limits import HUB_LIMITS, LIMITS


def parts() -> dict[str, str]:
    """Generated parts of the page by name."""
    return {
        "team": _settings(TEAM),
        "member": _settings(MEMBER),
        "store": _settings(STORE),
        "hooks": _settings(HOOKS),
        "limits": _limits(LIMIT_BOUNDS, LIMITS),
        "hub": _limits(HUB_BOUNDS, HUB_LIMITS),
        "notify": _settings(NOTIFY),
        "notify-limits": _limits(NOTIFY_BOUNDS, NOTIFY_LIMITS),
        "notify-example": f"```toml\n{notify_example()}```",
        "task-states": _settings(TASK_STATES),
        "state": _settings(STATE),
        "example": f"```toml\n{example()}```",
    }


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
    return "\n".join([lines[0], "|---|---|---|---|", *lines[1:]])

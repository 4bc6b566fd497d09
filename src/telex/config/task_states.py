"""State machine of tasks from telex.toml, in place of the built-in one.

The table is checked when it is loaded: each state must be reachable and must lead to a final state.
"""

from telex.config.settings import STATE, TASK_STATES
from telex.dialects.toml.document import TomlValue
from telex.model.task_states import ESCALATES_AFTER, TaskState, TaskStateMachine, ends_reached, state_name

STATES_MAX = 200
ESCALATES_AFTER_MAX = 1_000
NAME_CHARACTERS_MAX = 64


def machine_in(place: TomlValue) -> TaskStateMachine | None:
    """The machine that stands there; None when something is wrong with it, which is then noted."""
    if not place.is_table():
        return None
    place.only(*TASK_STATES, "states")
    states = place.need("states", "the states, each a table such as [task_states.states.doing]")
    if states is None or not states.is_table():
        return None
    names = _names(states)
    found = {names[key]: _state(value, names) for key, value in states.entries(STATES_MAX) if key in names}
    first, assigned, working = (_one(place, key, names) for key in TASK_STATES)
    if first is None or assigned is None or working is None or place.sheet.flaws:
        return None
    machine = TaskStateMachine(found, first, assigned, working)
    if assigned != first and assigned not in found[first].leads_to:
        place.at("assigned").flaw(
            f"an assignment moves a task from {first} to {assigned}, but there is no such transition"
        )
    _hold_together(machine, states, names)
    return None if place.sheet.flaws else machine


def _names(states: TomlValue) -> dict[str, str]:
    """Every state by the way it is written here: the name it is compared by."""
    names: dict[str, str] = {}
    for key, value in states.entries(STATES_MAX):
        name = state_name(key)
        if not name or not name.isprintable() or len(name) > NAME_CHARACTERS_MAX:
            value.flaw(f"the name of a state has 1 to {NAME_CHARACTERS_MAX} printable characters")
        elif name in names.values():
            value.flaw(f"{name} is declared twice: states compare without case, and with - and blanks as _")
        else:
            names[key] = name
    return names


def _state(value: TomlValue, names: dict[str, str]) -> TaskState:
    if not value.is_table():
        return TaskState()
    value.only(*STATE)
    after = value.at("escalates_after").integer() if value.has("escalates_after") else ESCALATES_AFTER
    if after is not None and not 1 <= after <= ESCALATES_AFTER_MAX:
        value.at("escalates_after").wrong(f"a number from 1 to {ESCALATES_AFTER_MAX:,}")
    return TaskState(
        _several(value, "goes_to", names),
        _several(value, "fails_to", names),
        _one(value, "escalates_to", names) if value.has("escalates_to") else None,
        after or ESCALATES_AFTER,
    )


def _several(value: TomlValue, key: str, names: dict[str, str]) -> tuple[str, ...]:
    items = value.at(key).items(STATES_MAX) if value.has(key) else []
    found = [_chosen(item, names) for item in items]
    return tuple(dict.fromkeys(name for name in found if name is not None))


def _one(value: TomlValue, key: str, names: dict[str, str]) -> str | None:
    there = value.need(key, "one of the states")
    return _chosen(there, names) if there is not None else None


def _chosen(value: TomlValue, names: dict[str, str]) -> str | None:
    if isinstance(value.value, str) and state_name(value.value) in names.values():
        return state_name(value.value)
    return value.choice(list(names))


def _hold_together(machine: TaskStateMachine, states: TomlValue, names: dict[str, str]) -> None:
    led_to = {machine.first} | {other for state in machine.states.values() for other in state.leads_to}
    for key, name in names.items():
        if name not in led_to:
            states.at(key).flaw("not reachable: add it to goes_to, fails_to or escalates_to of another state")
        elif not ends_reached(machine, name):
            states.at(key).flaw("no final state is reachable from here: at least one state needs no successor")

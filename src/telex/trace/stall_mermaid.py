"""Waits between agents as a Mermaid graph, with generated names and escaped text."""

from telex.model.work import Stall
from telex.trace.mermaid import written


def render(stall: Stall) -> str:
    """A `flowchart`, complete. Whoever is part of a circle is marked."""
    names = dict.fromkeys(name for wait in stall.waits for name in (wait.who, wait.whom))
    ids = {name: f"a{number}" for number, name in enumerate(names, 1)}
    circled = {name for knot in stall.knots if knot.kind == "cycle" for name in knot.who}
    lines = [f'{id_}["{written(name)}"]' for name, id_ in ids.items()]
    lines += [f'{ids[wait.who]} -- "{wait.why}: {written(wait.about)}" --> {ids[wait.whom]}' for wait in stall.waits]
    lines += [f"style {ids[name]} stroke-width:3px" for name in sorted(circled) if name in ids]
    return "\n".join(["flowchart LR", *(f"    {line}" for line in lines)]) + "\n"

"""Act that the demo of this process plays now. The hub's page shows it to visitors."""

from telex.model.named_tuple import NamedTuple


class Act(NamedTuple):
    number: int
    acts: int
    title: str
    says: str
    visitor: str = ""  # next steps for a visitor
    until: float | None = None  # then the team goes on by itself


class Stage:
    """Written by the thread of the demo, read by the hub: an assignment is atomic."""

    def __init__(self) -> None:
        self.act: Act | None = None  # None: no demo is running

    def play(self, act: Act | None) -> None:
        self.act = act

    def ask_visitor(self, says: str, until: float | None) -> None:
        if self.act is not None:
            self.act = self.act._replace(visitor=says, until=until)


STAGE = Stage()

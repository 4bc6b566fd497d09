"""Runs the demo: creates the folder, the clock and the bus, and reports each event."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from telex.client import SyncBus
from telex.config import Settings
from telex.connection import connect
from telex.demo.agents import DemoTeam
from telex.demo.environment import DemoProject, StoryClock, prepare
from telex.demo.narration import Happening
from telex.demo.story import play


class DemoRun(NamedTuple):
    path: str  # of the store
    bus: SyncBus
    clock: StoryClock
    story: Iterator[Happening]


@contextmanager
def playing(store: str | None, clock: StoryClock | None = None) -> Iterator[DemoRun]:
    """The story, about to begin. It goes on as it is told.

    Raises:
        StoreUnavailable: there is something else where it would be stored.
    """
    path, clock = prepare(store), clock or StoryClock()
    project = DemoProject(os.path.dirname(path) or ".", clock)  # before the bus, which looks for it when it is opened
    with connect(path, settings=Settings(), clock=clock) as bus:
        yield DemoRun(path, bus, clock, play(DemoTeam(bus, clock, project)))

"""Does a sender still take the quick way while others write? Nearly all of what they write is not about the team."""

import json
from pathlib import Path

import pytest

import telex
from telex.bus import send
from telex.bus.correlate import SendRequest
from telex.bus.directory import BusContext
from telex.clock import SteadyClock
from telex.config import Settings
from telex.dialects.builtin.vbw_typed import EXECUTION_UPDATE
from telex.ports.bus import Receipt
from tests.contract_team import typed


class Ticking:
    """Every look at the clock is a moment later: whatever is remembered for milliseconds is old each time."""

    def __init__(self) -> None:
        self.now = 1_790_000_000.0

    def __call__(self) -> float:
        self.now += 0.05
        return self.now


def test_others_who_write_slow_nobody_down(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticking = Ticking()
    clock = SteadyClock(wall=ticking, monotonic=ticking)
    patient: list[str] = []
    send_now = send.send_checked

    async def counted(office: BusContext, asked: SendRequest) -> Receipt:
        patient.append(asked.sender)
        return await send_now(office, asked)

    monkeypatch.setattr(send, "send_checked", counted)
    store = tmp_path / "telex.db"
    with telex.connect(store, settings=Settings(), clock=clock) as bus, telex.connect(store) as other:
        for number in range(30):
            update = json.dumps(typed(EXECUTION_UPDATE, id=f"u-{number}")).encode()
            assert bus.send(update, sender="dev", to="lead").accepted
            assert other.send("all is well", sender="lead", to="dev").accepted
            if number == 15:
                patient.clear()
    assert patient.count("dev") == 0

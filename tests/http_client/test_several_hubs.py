"""Does a client go on when one of several hubs that share a store is lost?"""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import telex
from telex.client import SyncBus
from telex.errors import OutcomeUnknown, StoreDamaged, StoreUnavailable
from telex.http_client.bus import RemoteBus, hub_addresses
from telex.http_client.transport import HttpQuery, RetryTransport
from telex.ports.bus import Bus
from telex.ports.store import EVERYTHING
from telex.surfaces.cli.main import main
from telex.validation.check import STRICT
from tests.http.replica_kit import FakeReplica
from tests.http_client.http_client_kit import IMPATIENT, NOTE, Faulty, Process, over, simulated_time
from tests.proofs import proves
from tests.surfaces.surfaces_kit import SECONDS_MAX, Hub, Time, hub, running_hub

__all__ = ["hub"]  # a fixture

NOBODY = "http://127.0.0.1:1"


@pytest.fixture
def pair(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Process, Process]]:
    """Two hubs, each in a process of its own, on one store."""
    for name in ("TELEX_STORE", "TELEX_TOKEN", "TELEX_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    hubs = Process(tmp_path), Process(tmp_path)
    yield hubs
    for one in hubs:
        one.kill()


# --- one is lost -----------------------------------------------------------------------------------------------------


@proves("http_client/failover", "http_client/failover-events")
def test_a_hub_that_is_killed_costs_no_message_no_ack_and_no_event(pair: tuple[Process, Process]) -> None:
    where, half, whole = f"{pair[0].url}/,{pair[1].url}", [f"n-{n}" for n in range(20)], [f"n-{n}" for n in range(40)]
    seen: list[int] = []
    read: list[str] = []
    begun, halfway = threading.Event(), threading.Event()

    def follow() -> None:
        with telex.connect(where) as bus:
            for event, message in bus.events(EVERYTHING, follow=True):
                seen.append(event.seq)
                begun.set()
                if event.kind == "acked" and message is not None and message.id == whole[-1]:
                    return

    def work() -> None:
        with telex.connect(where) as bus:
            while len(read) < len(whole):
                for leased in bus.receive("lead", wait=SECONDS_MAX):
                    read.append(leased.message.id)
                    bus.ack(leased.token, agent="lead")
                    if len(read) == len(half):
                        halfway.set()

    threads = [threading.Thread(target=one) for one in (follow, work)]
    with telex.connect(where) as bus:
        for id_ in half:
            bus.send(NOTE + id_, sender="dev", to="lead", id=id_)
        for thread in threads:
            thread.start()
        assert begun.wait(SECONDS_MAX)
        assert halfway.wait(SECONDS_MAX)
        pair[0].kill()
        receipts = [bus.send(NOTE + id_, sender="dev", to="lead", id=id_) for id_ in whole[len(half) :]]
        for thread in threads:
            thread.join(SECONDS_MAX)
            assert not thread.is_alive()
        assert all(receipt.accepted for receipt in receipts)
        assert read == whole
        assert {id_: [story.state for story in bus.why(id_)] for id_ in whole} == {id_: ["acked"] for id_ in whole}
        assert seen == [event.seq for event, _ in bus.events()]


@proves("http_client/failover", "http_client/failover-events")
def test_a_client_on_an_event_loop_goes_on_too(pair: tuple[Process, Process]) -> None:
    seen: list[int] = []

    async def follow(bus: Bus, begun: asyncio.Event) -> None:
        async for event, message in bus.events(EVERYTHING, follow=True):
            seen.append(event.seq)
            begun.set()
            if message is not None and message.id == "n-9":
                return

    async def scene() -> None:
        async with telex.connect(f"{pair[0].url},{pair[1].url}") as bus:
            begun = asyncio.Event()
            await bus.send(NOTE, sender="dev", to="lead", id="n-0")
            following = asyncio.ensure_future(follow(bus, begun))
            await begun.wait()
            sending = [asyncio.ensure_future(bus.send(NOTE, sender="dev", to="lead", id=f"n-{n}")) for n in range(1, 9)]
            await asyncio.sleep(0)
            pair[0].kill()
            assert all(receipt.accepted for receipt in await asyncio.gather(*sending))
            await bus.send(NOTE, sender="dev", to="lead", id="n-9")
            await asyncio.wait_for(following, SECONDS_MAX)
            stored = [(event.seq, message) async for event, message in bus.events()]
            assert seen == [seq for seq, _ in stored]
            assert sorted(message.id for _, message in await bus.inbox("lead", limit=99)) == [
                f"n-{n}" for n in range(10)
            ]

    asyncio.run(scene())


@proves("http_client/failover")
@pytest.mark.parametrize("fault", ["lost", "not there", "gateway", "not-ready", "store-unavailable", "hub-closing"])
def test_a_send_that_failed_at_one_hub_is_sent_to_the_next_under_the_same_id(hub: Hub, fault: str) -> None:
    first, second = Faulty(hub.url, [fault]), Faulty(hub.url, [])
    bus = over(first, second)
    receipt = bus.send(NOTE, sender="dev", to="lead")
    assert (receipt.accepted, receipt.duplicate) == (True, fault == "lost")
    assert {dict(one.query)["id"] for one in (*first.asked, *second.asked)} == {receipt.id}
    assert [message.id for _, message in bus.inbox("lead")] == [receipt.id]
    assert (len(first.asked), len(second.asked)) == (1, 2)  # the inbox was asked for where the send was answered
    bus.close()


@proves("http_client/failover")
def test_a_send_whose_outcome_a_hub_does_not_know_is_repeated_at_the_next(hub: Hub) -> None:
    bus = over(Faulty(hub.url, ["outcome-unknown"]), Faulty(hub.url, []))
    assert bus.send(NOTE, sender="dev", to="lead").accepted
    bus.close()
    away = over(
        *(Faulty(hub.url, [fault] * 99) for fault in ("outcome-unknown", "store-unavailable")), limits=IMPATIENT
    )
    with pytest.raises(OutcomeUnknown) as unknown:
        away.send(NOTE, sender="dev", to="lead", id="n-9")
    assert unknown.value.id == "n-9"
    away.close()


@proves("http_client/failover")
def test_a_busy_hub_is_asked_again_and_another_error_is_reported(hub: Hub) -> None:
    first, second = Faulty(hub.url, ["busy", None, "store-damaged"]), Faulty(hub.url, [])
    bus = over(first, second)
    bus.roster()
    with pytest.raises(StoreDamaged):
        bus.roster()
    assert (len(first.asked), len(second.asked)) == (3, 0)
    bus.close()


@proves("http_client/failover-not-twice")
@pytest.mark.parametrize(
    "fault, is_safe",
    [
        *[("not there", True), ("not-ready", True), ("store-unavailable", True)],
        *[("lost", False), ("gateway", False), ("outcome-unknown", False)],
    ],
)
def test_what_may_not_be_done_twice_goes_on_only_if_it_was_not_done(hub: Hub, fault: str, is_safe: bool) -> None:
    first, second = Faulty(hub.url, []), Faulty(hub.url, [])
    bus = over(first, second)
    bus.send(NOTE, sender="dev", to="lead", id="n-1")
    [leased] = bus.receive("lead")
    first.faults.append(fault)
    if is_safe:
        bus.nack(leased.token, agent="lead", reason="no table")
    else:
        with pytest.raises(OutcomeUnknown):
            bus.nack(leased.token, agent="lead", reason="no table")
    assert [one.path for one in second.asked] == (["/nack"] if is_safe else [])
    bus.close()


@proves("http_client/failover", "http_client/dead")
def test_hubs_that_are_all_away_are_each_tried_and_then_an_error(hub: Hub) -> None:
    moment, clock = simulated_time()
    wires = [Faulty(hub.url, ["not there"] * 99) for _ in range(3)]
    bus = SyncBus(RemoteBus.over(RetryTransport(wires, clock, "http://a,http://b,http://c"), clock, STRICT))
    with pytest.raises(StoreUnavailable, match="http://a,http://b,http://c"):
        bus.roster()
    assert moment[0] == pytest.approx(5)
    assert len({len(wire.asked) for wire in wires}) == 1
    bus.close()
    once = [Faulty(hub.url, ["not there"]), Faulty(hub.url, ["not there"]), Faulty(hub.url, [])]
    impatient = over(*once, limits=IMPATIENT)
    assert impatient.roster() == []
    impatient.close()


# --- addresses -------------------------------------------------------------------------------------------------------


@proves("http_client/several-hubs")
def test_addresses_are_separated_by_commas() -> None:
    where = "http://a:4477, https://b/,http://a:4477/"
    assert hub_addresses(where) == ("http://a:4477", "https://b")


@proves("http_client/several-hubs")
def test_a_list_of_hubs_is_an_option_a_variable_and_a_setting(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = f"{NOBODY},{hub.url}/"
    (tmp_path / "note.txt").write_text(NOTE, encoding="utf-8")
    sends = ["send", "--as", "dev", "--to", "lead", "note.txt"]
    assert main([*sends, "--id", "n-1", "--store", where]) == 0
    (tmp_path / "telex.toml").write_text(f'[store]\npath = "{where}"\n', encoding="utf-8")
    assert main([*sends, "--id", "n-2"]) == 0
    (tmp_path / "telex.toml").unlink()
    monkeypatch.setenv("TELEX_STORE", where)
    assert main([*sends, "--id", "n-3"]) == 0
    assert main(["where", "--as", "dev"]) == 0
    assert where in capsys.readouterr().out
    with telex.connect(where) as bus:
        assert [message.id for _, message in bus.inbox("lead")] == ["n-1", "n-2", "n-3"]
    assert not (tmp_path / ".telex").exists()


@proves("http_client/several-hubs")
@pytest.mark.parametrize("other", ["", "127.0.0.1:4477", "telex.db", "ftp://127.0.0.1", "http://u:p@127.0.0.1"])
def test_one_malformed_address_is_an_error_at_once(hub: Hub, other: str) -> None:
    with pytest.raises(StoreUnavailable, match="http://HOST:PORT"), telex.connect(f"{hub.url},{other}"):
        pass


@proves("http_client/several-hubs-trust")
def test_every_hub_must_be_one_that_may_get_the_token(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = hub.token("ada", "dev")
    with (
        pytest.raises(StoreUnavailable, match=r"plain http to hub\.example"),
        telex.connect(f"{hub.url},http://hub.example", token=token),
    ):
        pass
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "telex").mkdir()
    where = f"{hub.url},https://hub.example"
    (tmp_path / "telex.toml").write_text(f'[store]\npath = "{where}"\n', encoding="utf-8")
    with pytest.raises(StoreUnavailable, match=f"TELEX_STORE={where}"), telex.connect():
        pass
    (tmp_path / "telex/hubs").write_text(f"{hub.url}\n", encoding="utf-8")
    with pytest.raises(StoreUnavailable, match=r"names the hub https://hub\.example"), telex.connect(token=token):
        pass
    (tmp_path / "telex/hubs").write_text(f"{hub.url}\nhttps://hub.example/\n", encoding="utf-8")
    with telex.connect(token=token) as bus:
        assert bus.send(NOTE, sender="ada", to="lead").accepted


# --- own writes ------------------------------------------------------------------------------------------------------


def positions(asked: list[HttpQuery]) -> list[int]:
    return [one.position.entry for one in asked]


@proves("http_client/own-writes")
def test_a_hub_that_is_behind_catches_up_or_hands_the_request_on(tmp_path: Path) -> None:
    ahead, catching_up, stuck = FakeReplica(position=7), FakeReplica(position=3, arriving=9), FakeReplica(position=3)
    with ExitStack() as stack:
        path, clock = tmp_path / "hub.db", Time()
        hubs = [stack.enter_context(running_hub(path, clock, replica=one)) for one in (ahead, stuck, catching_up)]
        wires = [Faulty(one.url, []) for one in hubs]
        bus = over(*wires)
        bus.send(NOTE, sender="dev", to="lead", id="n-1")
        wires[0].faults += ["not there"]
        assert [message.id for _, message in bus.inbox("lead")] == ["n-1"]
        bus.roster()
        bus.close()
    assert [positions(wire.asked) for wire in wires] == [[0, 7], [7], [7, 9]]
    assert (stuck.waited, catching_up.waited) == ([(7, 5.0)], [(7, 5.0)])


@proves("http_client/own-writes")
def test_a_position_that_no_hub_reaches_is_an_error(tmp_path: Path) -> None:
    replica = FakeReplica(position=7)
    with running_hub(tmp_path / "hub.db", Time(), replica=replica) as hub:
        bus = over(Faulty(hub.url, []), Faulty(hub.url, []), limits=IMPATIENT)
        bus.roster()
        replica.change(position=3)
        with pytest.raises(StoreUnavailable):
            bus.roster()
        bus.close()


@proves("http_client/own-writes")
def test_the_position_in_a_log_that_was_replaced_is_forgotten(tmp_path: Path) -> None:
    """telex doctor --new-log: the entries of the new log are counted from 1."""
    replica = FakeReplica(position=7, log="old1")
    with running_hub(tmp_path / "hub.db", Time(), replica=replica) as hub:
        wire = Faulty(hub.url, [])
        bus = over(wire, limits=IMPATIENT)
        bus.roster()
        replica.log = "new1"
        for position in (0, 0, 2):
            replica.change(position=position)
            bus.roster()
        bus.roster()
        bus.close()
    assert positions(wire.asked) == [0, 7, 0, 0, 2]
    assert replica.waited == []


@proves("http_client/failover-events")
def test_a_follower_leaves_a_hub_that_does_not_have_its_last_event(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first hub has an older copy of the same log, and would repeat events."""
    monkeypatch.setattr("telex.surfaces.http.app.BEHIND_SECONDS_MAX", 0.2)
    with ExitStack() as stack:
        old, new = (
            stack.enter_context(running_hub(tmp_path / name, Time(), replica=FakeReplica(position=1)))
            for name in ("old.db", "new.db")
        )
        with telex.connect(old.url) as bus:
            bus.send(NOTE, sender="dev", to="lead", id="n-0")
        with telex.connect(new.url) as bus:
            for id_ in ("n-0", "n-1"):
                bus.send(NOTE, sender="dev", to="lead", id=id_)
            last = max(event.seq for event, _ in bus.events())
        with telex.connect(f"{old.url},{new.url}") as bus:
            following = bus.events(EVERYTHING._replace(after=last), follow=True)
            with telex.connect(new.url) as writing:
                writing.send(NOTE, sender="dev", to="lead", id="n-2")
            event, _ = next(following)
        assert event.seq == last + 1


@proves("http_client/own-writes")
def test_a_position_of_too_many_digits_is_not_sent_to_any_hub(tmp_path: Path) -> None:
    with running_hub(tmp_path / "hub.db", Time(), replica=FakeReplica(position=10**18)) as hub:
        wire = Faulty(hub.url, [])
        bus = over(wire)
        bus.roster()
        bus.roster()
        bus.close()
    assert positions(wire.asked) == [0, 0]

"""Alerts of hubs that share a replicated team: one of them sends, each of them can withdraw."""

import asyncio
from pathlib import Path

from tests.alerts.test_alert_state import ASK, OTHER, Phone, Scene
from tests.nats.kit import hubs_of
from tests.nats.servers import Servers
from tests.proofs import proves


@proves("alerts/once", "alerts/settled", "alerts/link/once")
def test_hubs_of_a_replicated_team_send_once_and_all_know_the_link(one_server: Servers, tmp_path: Path) -> None:
    async def scene() -> None:
        async with hubs_of(one_server, tmp_path, 2) as team:
            phone = Phone()
            hubs = [Scene(store, phone, links=True) for store in team.hubs]
            await asyncio.gather(*(hub.look(ASK) for hub in hubs for _ in range(3)))
            assert phone.said == [([ASK.key], [])]
            for store in team.hubs:
                assert await store.refresh(20.0)
            links = [[*(await hub.runner.log.current(0.0)).links.items()] for hub in hubs]
            assert len(links[0]) == 1
            assert links[0] == links[1]
            await hubs[1].look(OTHER)
            assert await team.hubs[0].refresh(20.0)
            await hubs[0].look(OTHER)
            assert phone.said[1:] == [([], [ASK.key]), ([OTHER.key], [])]

    asyncio.run(asyncio.wait_for(scene(), 60.0))

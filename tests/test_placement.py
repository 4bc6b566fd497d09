"""Simulation of many teams on several NATS clusters (`bench.placement`): its invariants."""

from collections import Counter

import pytest

from bench.placement import (
    REPLICAS,
    STREAMS_PER_TEAM,
    imbalance,
    load_of,
    make_fleet,
    make_teams,
    moved,
    pin_largest,
    place_teams,
    report,
)

TEAMS = make_teams(count=3_000, agents=30_000, skew=1.0, seed=7)
FLEET = make_fleet(clusters=4, servers=5)


def test_every_team_has_one_cluster_and_three_servers_of_it() -> None:
    places = place_teams(TEAMS, FLEET)
    assert places.keys() == {team.name for team in TEAMS}
    for place in places.values():
        assert place.cluster in FLEET.clusters
        assert len(set(place.replicas)) == REPLICAS
        assert set(place.replicas) <= set(FLEET.servers_of(place.cluster))


def test_the_same_seed_gives_the_same_placement() -> None:
    again = make_teams(count=3_000, agents=30_000, skew=1.0, seed=7)
    assert place_teams(again, FLEET) == place_teams(TEAMS, FLEET)
    assert make_teams(count=3_000, agents=30_000, skew=1.0, seed=8) != TEAMS


def test_the_sizes_of_the_teams_are_skewed_and_sum_up() -> None:
    sizes = sorted((team.agents for team in TEAMS), reverse=True)
    assert sum(sizes) == 30_000
    assert sizes[-1] >= 1
    assert sizes[0] > 100 * sizes[len(sizes) // 2]


@pytest.mark.parametrize("clusters", [1, 2, 4, 8])
def test_a_new_cluster_takes_its_share_and_moves_nothing_between_the_others(clusters: int) -> None:
    larger = make_fleet(clusters + 1, FLEET.servers)
    before, after = place_teams(TEAMS, make_fleet(clusters, FLEET.servers)), place_teams(TEAMS, larger)
    moving, expected = moved(before, after), len(TEAMS) / (clusters + 1)
    assert {after[name].cluster for name in moving} == {larger.clusters[-1]}
    assert 0.85 * expected < len(moving) < 1.15 * expected
    stayed = before.keys() - set(moving)
    assert all(before[name] == after[name] for name in stayed)


def test_teams_are_spread_evenly_over_clusters_and_servers() -> None:
    places = place_teams(TEAMS, FLEET)
    assert imbalance(Counter(place.cluster for place in places.values())) < 1.1
    streams = load_of(TEAMS, places).streams
    assert sum(streams.values()) == len(TEAMS) * REPLICAS * STREAMS_PER_TEAM
    assert imbalance(streams) < 1.15


def test_pins_of_the_largest_teams_even_out_the_load_of_the_clusters() -> None:
    pins = pin_largest(TEAMS, FLEET, 20)
    by_name, pinned = place_teams(TEAMS, FLEET), place_teams(TEAMS, FLEET, pins)
    assert all(pinned[name].cluster == cluster for name, cluster in pins.items())
    assert set(moved(by_name, pinned)) <= pins.keys()
    assert imbalance(load_of(TEAMS, pinned).clusters) < 1.05 < imbalance(load_of(TEAMS, by_name).clusters)


def test_the_load_of_a_lost_server_goes_to_the_other_replicas_and_no_team_stops() -> None:
    places = place_teams(TEAMS, FLEET)
    whole, dead = load_of(TEAMS, places), "c0/n0"
    reduced = load_of(TEAMS, places, frozenset({dead}))
    assert reduced.stopped == 0
    assert dead not in reduced.led
    assert sum(reduced.led.values()) == pytest.approx(sum(whole.led.values()))
    changed = {server for server in reduced.led if reduced.led[server] != pytest.approx(whole.led[server])}
    assert changed
    assert changed <= set(FLEET.servers_of("c0"))


def test_two_lost_servers_of_a_cluster_stop_the_teams_that_have_both() -> None:
    places = place_teams(TEAMS, FLEET)
    down = frozenset({"c0/n0", "c0/n1"})
    both = sum(down <= set(place.replicas) for place in places.values())
    assert load_of(TEAMS, places, down).stopped == both > 0
    assert load_of(TEAMS, places, frozenset({"c0/n0", "c1/n0"})).stopped == 0


def test_the_report_needs_no_more_than_three_servers() -> None:
    assert report(TEAMS[:200], make_fleet(1, 3), 5)["two servers of a cluster down"].startswith("100%")

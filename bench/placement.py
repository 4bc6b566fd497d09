"""Simulation of many teams on shards: placement, load, growth by a shard, loss of a server.

A shard is a NATS cluster with the streams of its teams. A team goes to the shard, and its three replicas to the
servers, that rank first for its name (rendezvous hashing); pins place the teams with the most load by hand. Inside a
cluster NATS chooses servers itself and moves leaders, so the spread over servers is a model; the choice of a shard is
not. Run it: `python -m bench.placement`. The same seed gives the same figures.
"""

import argparse
import hashlib
import random
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

REPLICAS = 3
STREAMS_PER_TEAM = 2  # the log, and the snapshots
MESSAGES_PER_AGENT_SECOND = 1 / 20
ENTRIES_PER_MESSAGE = 3  # send, receive and ack, each in a batch of its own: the worst case, without concurrent callers
BYTES_PER_ENTRY = 700

# Measured by bench.stream_cost with 1,000 streams of three replicas, each with an entry and a consumer.
SERVER_MB, STREAM_MB = 20.0, 0.2
STREAM_HANDLES = 2.0
STREAM_IDLE_SHARE = 0.00024  # of a core
START_SECONDS_PER_STREAM = 0.022  # three servers on two cores


class Team(NamedTuple):
    name: str
    agents: int

    @property
    def entries(self) -> float:
        """Entries of the log per second."""
        return self.agents * MESSAGES_PER_AGENT_SECOND * ENTRIES_PER_MESSAGE


class Fleet(NamedTuple):
    clusters: tuple[str, ...]
    servers: int  # of each cluster

    def servers_of(self, cluster: str) -> list[str]:
        return [f"{cluster}/n{number}" for number in range(self.servers)]


class Place(NamedTuple):
    cluster: str
    replicas: tuple[str, ...]  # servers; the first of those that are up leads


def make_fleet(clusters: int, servers: int) -> Fleet:
    return Fleet(tuple(f"c{number}" for number in range(clusters)), servers)


def make_teams(count: int, agents: int, skew: float, seed: int) -> list[Team]:
    """Teams with at least one agent each. The size of the k-th largest is proportional to k ** -skew."""
    chance = random.Random(seed)
    shares = [rank**-skew for rank in range(1, count + 1)]
    rest, total = agents - count, sum(shares)
    sizes = [1 + int(rest * share / total) for share in shares]
    for number in chance.sample(range(count), agents - sum(sizes)):  # what rounding has left: less than one each
        sizes[number] += 1
    names = [f"team-{chance.getrandbits(64):016x}" for _ in sizes]
    return [Team(name, size) for name, size in zip(names, sizes, strict=True)]


def ranked(key: str, places: Iterable[str]) -> list[str]:
    """The places for a key, best first. One more place takes keys from the others and moves none between them."""

    def score(place: str) -> bytes:
        return hashlib.blake2b(f"{key}\0{place}".encode(), digest_size=8).digest()

    return sorted(places, key=score, reverse=True)


def pin_largest(teams: Sequence[Team], fleet: Fleet, count: int) -> dict[str, str]:
    """The clusters of the largest teams, each the least loaded so far; all others are placed by their names."""
    largest = sorted(teams, key=lambda team: (-team.agents, team.name))[:count]
    names = {team.name for team in largest}
    load: Counter[str] = Counter(dict.fromkeys(fleet.clusters, 0))
    for team in teams:
        if team.name not in names:
            load[ranked(team.name, fleet.clusters)[0]] += team.agents
    pins: dict[str, str] = {}
    for team in largest:
        pins[team.name] = cluster = min(fleet.clusters, key=lambda one: load[one])
        load[cluster] += team.agents
    return pins


def place_teams(teams: Iterable[Team], fleet: Fleet, pins: Mapping[str, str] | None = None) -> dict[str, Place]:
    places: dict[str, Place] = {}
    for team in teams:
        cluster = (pins or {}).get(team.name) or ranked(team.name, fleet.clusters)[0]
        places[team.name] = Place(cluster, tuple(ranked(team.name, fleet.servers_of(cluster))[:REPLICAS]))
    return places


class Load(NamedTuple):
    """By server: streams, entries per second that it stores, entries per second that it leads; by cluster: entries."""

    streams: dict[str, int]
    stored: dict[str, float]
    led: dict[str, float]
    clusters: dict[str, float]
    stopped: int  # teams without a majority of their replicas


def load_of(teams: Iterable[Team], places: Mapping[str, Place], down: frozenset[str] = frozenset()) -> Load:
    load = Load(Counter(), defaultdict(float), defaultdict(float), defaultdict(float), 0)
    stopped = 0
    for team in teams:
        cluster, replicas = places[team.name]
        up = [server for server in replicas if server not in down]
        load.clusters[cluster] += team.entries
        for server in up:
            load.streams[server] += STREAMS_PER_TEAM
        if len(up) <= REPLICAS // 2:
            stopped += 1
            continue
        load.led[up[0]] += team.entries
        for server in up:
            load.stored[server] += team.entries
    return load._replace(stopped=stopped)


def moved(before: Mapping[str, Place], after: Mapping[str, Place]) -> list[str]:
    """Teams that change their cluster."""
    return [name for name, place in before.items() if after[name].cluster != place.cluster]


def imbalance(load: Mapping[str, float]) -> float:
    """Largest by mean."""
    return max(load.values()) / statistics.mean(load.values())


def report(teams: Sequence[Team], fleet: Fleet, pinned: int) -> dict[str, str]:
    total, largest = sum(team.entries for team in teams), max(teams, key=lambda team: team.agents)
    by_name, places = place_teams(teams, fleet), place_teams(teams, fleet, pin_largest(teams, fleet, pinned))
    plain, load = load_of(teams, by_name), load_of(teams, places)
    counts, streams = Counter(place.cluster for place in places.values()), max(load.streams.values())
    larger = make_fleet(len(fleet.clusters) + 1, fleet.servers)
    moving = set(moved(by_name, place_teams(teams, larger)))
    moving_load = sum(team.entries for team in teams if team.name in moving) / total
    dead = max(load.led, key=lambda server: load.led[server])
    cluster = dead.partition("/")[0]
    around = [server for server in fleet.servers_of(cluster) if server != dead]
    one, two = (load_of(teams, places, frozenset(down)) for down in ({dead}, {dead, around[0]}))
    before, after = (max(each.led[server] for server in around) for each in (load, one))
    stored = load.stored.values()
    return {
        "agents": f"{sum(team.agents for team in teams):,} in {len(teams):,} teams; largest team {largest.agents:,}",
        "entries/s": f"{total:,.0f}, {total * BYTES_PER_ENTRY / 1e6:,.1f} MB/s; largest team {largest.entries:,.0f}",
        "clusters × servers": f"{len(fleet.clusters)} × {fleet.servers}",
        "teams per cluster": f"{min(counts.values()):,} to {max(counts.values()):,}",
        "streams per server": f"{min(load.streams.values()):,} to {streams:,}",
        "load per cluster, max/mean": f"{imbalance(plain.clusters):.2f}; with pins {imbalance(load.clusters):.2f}",
        "entries led per server, max/mean": f"{imbalance(plain.led):.2f}; with pins {imbalance(load.led):.2f}",
        "entries stored/s per server": f"mean {statistics.mean(stored):,.0f}, max {max(stored):,.0f}",
        "one more cluster": f"{len(moving) / len(teams):.1%} of teams and {moving_load:.1%} of load move to it",
        "one server down": f"{one.stopped} teams stop; another leads {before:,.0f} → {after:,.0f} entries/s",
        "two servers of a cluster down": f"{two.stopped / counts[cluster]:.0%} of its teams stop",
        "memory per server": f"{SERVER_MB + streams * STREAM_MB:,.0f} MB",
        "file handles per server": f"{streams * STREAM_HANDLES:,.0f}",
        "processor time per server, no traffic": f"{streams * STREAM_IDLE_SHARE:.2f} cores",
        "start of all servers": f"{streams * START_SECONDS_PER_STREAM:,.0f} s",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Simulate the placement of teams on NATS clusters.")
    for name, value in {"teams": 10_000, "agents": 100_000, "clusters": 4, "servers": 5, "pins": 20, "seed": 1}.items():
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--skew", type=float, default=1.0)
    given = parser.parse_args()
    teams = make_teams(given.teams, given.agents, given.skew, given.seed)
    for name, text in report(teams, make_fleet(given.clusters, given.servers), given.pins).items():
        print(f"{name}: {text}")


if __name__ == "__main__":
    main()

"""Limits of a hub per client and in total; telex.toml may change each."""

from typing import NamedTuple


class HubLimits(NamedTuple):
    head_seconds: float = 10.0  # from the first byte of a request to the end of its headers
    body_seconds: float = 30.0  # from there to the end of its body
    write_seconds: float = 20.0  # a client that takes nothing for so long is cut off
    idle_seconds: int = 75  # between two requests; longer than clients keep theirs, so that they end it and not we
    head_bytes_max: int = 65_536
    body_bytes_max: int = 16 * 1_048_576  # of anything; what a single message may have is told by its own limit
    bodies_bytes_max: int = 256 * 1_048_576  # of all that are held at once: many large ones are as bad as one
    connections_max: int = 8_192  # in all, as far as the operating system allows
    connections_per_peer_max: int = 256  # from one address that is not this machine
    requests_max: int = 4_096  # open at once in all: those that wait, and those who watch
    requests_per_token_max: int = 64
    viewers_max: int = 512  # of live events, in all
    viewers_per_token_max: int = 16


HUB_LIMITS = HubLimits()

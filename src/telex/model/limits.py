"""Every number in the house, with its unit and where it comes from. A deployment may change any of them."""

from typing import NamedTuple


class Limits(NamedTuple):
    message_bytes_max: int = 1_048_576  # 1 MiB; larger things belong in a file that the message names
    front_matter_bytes_max: int = 65_536  # fields are short; what is long belongs in the body
    depth_max: int = 64  # levels of nesting; no dialect needs more than six
    integer_min: int = -(2**63)
    integer_max: int = 2**63 - 1  # what JSON readers in other languages can hold
    id_characters_max: int = 128
    found_characters_max: int = 60  # how much of a wrong value a finding repeats
    findings_max: int = 200  # enough to fix anything real; a hostile message gets no megabyte answer

    attempts_max: int = 3  # build-flow, on timeouts
    backoff_seconds: float = 2.0  # the first wait; it doubles each time
    lease_seconds: float = 60.0  # an agent silent for this long with a message in hand is taken for gone
    hold_seconds_max: float = 4 * 3600.0  # an MCP server renews a lease for no longer than this
    dedup_window_seconds: float = 3600.0  # build-flow, on its queue
    request_seconds: float = 300.0  # build-flow, on timeouts: how long an answer may take
    escalation_seconds: float = 300.0  # an escalation that nobody answered for so long goes one step further up
    conversation_seconds: float = 1800.0  # build-flow, on timeouts: silence after which a conversation is over
    silent_seconds: float = 300.0  # an agent that did nothing for this long is shown as silent
    retention_seconds: float = 30 * 86_400.0  # build-flow, on its queue: stored and searchable, then pruned
    reason_characters_max: int = 2_000  # why something failed or was dropped, in a few sentences
    inbox_max: int = 10_000  # waiting messages; a reader that far behind is told to its senders
    receive_max: int = 1_000  # messages in one lease; more would only lapse together

    hub_connect_seconds: float = 5.0  # a hub that has not answered by then is taken for dead
    hub_retry_seconds: float = 60.0  # one that has answered before is given this long to restart


LIMITS = Limits()


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

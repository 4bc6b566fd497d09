"""Limits of a team and of a hub, with unit and source; telex.toml may change each."""

from telex.model.named_tuple import NamedTuple


class Limits(NamedTuple):
    message_bytes_max: int = 1_048_576  # 1 MiB; larger content belongs in a file that the message names
    front_matter_bytes_max: int = 65_536  # long text belongs in the body
    depth_max: int = 64  # levels of nesting; no dialect needs more than six
    integer_min: int = -(2**63)
    integer_max: int = 2**63 - 1  # what JSON readers in other languages can hold
    id_characters_max: int = 128
    found_characters_max: int = 60  # of a wrong value, in a finding
    findings_max: int = 200  # so that a hostile message gets no megabyte answer

    attempts_max: int = 3  # build-flow, on timeouts
    backoff_seconds: float = 2.0  # the first wait; it doubles each time
    lease_seconds: float = 60.0  # then the message is delivered to another agent
    hold_seconds_max: float = 4 * 3600.0  # an MCP server renews a lease for no longer than this
    dedup_window_seconds: float = 3600.0  # build-flow, on its queue
    request_seconds: float = 300.0  # build-flow, on timeouts: deadline of an answer
    escalation_seconds: float = 300.0  # then an unanswered escalation goes to the next level
    conversation_seconds: float = 1800.0  # build-flow, on timeouts: without a message, the conversation is idle
    silent_seconds: float = 300.0  # without activity, an agent is shown as silent
    retention_seconds: float = 30 * 86_400.0  # build-flow, on its queue: stored and searchable, then pruned
    reason_characters_max: int = 2_000  # of a nack or a drop
    inbox_max: int = 10_000  # waiting messages; then sends are refused
    receive_max: int = 1_000  # messages in one call

    wake_grace_seconds: float = 1.0  # an agent that is about to read its inbox is not woken
    wake_seen_seconds: float = 600.0  # without a reaction, a wake is withdrawn and another may follow
    wakes_per_hour_max: int = 30  # of one agent; each costs it a turn
    wake_quiet_from_hour: float = 0.0  # local time; the same hour twice: no quiet hours
    wake_quiet_until_hour: float = 0.0

    hub_connect_seconds: float = 5.0  # timeout of a connection
    hub_retry_seconds: float = 60.0  # how long a client retries while a hub restarts


LIMITS = Limits()


class HubLimits(NamedTuple):
    head_seconds: float = 10.0  # from the first byte of a request to the end of its headers
    body_seconds: float = 30.0  # from there to the end of its body
    write_seconds: float = 20.0  # then a client that reads nothing is disconnected
    idle_seconds: int = 75  # between two requests; longer than clients wait, so that the client closes first
    head_bytes_max: int = 65_536
    body_bytes_max: int = 16 * 1_048_576  # of one request; a message has its own limit
    bodies_bytes_max: int = 256 * 1_048_576  # of all requests in memory
    connections_max: int = 8_192  # in all, as far as the operating system allows
    connections_per_peer_max: int = 256  # from one address that is not this machine
    requests_max: int = 4_096  # open at once, waiting ones included
    requests_per_token_max: int = 64
    viewers_max: int = 512  # of live events, in all
    viewers_per_token_max: int = 16


HUB_LIMITS = HubLimits()

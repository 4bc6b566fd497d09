"""Who is in the team, and who says so? Identity, the default team, closed teams, presence, leaving."""

import pytest

from telex.dialects.registry import BUILT_IN
from telex.dialects.schema import ANY, Dialect, MessageType
from telex.errors import LeaseLost, NotAMember, NotFound
from telex.model.roster import Member
from tests.bus.bus_team import EVERY_TYPE, NOTE, OpenTeam, Team, codes, each, every_dialect, flow, join_refused, speech
from tests.proofs import proves

ROLES = sorted({role for dialect in BUILT_IN for role in dialect.roles})
SIGNED = [(dialect, type_) for dialect, type_ in EVERY_TYPE if dialect.wire.sender is not None]
NOT_FOR_ALL = [(dialect, type_) for dialect, type_ in EVERY_TYPE if set(type_.senders) < set(dialect.roles)]
NEEDS_A_ROLE = [
    (dialect, type_)
    for dialect, type_ in EVERY_TYPE
    if type_.senders != ANY and type_.action != "stopped"  # anybody may agree to stop
]
CLOSED = (Member("ada", "lead", declared=True), Member("bob", "dev", declared=True))


def states(team: Team) -> dict[str, str]:
    return {one.member.name: one.state for one in team.bus.roster()}


# --- identity ---------------------------------------------------------------------------------------------------------


@proves("bus/identity/claim-differs")
@each(SIGNED)
def test_a_message_signed_by_somebody_else_is_refused(team: Team, dialect: Dialect, type_: MessageType) -> None:
    assert dialect.wire.sender is not None
    said = speech(dialect, type_)
    another = next(role for role in dialect.roles if role != said.sender)
    forged = speech(dialect, type_, **{dialect.wire.sender: another})
    bus = team.other(team.settings._replace(dialect=dialect.name))
    receipt = bus.send(forged.raw, sender=said.sender, to="human", check=False)
    assert not receipt.accepted
    assert "role-claim-differs" in codes(receipt.findings)
    assert team.bus.receive("human") == []


@proves("bus/identity/role-from-roster")
@each(NOT_FOR_ALL)
def test_what_an_agent_may_send_is_decided_by_its_role_on_the_roster(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    bus = team.other(team.settings._replace(dialect=dialect.name, forced=dialect))
    said = speech(dialect, type_)
    another = next(role for role in dialect.roles if role not in type_.senders)
    bus.join("kim", role=another)
    assert "role-may-not-send" in codes(bus.send(said.raw, sender="kim", to="human", check=False).findings)
    bus.join("lee", role=said.sender)
    assert bus.send(said.raw, sender="lee", to="human").accepted
    [lease] = bus.receive("human")
    assert (lease.message.sender, lease.message.role) == ("lee", said.sender)


@proves("bus/identity/role-claimed")
def test_another_role_than_the_rosters_is_refused_at_every_door(team: Team) -> None:
    team.bus.join("ada", role="dev")
    assert codes(team.bus.send(NOTE, sender="ada", role="lead", to="qa", check=False).findings) == ["role-differs"]
    for verb in (team.bus.receive, team.bus.inbox):
        with pytest.raises(NotAMember) as refused:
            verb("ada", role="lead")
        assert refused.value.code == "role-differs"
    assert join_refused(team.bus, "ada", role="lead").code == "role-differs"
    assert {one.member.role for one in team.bus.roster()} == {"dev"}


@proves("bus/identity/nobody-is-telex")
@pytest.mark.parametrize("name", ["telex", "Telex", "@agent-telex", "*", "role:qa", "all:qa", "", "-x", "a\x1b[31m"])
def test_nobody_acts_under_the_name_of_the_bus_or_of_an_address(team: Team, name: str) -> None:
    assert codes(team.bus.send(NOTE, sender=name, role="dev", to="lead", check=False).findings) == ["name-not-allowed"]
    with pytest.raises(NotAMember):
        team.bus.receive(name, role="dev")


# --- the default team -------------------------------------------------------------------------------------------------


@proves("bus/team/roles-by-name")
@pytest.mark.parametrize("role", [*ROLES, "human"])
def test_every_role_of_the_built_in_dialects_is_a_member_with_no_set_up(team: Team, role: str) -> None:
    sender = "dev" if role != "dev" else "lead"
    id_ = team.note(sender=sender, to=role)
    assert team.taken(role) == [id_]
    assert {one.member.name: one.member.role for one in team.bus.roster()} == {sender: sender, role: role}


@proves("bus/team/agent")
def test_a_newcomer_without_a_role_joins_as_agent_and_sends_what_needs_no_role(team: Team) -> None:
    receipt = team.bus.send(NOTE, sender="backend", to="lead")
    assert (receipt.accepted, [finding.code for finding in receipt.findings]) == (True, ["joined-as-agent"])
    assert team.bus.send(NOTE, sender="backend", to="lead").findings == ()
    assert team.bus.receive("frontend") == []
    assert {one.member.name: one.member.role for one in team.bus.roster()} == {
        "backend": "agent", "frontend": "agent", "lead": "lead",
    }  # fmt: skip
    team.note(sender="lead", to="backend")
    assert len(team.taken("backend")) == 1
    update = flow("STATUS_UPDATE", "u-1", "frontend", "lead")
    assert team.bus.send(update, sender="frontend", to="lead").accepted


@proves("bus/team/agent")
@each(NEEDS_A_ROLE)
def test_a_newcomer_without_a_role_sends_no_type_that_needs_one(
    team: Team, dialect: Dialect, type_: MessageType
) -> None:
    receipt = team.bus.send(speech(dialect, type_).raw, sender="backend", to="lead", check=False)
    assert "role-may-not-send" in codes(receipt.findings) or "role-claim-differs" in codes(receipt.findings)
    assert team.bus.roster() == []  # a refused first message joins nobody


@proves("bus/team/agent")
def test_an_agent_without_a_role_gives_it_later_and_only_once(team: Team) -> None:
    team.note(sender="ada")
    assert codes(team.bus.send(NOTE, sender="ada", role="wizard", to="lead", check=False).findings) == ["role-unknown"]
    team.note(sender="ada", role="dev")
    assert codes(team.bus.send(NOTE, sender="ada", role="lead", to="dev", check=False).findings) == ["role-differs"]
    assert team.other().receive("zoe") == []
    assert team.bus.receive("zoe", role="dev") == []
    assert {one.member.name: one.member.role for one in team.bus.roster()}["zoe"] == "dev"


@proves("bus/team/join")
def test_others_join_by_name_and_role_or_with_the_first_thing_they_do(team: Team) -> None:
    team.bus.join("ada", role="dev")
    team.note(sender="ada")
    team.note(sender="bob", role="qa")
    team.note(sender="bob")
    assert team.bus.receive("zoe", role="scout") == []
    assert team.other().receive("zoe") == []
    assert [event["kind"] for event in team.happened("joined")] == ["joined"] * 3


@proves("bus/team/role-unknown")
def test_a_role_that_no_dialect_has_is_refused_with_the_nearest(team: Team) -> None:
    refused = join_refused(team.bus, "ada", role="architekt")
    assert (refused.code, refused.nearest) == ("role-unknown", "architect")


@proves("bus/team/named-like-its-role")
def test_what_is_sent_to_a_role_by_name_is_read_by_who_has_it_while_nobody_is_called_so(team: Team) -> None:
    team.bus.join("zoe", role="lead")
    first = team.note(to="lead")
    assert team.taken("zoe") == [first]
    team.bus.join("lead")
    second = team.note(to="lead")
    assert (team.taken("zoe"), team.taken("lead")) == ([], [second])


@proves("bus/team/closed")
def test_a_declared_roster_closes_the_team(open_team: OpenTeam) -> None:
    team = open_team(members=CLOSED)
    assert codes(team.bus.send(NOTE, sender="qa", to="ada", check=False).findings) == ["sender-unknown"]
    assert codes(team.bus.send(NOTE, sender="kim", role="dev", to="ada", check=False).findings) == ["sender-unknown"]
    assert codes(team.bus.send(NOTE, sender="bob", to="qa", check=False).findings) == ["recipient-unknown"]
    with pytest.raises(NotAMember):
        team.bus.receive("kim", role="dev")
    assert team.taken("human") == []
    assert team.note(sender="bob", to="human")


@proves("bus/team/declared-may-wait")
def test_who_is_declared_can_be_written_to_before_it_has_ever_come(open_team: OpenTeam) -> None:
    team = open_team(members=CLOSED)
    by_name = team.note(sender="bob", to="ada")
    by_role = team.note(sender="bob", to="role:lead")
    to_all = team.note(sender="bob", to="*")
    assert states(team)["ada"] == "not seen yet"
    assert team.taken("ada") == [by_name, by_role, to_all]
    assert states(team)["ada"] == "here"


# --- recipients -------------------------------------------------------------------------------------------------------


@proves("bus/recipient/unknown")
@pytest.mark.parametrize(
    "address, nearest", [("laed", "lead"), ("role:led", "lead"), ("all:led", "lead"), ("xyzzy", None)]
)
@every_dialect
def test_an_unknown_recipient_is_refused_with_the_nearest_name(
    team: Team, dialect: Dialect, address: str, nearest: str | None
) -> None:
    said = speech(dialect, next(iter(dialect.types.values())))
    receipt = team.bus.send(said.raw, sender=said.sender, to=address, check=False)
    [finding] = [one for one in receipt.findings if one.code == "recipient-unknown"]
    assert (receipt.accepted, receipt.to, finding.nearest) == (False, (), nearest)
    assert team.story(receipt.id).deliveries == ()


@proves("bus/recipient/unknown")
def test_a_message_that_names_nobody_here_is_refused_likewise(team: Team) -> None:
    receipt = team.bus.send(flow("STATUS_UPDATE", "s-1", "cto", "plan-manger"), sender="cto", check=False)
    [finding] = [one for one in receipt.findings if one.severity == "refusal"]
    assert (finding.code, finding.nearest) == ("recipient-unknown", "plan-manager")


@proves("bus/recipient/missing")
def test_a_message_to_nobody_is_refused(team: Team) -> None:
    assert codes(team.bus.send(NOTE, sender="dev", check=False).findings) == ["recipient-missing"]


@proves("bus/recipient/nobody-hears")
@pytest.mark.parametrize("address", ["*", "all:dev"])
def test_a_broadcast_that_nobody_would_hear_is_refused(team: Team, address: str) -> None:
    assert codes(team.bus.send(NOTE, sender="dev", to=address, check=False).findings) == ["no-recipients"]


# --- presence ---------------------------------------------------------------------------------------------------------


@proves("bus/presence/silent")
def test_an_agent_that_does_nothing_for_five_minutes_is_shown_as_silent(team: Team) -> None:
    team.bus.join("ada", role="dev")
    team.later(299.0)
    assert states(team) == {"ada": "here"}
    team.later(2.0)
    assert states(team) == {"ada": "silent"}
    team.bus.receive("ada")
    assert states(team) == {"ada": "here"}


@proves("bus/presence/working")
@pytest.mark.parametrize("verb", ["send", "receive", "extend", "nack", "ack", "wait"])
def test_whatever_an_agent_does_shows_that_it_is_here(team: Team, verb: str) -> None:
    for _ in range(3):
        team.note()
    leases = team.bus.receive("lead", limit=3, lease=3600.0)
    team.later(400.0)
    assert states(team)["lead"] == "silent"
    match verb:
        case "send":
            team.note(sender="lead", to="dev")
        case "extend":
            team.bus.extend(leases[0].token, agent="lead")
        case "nack":
            team.bus.nack(leases[0].token, agent="lead", reason="no table")
        case "ack":
            team.bus.ack(leases[0].token, agent="lead")
        case "wait":
            team.bus.receive("lead", wait=400.0)
        case _:
            getattr(team.bus, verb)("lead")
    assert states(team)["lead"] == "here"


@proves("bus/looking/not-seen")
def test_looking_at_an_inbox_neither_joins_an_agent_nor_shows_it_as_here(team: Team) -> None:
    team.note(to="lead")
    assert team.inbox("qa") == team.inbox("newcomer") == []
    assert "qa" not in states(team)
    team.bus.join("lead")
    team.later(400.0)
    assert len(team.inbox("lead")) == 1
    assert states(team)["lead"] == "silent"


@proves("bus/looking/not-seen")
def test_the_inbox_of_an_agent_that_has_left_can_be_looked_at(team: Team) -> None:
    team.bus.join("ada", role="lead")
    team.bus.leave("ada")
    assert team.inbox("ada") == []


@proves("bus/presence/leases-expire")
def test_what_a_silent_agent_held_is_offered_again(team: Team) -> None:
    for name in ("ada", "bob"):
        team.bus.join(name, role="qa")
    id_ = team.note(to="role:qa")
    lease = team.take("ada")
    team.later(301.0)
    assert states(team)["ada"] == "silent"
    assert team.take("bob", wait=10.0).message.id == id_
    with pytest.raises(LeaseLost):
        team.bus.ack(lease.token, agent="ada")


@proves("bus/presence/waiting")
def test_the_roster_shows_what_waits_for_whom_and_since_when(team: Team) -> None:
    began = team.clock.now()
    team.note()
    team.later(10.0)
    team.note()
    team.note(to="role:qa")
    team.take()
    shown = {one.member.name: one[1:] for one in team.bus.roster()}
    assert shown["lead"] == ("here", 1, 1, began)
    assert shown["role:qa"] == ("shared", 1, 0, began + 10.0)


# --- leaving ----------------------------------------------------------------------------------------------------------


@proves("bus/leave/withdrawn")
def test_what_waited_for_who_leaves_is_taken_back_and_its_senders_are_told(team: Team) -> None:
    team.bus.join("ada", role="lead")
    held, waiting = team.note("first", to="ada"), team.note("second", to="ada")
    lease = team.take("ada")
    assert team.bus.leave("ada") == 2
    assert [team.story(id_).state for id_ in (held, waiting)] == ["withdrawn"] * 2
    told = [one.message.raw.decode() for one in team.bus.receive("dev", limit=9)]
    assert [id_ in text and "has left" in text for id_, text in zip((held, waiting), told, strict=True)] == [True, True]
    with pytest.raises(LeaseLost):
        team.bus.ack(lease.token, agent="ada")


@proves("bus/leave/gone")
def test_nobody_writes_to_or_acts_as_who_has_left(team: Team) -> None:
    team.bus.join("ada", role="lead")
    team.bus.leave("ada")
    assert states(team)["ada"] == "left"
    assert codes(team.bus.send(NOTE, sender="dev", to="ada", check=False).findings) == ["recipient-has-left"]
    assert codes(team.bus.send(NOTE, sender="ada", to="dev", check=False).findings) == ["sender-unknown"]
    assert team.bus.leave("ada") == 0
    with pytest.raises(NotFound):
        team.bus.leave("bob")


@proves("bus/leave/back")
def test_who_has_left_comes_back_by_saying_its_role(team: Team) -> None:
    team.bus.join("ada", role="lead")
    team.bus.leave("ada")
    team.bus.join("ada", role="lead")
    assert team.taken("ada") == []
    assert states(team)["ada"] == "here"
    id_ = team.note(to="ada")
    assert team.taken("ada") == [id_]


@proves("bus/leave/others-go-on")
def test_a_role_goes_on_when_one_of_its_members_leaves(team: Team) -> None:
    for name in ("ada", "bob"):
        team.bus.join(name, role="qa")
    id_ = team.note(to="role:qa")
    to_both = team.note(to="all:qa")
    assert team.bus.leave("ada") == 1
    assert team.taken("bob") == [id_, to_both]


@proves("bus/leave/others-go-on")
def test_what_a_member_that_leaves_held_of_its_role_goes_to_the_others_at_once(team: Team) -> None:
    for name in ("ada", "bob"):
        team.bus.join(name, role="qa")
    id_ = team.note(to="role:qa")
    [held] = team.bus.receive("ada", lease=3_600.0)
    team.bus.leave("ada")
    with pytest.raises(LeaseLost):
        team.bus.extend(held.token, agent="ada", seconds=3_600.0)
    assert team.taken("bob") == [id_]

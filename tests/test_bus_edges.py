"""What happens where two rules of the bus meet?"""

from telex.model.roster import Member
from tests.bus_team import OpenTeam, Team, flow, open_team, team

__all__ = ["open_team", "team"]

CTO, DEV, OTHER = "cto", "fullstack-developer", "build-orchestrator"


def test_a_repetition_is_acknowledged_though_its_recipient_has_left_since(team: Team) -> None:
    team.bus.join("ada", role="qa")
    first = team.bus.send("Look here.", sender="dev", to="ada", id="n-1")
    team.bus.leave("ada")
    again = team.bus.send("Look here.", sender="dev", to="ada", id="n-1")
    assert (first.accepted, again.accepted, again.duplicate, again.state) == (True, True, True, "withdrawn")
    other = team.bus.send("Look there.", sender="dev", to="ada", id="n-1")
    assert [finding.code for finding in other.findings] == ["recipient-has-left"]


def test_an_answer_ends_only_the_request_of_the_one_it_goes_to(team: Team) -> None:
    for asker in (DEV, OTHER):
        assert team.bus.send(flow("VALIDATION_REQUEST", "ask-1", asker, CTO), sender=asker).accepted
    answer = flow("VALIDATION_RESPONSE", "answer-1", CTO, DEV, replyTo="ask-1")
    assert team.bus.send(answer, sender=CTO).accepted
    waiting = {story.message.sender: story.answer_by is not None for story in team.bus.why("ask-1")}
    assert waiting == {DEV: False, OTHER: True}


def test_when_the_last_of_a_role_leaves_what_waits_for_the_role_is_taken_back(open_team: OpenTeam) -> None:
    members = (Member("ada", "qa", declared=True), Member("dev", "dev", declared=True))
    closed = open_team(members=members)
    closed.bus.join("ada")
    kept = closed.bus.send("Look here.", sender="dev", to="role:qa")
    assert closed.bus.leave("ada") == 1
    assert closed.story(kept.id).state == "withdrawn"
    assert "has left" in closed.take("dev").message.raw.decode()

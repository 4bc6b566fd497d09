"""What does the record say of a message that was read in other words, and how is a field spelt for whom?"""

import json

import pytest

from telex.bus.render import rendering_for
from telex.dialects.builtin.vbw_handoff import VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.model.message import Lease
from tests.bus_team import Shell, Team, open_team, shell, speech_of, team
from tests.proofs import proves
from tests.shutdown_kit import joined, reply, request
from tests.test_reader_form import message_of, reader

__all__ = ["open_team", "shell", "team"]

PROGRESS = speech_of("vbw-typed", "execution_update", "up-1")


def unmarked(out: str) -> str:
    return "".join(line.removeprefix("| ") for line in out.splitlines(keepends=True))


@pytest.fixture
def told(team: Team) -> Team:
    """ada reads build-flow and is sent an execution_update."""
    team.bus.join("ada", role="lead", dialects=["build-flow"])
    team.say(PROGRESS, to="ada")
    return team


# --- the record -------------------------------------------------------------------------------------------------------


@proves("reader_form/record/event")
def test_what_a_reader_was_given_is_told_with_its_turn(told: Team) -> None:
    leased = told.take("ada")
    found = leased.rendering
    assert found is not None
    [event] = [one for one in told.story("up-1").events if one.kind == "translated"]
    assert (event.agent, event.delivery, event.inbox) == ("ada", leased.delivery, "ada")
    counts = {name: len(getattr(found, name)) for name in ("lost", "invented", "narrowed")}
    detail = {"dialect": "build-flow", "type": "STATUS_UPDATE"} | {name: n for name, n in counts.items() if n}
    assert json.loads(event.detail or "") == detail
    assert counts["lost"], "an execution_update says more than a STATUS_UPDATE can"
    assert told.kinds("up-1") == ["accepted", "leased", "translated"]


@proves("reader_form/record/original")
def test_only_the_original_is_kept_and_each_turn_renders_it_anew(told: Team) -> None:
    first = told.take("ada")
    told.bus.nack(first.token, agent="ada", reason="not now")
    told.later(60.0)
    told.bus.join("ada", dialects=["vbw-handoff"])  # it has changed its mind meanwhile
    second = told.take("ada")
    assert [one.rendering and one.rendering.dialect for one in (first, second)] == ["build-flow", "vbw-handoff"]
    assert [one.message.raw for one in (first, second)] == [PROGRESS.raw] * 2
    assert told.story("up-1").message.raw == PROGRESS.raw
    assert [one["dialect"] for one in told.happened("translated")] == ["build-flow", "vbw-handoff"]


# --- spelling ---------------------------------------------------------------------------------------------------------


def answer_read_by_a_lead_of(team: Team, *reads: str, **words: object) -> Lease:
    """A shutdown_response in the hands of a lead that reads this."""
    team.bus.join("lead", dialects=reads)
    joined(team, "ada")
    call = request(team)
    assert reply(team, "ada", call, **words).accepted  # type: ignore[arg-type]
    return team.take("lead")


def payload(leased: Lease) -> dict[str, object]:
    found = json.loads(leased.raw)["payload"]
    assert isinstance(found, dict)
    return found


LATER = {"approve": None, "approved": True}  # as a later sender spells it


@proves("reader_form/spelling/written")
@pytest.mark.parametrize("reads", ["vbw-typed@2.0+approved", "vbw-typed+approved"])
def test_a_reader_that_asks_for_the_later_spelling_is_given_it(team: Team, reads: str) -> None:
    leased = answer_read_by_a_lead_of(team, reads)
    assert payload(leased)["approved"] is True
    assert "approve" not in payload(leased)
    assert json.loads(leased.raw) == {
        **json.loads(leased.message.raw),
        "payload": {
            ("approved" if k == "approve" else k): v for k, v in json.loads(leased.message.raw)["payload"].items()
        },
    }
    assert "translated" in team.kinds("ada-to-stop-1")
    team.say(speech_of("vbw-typed", "qa_verdict", "v-1"), to="lead")
    assert team.take("lead").rendering is None


@proves("reader_form/spelling/as-the-page")
@pytest.mark.parametrize("reads", ["vbw-typed@2.0", "vbw-typed"])
def test_any_other_reader_of_the_dialect_is_given_the_name_on_the_page(team: Team, reads: str) -> None:
    leased = answer_read_by_a_lead_of(team, reads, **LATER)
    assert payload(leased)["approve"] is True
    assert "approved" not in payload(leased)


@proves("reader_form/spelling/written", "reader_form/spelling/as-the-page")
@pytest.mark.parametrize("reads, words", [("vbw-typed@2.0+approved", LATER), ("vbw-typed@2.0", {}), (None, LATER)])
def test_what_is_spelt_as_its_reader_wants_it_is_handed_over_as_it_is(
    team: Team, reads: str | None, words: dict[str, object]
) -> None:
    leased = answer_read_by_a_lead_of(team, *([reads] if reads else []), **words)
    assert (leased.rendering, leased.raw) == (None, leased.message.raw)


@proves("reader_form/spelling/as-given")
@pytest.mark.parametrize("words", [{}, LATER])
@pytest.mark.parametrize(
    "reads, later",
    [
        ("vbw-typed@2.0+approved", "vbw-typed"),
        ("vbw-typed", "vbw-typed@2.0+approved"),
        ("vbw-typed+approved", "build-flow"),
        ("vbw-typed+approved", "plain"),
    ],
)
def test_what_a_reader_was_given_is_spelt_as_it_was_then(
    team: Team, reads: str, later: str, words: dict[str, object]
) -> None:
    leased = answer_read_by_a_lead_of(team, reads, **words)
    team.bus.join("lead", dialects=[later])
    told = team.bus.rendering(leased.message, agent="lead")
    assert told == leased.rendering
    shown = told.raw if told is not None else leased.message.raw
    assert shown == leased.raw


@proves("reader_form/spelling/written")
def test_what_is_translated_is_spelt_for_its_reader_as_well() -> None:
    update = VBW_TYPED.types["execution_update"]
    later = {**update.fields, "commit": update.fields["commit"]._replace(later_spelling="revision")}
    respelt = VBW_TYPED._replace(types={**VBW_TYPED.types, update.name: update._replace(fields=later)})
    message = message_of(VBW_HANDOFF, VBW_HANDOFF.types["dev_progress"])
    for reads, spelt in {"vbw-typed+revision": "revision", "vbw-typed": "commit"}.items():
        found = rendering_for(message, reader(reads), {VBW_HANDOFF.name: VBW_HANDOFF, respelt.name: respelt})
        assert found is not None
        assert {"revision", "commit"} & json.loads(found.raw)["payload"].keys() == {spelt}


# --- the command line -------------------------------------------------------------------------------------------------


@proves("reader_form/cli/receive")
def test_receive_prints_what_the_reader_reads_and_what_that_cost(told: Team, shell: Shell) -> None:
    ran = shell("receive", "--as", "ada")
    assert json.loads(unmarked(ran.out))["type"] == "STATUS_UPDATE"
    assert "build-flow STATUS_UPDATE from dev, translated from vbw-typed execution_update (" in ran.err
    assert " lost" in ran.err


@proves("reader_form/cli/receive")
def test_programs_are_told_where_something_was_lost(told: Team, shell: Shell) -> None:
    facts = json.loads(shell("receive", "--as", "ada", "--json").out)
    original = facts["translated_from"]
    assert (facts["dialect"], facts["type"]) == ("build-flow", "STATUS_UPDATE")
    assert json.loads(facts["message"])["type"] == "STATUS_UPDATE"
    assert (original["dialect"], original["type"]) == ("vbw-typed", "execution_update")
    assert "$.payload.commit" in [*original["lost"], *original["narrowed"]]
    told.say(speech_of("build-flow", "STATUS_UPDATE", "s-1"), to="ada")
    assert "translated_from" not in json.loads(shell("receive", "--as", "ada", "--json").out)


@proves("reader_form/cli/inbox")
def test_the_inbox_lists_messages_as_their_reader_will_have_them(told: Team, shell: Shell) -> None:
    assert shell("inbox", "--as", "ada").out.splitlines()[1].split()[:4] == ["up-1", "STATUS", "STATUS_UPDATE", "dev"]
    full = shell("inbox", "--as", "ada", "--full").out
    assert '"taskId"' in full
    assert '"task_id"' not in full
    facts = json.loads(shell("inbox", "--as", "ada", "--full", "--json").out)
    assert (facts["type"], facts["translated_from"]["type"]) == ("STATUS_UPDATE", "execution_update")


@proves("reader_form/cli/show", "reader_form/record/original")
def test_show_prints_the_original_and_who_was_given_it_otherwise(told: Team, shell: Shell) -> None:
    told.take("ada")
    ran = shell("show", "up-1")
    assert json.loads(unmarked(ran.out)) == PROGRESS.tree
    assert "ada received build-flow STATUS_UPDATE, " in ran.err
    assert shell("show", "up-1", "--raw").out.encode() == PROGRESS.raw
    seen = shell("show", "up-1", "--as", "ada")
    assert json.loads(unmarked(seen.out))["type"] == "STATUS_UPDATE"
    assert json.loads(shell("show", "up-1", "--as", "ada", "--json").out)["translated_from"]["dialect"] == "vbw-typed"
    assert shell("show", "up-1", "--as", "dev").out == ran.out
    assert shell("show", "up-1", "--as", "nobody-of-that-name").code == 3


@proves("reader_form/cli/show")
def test_show_prints_what_was_given_though_its_reader_reads_something_else_by_now(told: Team, shell: Shell) -> None:
    assert "as ada would receive it now" in shell("show", "up-1", "--as", "ada").err
    given = told.take("ada").raw
    for reads in ("vbw-typed", "vbw-handoff", "plain", "build-flow"):
        told.bus.join("ada", dialects=[reads])
        ran = shell("show", "up-1", "--as", "Ada", "--raw")
        assert ran.out.encode() == given, reads
        assert "as ada received it" in shell("show", "up-1", "--as", "ada").err
    assert json.loads(shell("show", "up-1", "--as", "ada", "--json").out)["given"] is True


@proves("reader_form/cli/show")
def test_what_was_given_as_it_was_sent_is_shown_so(team: Team, shell: Shell) -> None:
    team.bus.join("ada", role="lead")
    team.say(PROGRESS, to="ada")
    team.take("ada")
    team.bus.join("ada", dialects=["build-flow"])
    assert shell("show", "up-1", "--as", "ada", "--raw").out.encode() == PROGRESS.raw


@proves("reader_form/cli/show")
def test_what_comes_once_more_is_shown_as_it_will_come(told: Team, shell: Shell) -> None:
    told.bus.nack(told.take("ada").token, agent="ada", reason="not now")
    told.bus.join("ada", dialects=["vbw-handoff"])
    ran = shell("show", "up-1", "--as", "ada")
    assert json.loads(unmarked(ran.out))["type"] == "dev_progress"
    assert "as ada would receive it now" in ran.err


@proves("reader_form/cli/why")
def test_every_story_tells_into_what_it_was_translated_and_for_whom(told: Team, shell: Shell) -> None:
    told.take("ada")
    lines = shell("why", "up-1").out.splitlines()
    [line] = [one for one in lines if "translated" in one]
    assert "for ada into build-flow STATUS_UPDATE, " in line
    assert "for ada into build-flow STATUS_UPDATE" in shell("events").out
    correlation = told.story("up-1").message.correlation
    for form in ("tree", "sequence", "mermaid", "svg"):
        drawn = shell("trace", str(correlation), "--as", form).out
        assert "execution_update" in drawn
        assert "build-flow STATUS_UPDATE" in drawn, form

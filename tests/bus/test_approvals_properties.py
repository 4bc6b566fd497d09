"""Whatever is asked and answered, in whatever order: a simple model and the bus agree, and so does the record."""

import json
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from telex.work import reducer
from tests.bus.bus_team import QUICK, Team, codes, empty_store, flow
from tests.bus.test_approvals import CTO, DEV, HEAD, typed
from tests.demo.story_settings import FEWER
from tests.proofs import proves

TASKS = ("T-1", "T-2")
ACTORS = {"vbw-typed": ("dev", "lead", "architect", "human"), "build-flow": (DEV, CTO, HEAD, "human")}
MATRIX = ("lead", "architect")

asks = st.tuples(
    st.just("ask"), st.sampled_from(("vbw-typed", "build-flow")), st.integers(0, 3), st.sampled_from(TASKS), st.none()
)
answers = st.tuples(
    st.just("answer"),
    st.sampled_from(("vbw-typed", "build-flow")),
    st.integers(0, 3),  # which request; 3 is rarely there
    st.sampled_from(TASKS),
    st.tuples(st.integers(0, 3), st.booleans(), st.booleans()),  # by whom, yes or no, does it name the request
)
others = st.tuples(st.just("reopen"), st.none(), st.just(0), st.none(), st.none())


class Model:
    """What should come of it, in as few words as possible."""

    def __init__(self) -> None:
        self.asked: dict[str, tuple[str, str, str, str]] = {}  # by id: dialect, task, asker, to
        self.answered: dict[str, tuple[str, bool]] = {}

    def ask(self, name: str, dialect: str, task: str, sender: str, to: str) -> bool:
        if name in self.asked:
            return False
        self.asked[name] = dialect, task, sender, to
        return True

    def answer(self, dialect: str, name: str | None, task: str, sender: str, yes: bool) -> bool:
        if name is None:
            open_ = [one for one, (_, of, *_) in self.asked.items() if of == task and one not in self.answered]
            name = open_[0] if len(open_) == 1 else None
        if name is None or name not in self.asked or name in self.answered:
            return False
        _, _, asker, to = self.asked[name]
        may = sender == "human" or sender == to or (dialect == "vbw-typed" and sender in MATRIX)
        if sender == asker or not may:
            return False
        self.answered[name] = sender, yes
        return True


def sent(team: Team, raw: bytes, sender: str, to: str) -> bool:
    receipt = team.bus.send(raw, sender=sender, to=to, check=False)
    assert receipt.accepted or codes(receipt.findings)
    return receipt.accepted


def ask(team: Team, id: str, dialect: str, task: str) -> tuple[bytes, str, str]:
    if dialect == "vbw-typed":
        tree = json.loads(typed("approval_request", id, "dev")) | {"task": task}
        return json.dumps(tree).encode(), "dev", "lead"
    return flow("VALIDATION_REQUEST", id, DEV, CTO, task), DEV, CTO


def answer(number: int, dialect: str, id: str | None, task: str, sender: str, yes: bool) -> tuple[bytes, str]:
    if dialect == "vbw-typed":
        role = "lead" if sender == "human" else sender
        tree = json.loads(typed("approval_response", f"a-{number}", role, request_id=id, approved=yes))
        return json.dumps(tree | {"task": task}).encode(), "dev"
    tree = json.loads(flow("VALIDATION_RESPONSE", f"a-{number}", sender, DEV, task))
    tree["payload"]["decision"] = "APPROVED" if yes else "REJECTED"
    tree |= {"replyTo": id} if id is not None else {}
    if id is None:
        del tree["replyTo"]
    return json.dumps(tree).encode(), HEAD if sender == DEV else DEV


def folded(team: Team) -> dict[str, Any]:
    from telex.dialects.registry import BUILT_IN

    return reducer.written(team.bus.events(), {one.name: one for one in BUILT_IN})


def live(team: Team) -> dict[str, Any]:
    return team.bus.work_state("approval") | team.bus.work_state("task")


@proves("approvals/folded")
@FEWER
@given(st.lists(st.one_of(asks, answers, answers, others), max_size=8))
def test_the_bus_agrees_with_a_simple_model_and_with_its_record(plays: list[tuple[Any, ...]]) -> None:
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder, "team.db")
        path.write_bytes(empty_store())
        team, model = Team(path, QUICK, stack), Model()
        for number, (does, dialect, which, task, how) in enumerate(plays):
            name = f"{dialect}-{which}"
            if does == "reopen":
                before = live(team)
                team.bus = team.other()
                assert live(team) == before
            elif does == "ask":
                team.clock.leap(7200.0)  # else the same request again would be a duplicate
                raw, sender, to = ask(team, name, dialect, task)
                assert sent(team, raw, sender, to) == model.ask(name, dialect, task, sender, to)
            else:
                who, yes, names = how
                sender = ACTORS[dialect][who]
                if dialect == "vbw-typed" and sender == "dev":
                    continue  # the matrix says no before anybody looks into the book
                named = name if names or dialect == "vbw-typed" else None
                raw, to = answer(number, dialect, named, task, sender, yes)
                assert sent(team, raw, sender, to) == model.answer(dialect, named, task, sender, yes)
        book = folded(team)
        assert book == live(team)
        found = {one.request.id: one for topic, one in book.items() if topic.startswith("approval:")}
        assert set(found) == set(model.asked)
        given = {name: (one.answer.by, one.answer.decision != "rejected") for name, one in found.items() if one.answer}
        assert given == model.answered


@proves("approvals/once")
@given(st.booleans(), st.booleans())
def test_the_first_answer_stands_though_another_were_kept(first: bool, second: bool) -> None:
    from telex.dialects.builtin.vbw_typed import VBW_TYPED
    from telex.work.view import WorkMessage, fields_of

    def said(type_: str, name: str, sender: str, yes: bool = True) -> WorkMessage:
        tree = json.loads(typed(type_, name, sender)) | {"id": name}
        tree["payload"] |= {"request_id": "ask-1", "approved": yes, "conditions": []}
        kind = VBW_TYPED.types[type_]
        fields = fields_of(tree, VBW_TYPED, kind)
        return WorkMessage(1, name, 0.0, sender, sender, "lead", ("lead",), VBW_TYPED, kind, fields)

    asked = [said("approval_request", "ask-1", "dev"), said("approval_request", "ask-1", "lead")]
    answers = [said("approval_response", "an-1", "lead", first), said("approval_response", "an-2", "human", second)]
    for topic in ("approval:ask-1", "task:1-1-T1"):
        states: list[Any] = [None]
        for one in (*asked, *answers):
            states.append(reducer.fold(topic, states[-1], one))
        assert states[-1] == states[-2]
    assert reducer.fold("approval:ask-1", None, answers[0]) is None  # an answer to nothing decides nothing

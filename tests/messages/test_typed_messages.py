"""Classes of message types: construction, attributes, and reading of received messages."""

import inspect
import json
import pickle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import telex
from telex.config import Settings
from telex.dialects.python_names import attribute_names, class_names
from telex.dialects.registry import VERSIONS
from telex.dialects.schema import BODY_KEY, Dialect
from telex.errors import InvalidValue, NotFound, SettingsError
from telex.messages import Section, class_of, load, typed
from telex.messages.build_flow import CodebaseReviewReport, QualityReport, StatusUpdate, TaskAssignment
from telex.messages.signal_md import Approval, ResearchRequest
from telex.messages.vbw_company import DevBlocker as CompanyBlocker
from telex.messages.vbw_handoff import DevBlocker, DevProgress
from telex.model.finding import refusals
from telex.testing.strategies import messages
from telex.validation.check import CheckPolicy, check
from tests.dialects.user_dialect import OWN
from tests.messages.messages_kit import keywords_of
from tests.proofs import proves

EVERY_DIALECT = pytest.mark.parametrize("dialect", [*VERSIONS, OWN], ids=lambda dialect: dialect.name)
TRAIN = Path(__file__).parents[2] / "docs" / "examples" / "release-train.toml"
BLOCKER = DevBlocker(task="T1", plan_id="P1", blocker="no table", needs="P0")
TASK: dict[str, Any] = {"task_id": "T1", "title": "Reset", "description": "By mail", "phase": 2, "dependencies": []}


# --- construction ----------------------------------------------------------------------------------------------------


@proves("messages/classes")
@EVERY_DIALECT
@given(data=st.data())
def test_every_valid_message_of_a_type_can_be_read_made_again_and_sent(dialect: Dialect, data: st.DataObject) -> None:
    type_ = data.draw(st.sampled_from(list(dialect.types.values())))
    drawn = data.draw(messages(dialect, type_))
    tree = {name: value for name, value in drawn.items() if value is not None}  # None is absent to a constructor
    kind = class_of(dialect, type_.name)
    message = kind.from_message(tree)
    again = kind(**keywords_of(message))
    assert again == message
    assert message.to_dict() == tree | ({BODY_KEY: ""} if dialect.form == "front-matter" else {})
    assert eval(repr(message), vars(load(dialect))) == message
    raw = message.encode(sender="x")
    assert kind.from_message(raw) == kind.from_message(raw.decode())
    assert refusals(check(raw, CheckPolicy(forced=dialect)).findings) == []


@proves("messages/classes")
@pytest.mark.parametrize("dialect", VERSIONS, ids=lambda dialect: dialect.name)
def test_every_type_has_a_class_in_the_module_of_its_dialect(dialect: Dialect) -> None:
    module = load(dialect)
    for name, class_name in class_names(dialect.types).items():
        kind = getattr(module, class_name)
        assert (kind.TYPE, kind.DIALECT, kind.__doc__) == (name, dialect.name, dialect.types[name].purpose)
        assert class_of(dialect.name, name) is kind


def test_a_class_has_the_name_of_its_type_in_camel_case() -> None:
    names = class_names(["TASK_ASSIGNMENT", "dev_blocker", "release-ready", "release_ready", "Any", "2"])
    assert list(names.values()) == ["TaskAssignment", "DevBlocker", "ReleaseReady", "ReleaseReady_", "Any_", "Type2"]


@proves("messages/keywords")
def test_a_missing_unknown_or_misspelt_keyword_is_named() -> None:
    with pytest.raises(TypeError, match="task_id, status"):
        StatusUpdate()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"'taskId'.*'task_id'"):
        StatusUpdate(taskId="T1", status="STARTED")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"'mood'.*task_id"):
        StatusUpdate(task_id="T1", status="STARTED", mood="good")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"GatesItem.*status"):
        QualityReport.GatesItem(name="lint")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        StatusUpdate("T1", "STARTED")  # type: ignore[call-arg]


@proves("messages/keywords")
def test_a_value_that_no_message_can_have_is_named() -> None:
    with pytest.raises(TypeError, match=r"blockers.*object"):
        StatusUpdate(task_id="T1", status="STARTED", blockers=[object()])  # type: ignore[list-item]


def test_the_signature_of_a_class_lists_its_keywords() -> None:
    parameters = inspect.signature(StatusUpdate).parameters
    required = [name for name, parameter in parameters.items() if parameter.default is parameter.empty]
    assert required == ["task_id", "status"]
    assert {"from_", "reply_to", "message_id"} <= set(parameters)


# --- attributes ------------------------------------------------------------------------------------------------------


@proves("messages/attributes")
def test_fields_are_attributes_under_pythonic_names() -> None:
    task = TaskAssignment(**TASK, context=TaskAssignment.Context(plan_file="plan.md"), from_="lead")
    assert (task.payload.task_id, task.payload.context.plan_file, task.from_) == ("T1", "plan.md", "lead")
    assert task.payload.context.approved_design is None
    assert task.message_id is None
    assert (BLOCKER.task, BLOCKER.attempted) == ("T1", None)
    assert task.to_dict()["payload"]["context"] == {"planFile": "plan.md"}
    with pytest.raises(AttributeError):
        task.from_ = "qa"  # type: ignore[misc]


@proves("messages/attributes")
def test_objects_are_sections_at_any_depth_and_free_form_ones_are_dicts() -> None:
    lint = QualityReport.GatesItem(name="lint", status="PASSED")
    report = QualityReport(
        task_id="T1",
        status="PASSED",
        gates=[lint, {"name": "tests", "status": "SKIPPED"}],
        failure_count=0,
        actions=(),
    )
    assert [gate.status for gate in report.payload.gates] == ["PASSED", "SKIPPED"]
    assert report.payload.actions == []
    survey = CodebaseReviewReport.from_message(VERSIONS[2].types["CODEBASE_REVIEW_REPORT"].example)
    assert survey.payload.findings.architecture.status == "GOOD"
    assert isinstance(survey.payload.findings.architecture, Section)
    moved = class_of("build-flow", "STATE_TRANSITION")
    tree = moved.from_message(VERSIONS[2].types["STATE_TRANSITION"].example).to_dict()
    tree["payload"]["metadata"] = {"by": {"hand": True}}
    assert moved.from_message(tree).payload.metadata == {"by": {"hand": True}}  # type: ignore[attr-defined]


@proves("messages/attributes")
def test_a_value_of_another_shape_is_read_as_it_is() -> None:
    task = TaskAssignment(**TASK, context="none")  # type: ignore[arg-type]
    assert task.payload.context == "none"


def test_a_constant_need_not_be_given_and_the_body_is_text() -> None:
    assert (Approval().signal, Approval().body) == ("lgtm", "")
    request = ResearchRequest(topic="mail", body="Which service?\n\n## Why it matters\nWave two.\n")
    assert ResearchRequest.from_message(request.encode(sender="orchestrator")) == request


def test_messages_are_equal_by_content_and_can_be_pickled() -> None:
    same = DevBlocker(task="T1", plan_id="P1", blocker="no table", needs="P0")
    assert same == BLOCKER
    assert CompanyBlocker(task="T1", plan_id="P1", blocker="no table", needs="P0") != BLOCKER
    assert pickle.loads(pickle.dumps(BLOCKER)) == BLOCKER


def test_what_is_given_to_a_constructor_is_copied() -> None:
    attempted = ["Looked"]
    blocker = DevBlocker(task="T1", plan_id="P1", blocker="b", needs="n", attempted=attempted)
    attempted.append("Asked")
    blocker.to_dict()["attempted"].append("Waited")
    assert blocker.attempted == ["Looked"]


# --- received messages -----------------------------------------------------------------------------------------------


@proves("messages/from-message")
def test_a_received_message_is_read_from_every_form() -> None:
    raw = BLOCKER.encode(sender="dev")
    with telex.connect("memory:") as bus:
        bus.join("lead")
        receipt = bus.send(BLOCKER, sender="dev", to="lead")
        [leased] = bus.receive("lead")
        stored = bus.read(receipt.id, agent="lead")
    for form in (leased, stored, raw, raw.decode(), json.loads(raw)):
        assert DevBlocker.from_message(form) == BLOCKER
    assert typed(leased) == typed(stored) == BLOCKER
    assert isinstance(typed(stored), DevBlocker)
    with pytest.raises(InvalidValue, match="vbw-company"):
        CompanyBlocker.from_message(leased)
    with pytest.raises(InvalidValue, match="dev_blocker"):
        DevProgress.from_message(leased)


@proves("messages/from-message")
@pytest.mark.parametrize("text", ["", "hello", "{", "[1]", '{"type": "STATUS_UPDATE"}', '{"payload": {}}', "---\na: 1"])
def test_what_is_not_of_the_type_is_an_invalid_value(text: str) -> None:
    for kind in (StatusUpdate, ResearchRequest):
        with pytest.raises(InvalidValue, match=kind.TYPE):
            kind.from_message(text)
    with pytest.raises(InvalidValue, match="NoneType"):
        StatusUpdate.from_message(None)  # type: ignore[arg-type]


@proves("messages/reader-form")
def test_a_translated_message_is_read_in_the_dialect_of_its_reader() -> None:
    with telex.connect("memory:") as bus:
        bus.join("lead", dialects=["build-flow"])
        bus.send(DevProgress(task="T1", plan_id="P1", commit="abc", status="complete"), sender="dev", to="lead")
        [leased] = bus.receive("lead")
    update = typed(leased)
    assert isinstance(update, StatusUpdate)
    assert (update.payload.task_id, update.payload.status) == ("T1", "COMPLETED")
    assert StatusUpdate.from_message(leased) == update
    assert typed(leased.message) == DevProgress.from_message(leased.message)


def test_a_message_without_a_class_is_none() -> None:
    with telex.connect("memory:") as bus:
        bus.join("lead")
        bus.send("Just text.", sender="dev", to="lead")
        [leased] = bus.receive("lead")
    assert typed(leased) is None
    broken = leased.message._replace(dialect="vbw-handoff", type="dev_blocker")
    assert typed(broken) is None
    assert typed(broken._replace(dialect="no-such-dialect")) is None


# --- dialects of users -----------------------------------------------------------------------------------------------


@proves("messages/own-dialect")
def test_a_toml_dialect_has_the_same_classes() -> None:
    train = load(TRAIN)
    ready = train.ReleaseReady(component="search", verdict="go", builds=3, checks={"passed": 1, "failed": 0})
    assert ready.checks.passed == 1
    assert load(str(TRAIN)) is train
    [dialect] = {id(kind._plan.dialect): kind._plan.dialect for kind in (train.ReleaseReady, train.TrainLeft)}.values()
    assert load(dialect) is train
    assert class_of(dialect, "train_left") is train.TrainLeft
    settings = Settings(own_dialects=(dialect,))
    with telex.connect("memory:", settings=settings) as bus:
        bus.join("captain")
        bus.send(ready, sender="builder", to="captain", correlation="train-7")
        [leased] = bus.receive("captain")
    answer = typed(leased, settings.dialects())
    assert isinstance(answer, train.ReleaseReady)
    assert (answer.train, answer.from_, answer.builds) == ("train-7", "builder", 3)


@proves("messages/own-dialect")
def test_a_wrong_file_is_a_settings_error_and_an_unknown_type_is_not_found(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text('name = "x"\nroles = "y"\n', encoding="utf-8")
    with pytest.raises(SettingsError, match=r"wrong.toml"):
        load(wrong)
    with pytest.raises(SettingsError, match=r"missing.toml"):
        load(tmp_path / "missing.toml")
    for dialect, type_ in (("build-flow", "NO_SUCH_TYPE"), ("no-such-dialect", "STATUS_UPDATE")):
        with pytest.raises(NotFound):
            class_of(dialect, type_)


def test_names_that_python_does_not_have_are_changed() -> None:
    radio = load(OWN)
    message = radio.Message(
        class_="amber", call_sign="K9", crew=2, weights=[1.5], stops=[{"name": "Mill", "kind": "pick"}], any=[1]
    )
    assert (message.class_, message.call_sign, message.stops[0].kind, message.any) == ("amber", "K9", "pick", [1])
    assert message.notes is None


def test_types_named_like_constants_of_python_have_classes_that_can_be_written() -> None:
    assert class_names(["none", "true", "False", "NONE"]) == {
        "none": "None_",
        "true": "True_",
        "False": "False_",
        "NONE": "None__",
    }


def test_fields_named_like_what_a_stub_uses_get_another_name() -> None:
    names = ("property", "classmethod", "self", "encode", "str")
    assert attribute_names(names) == {name: f"{name}_" for name in names}

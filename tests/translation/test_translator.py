"""What does `telex.translate` give a program that has a message and no bus?"""

import subprocess
import sys

import telex
from telex.dialects.registry import by_name
from tests.cli.cli_kit import SAMPLES
from tests.dialects.toml_dialects import KANBAN
from tests.proofs import proves

PROGRESS = (SAMPLES / "vbw-handoff/progress.json").read_text()
SHUTDOWN = (SAMPLES / "vbw-typed/6-shutdown.json").read_text()


@proves("translation/door")
def test_a_message_is_told_to_a_reader_with_an_account_of_it() -> None:
    told = telex.translate(PROGRESS, "vbw@2.0")
    assert (told.valid, told.type, told.why_not) == (True, "execution_update", None)
    assert told.dialect is by_name("vbw-typed")
    assert telex.check(told.text).tree == told.tree
    made_up = {one.path: one.reason for one in told.invented}
    assert "$.phase" in made_up
    assert made_up["$.id"] == "generated here: no bus has stored it"
    assert telex.translate(PROGRESS.encode(), KANBAN).dialect is KANBAN
    assert telex.translate(PROGRESS, "kanban", telex.CheckPolicy(dialects=(*telex.BUILT_IN, KANBAN))).dialect is KANBAN


@proves("translation/door")
def test_what_has_no_counterpart_is_markdown_and_says_why() -> None:
    told = telex.translate(SHUTDOWN, "signal-md")
    assert (told.valid, told.type, told.tree) == (True, None, None)
    assert told.text.startswith("# shutdown_request from lead\n")
    assert told.why_not == "signal-md has no message that asks a team to stop."
    asked = telex.translate(SHUTDOWN, "plain")
    assert (asked.text, asked.why_not) == (told.text, None)
    assert telex.translate("Nobody typed this.", "signal-md").text == "Nobody typed this."


@proves("translation/roles/offline")
def test_the_sender_has_the_role_that_the_message_claims() -> None:
    report = (SAMPLES / "build-flow/quality.json").read_text()
    told = telex.translate(report, "vbw-typed")
    assert (told.type, told.text.splitlines()[0]) == (None, "# QUALITY_REPORT from quality-gate to build-orchestrator")
    assert told.why_not == "vbw-typed lets qa send qa_verdict, and the sender is quality-gate."
    claimed = telex.translate(report.replace('"quality-gate"', '"@agent-qa"'), "vbw-typed")
    assert claimed.tree is not None
    assert claimed.tree["author_role"] == "qa"
    assert "$.from" not in [change.path for change in claimed.narrowed]


@proves("translation/door")
def test_a_refusal_is_a_value() -> None:
    refused = telex.translate('{"type": "dev_blocker"}', "vbw-typed")
    assert (refused.valid, refused.text) == (False, "")
    assert "field-missing" in {finding.code for finding in refused.findings}
    nobody = telex.translate(PROGRESS, "vbw@9")
    assert [finding.code for finding in nobody.findings] == ["version-unknown"]
    assert not nobody.valid
    assert telex.translate(PROGRESS, "vbw-typed", as_role="qa").valid is False


@proves("translation/door")
def test_to_import_telex_is_not_to_import_the_translator() -> None:
    code = "import sys, telex; print([name for name in sys.modules if name.startswith('telex.')])"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
    assert {"translate", "TranslatedMessage"} <= set(telex.__all__)

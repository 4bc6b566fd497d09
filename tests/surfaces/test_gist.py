"""The one line that says what a message is about."""

import json
from typing import Any

import pytest

from telex.surfaces.page.gist import gist
from tests.proofs import proves

REPORT = {"plan_id": "1-1", "task_id": "1-1-T2", "status": "complete", "commit": "abc1234", "files": ["src/a.py"]}
VERDICT = {"result": "FAIL", "tier": "standard", "body": "## Checks\n\nTwo of **twenty** failed.\n\nOthers passed."}


@proves("page/feed/gist")
@pytest.mark.parametrize(
    "said, line",
    [
        ({"type": "execution_update", "payload": REPORT}, "complete: commit abc1234 · files src/a.py"),
        ({"type": "qa_verdict", "payload": VERDICT}, "FAIL: Two of twenty failed."),
        ({"type": "qa_verdict", "payload": VERDICT | {"body": "## Checks"}}, "FAIL: Checks"),
        ({"type": "note", "content": "# Heading\nThe text."}, "The text."),
        ({"payload": {"body": {"of": "fields"}, "tier": "standard"}}, "tier standard"),
    ],
)
def test_fields_that_say_only_where_a_message_belongs_are_left_out(said: dict[str, Any], line: str) -> None:
    assert gist(json.dumps(said).encode()) == line

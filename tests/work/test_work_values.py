"""Values that the bus hands out about the work: standard containers, which later messages do not change."""

import json

from telex.model.work import TASK_STATES, TOPIC, standing
from tests.bus.bus_team import Team, open_team, speech_of, team
from tests.proofs import proves
from tests.work.test_tasks import DEV, HEAD, move, tell

__all__ = ["open_team", "team"]


@proves("work/values")
def test_a_task_is_written_as_json_and_stays_as_it_was(team: Team) -> None:
    assert move(team, "pending", "assigned").accepted
    assert tell(team, "VALIDATION_REQUEST", sender=DEV, to=HEAD).accepted
    task = team.bus.work_state("task")["task:TASK-001"]
    assert json.loads(json.dumps(task._asdict()))["steps"][0][7] == task.steps[0].whom
    assert [request.by for request in task.requests] == [DEV]
    assert standing(TASK_STATES, task.steps).state == "assigned"
    assert move(team, "assigned", "planning").accepted
    assert (len(task.steps), len(team.bus.work_state("task")["task:TASK-001"].steps)) == (1, 2)


@proves("work/values")
def test_a_shutdown_is_written_as_json(team: Team) -> None:
    stop = speech_of("vbw-typed", "shutdown_request", "stop-1")
    assert team.bus.send(stop.raw, sender=stop.sender, to="dev").accepted
    [call] = json.loads(json.dumps(team.bus.work_state(TOPIC)[TOPIC]))[0]
    assert call[0] == "stop-1"

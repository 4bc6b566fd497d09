from pathlib import Path

import pytest
from trial import Plan, try_out

SHORT = Plan("a short trial", tasks=60, task_seconds=0.2, kills=2)


@pytest.mark.parametrize("name", ["telex", "faststream"])
def test_every_task_is_answered_once_though_workers_are_killed(name: str, tmp_path: Path) -> None:
    outcome = try_out(name, tmp_path, SHORT)
    assert (outcome.answered, outcome.replies) == (60, 60)


def test_huey_loses_tasks_that_run_when_its_consumer_is_killed(tmp_path: Path) -> None:
    """The page says so; where this fails, huey has learned to keep them and the page is to be corrected."""
    outcome = try_out("huey", tmp_path, SHORT)
    assert outcome.lost
    assert outcome.duplicates == 0

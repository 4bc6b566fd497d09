"""`telex worker`: the worker of a module in the working directory."""

import logging
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import telex
from tests.cli.cli_kit import Run, run
from tests.proofs import proves
from tests.worker.worker_kit import task

__all__ = ["run"]

MODULE = """
import telex
from telex.messages.build_flow import StatusUpdate, TaskAssignment

worker = telex.Worker("w1", role="dev")

@worker.handles(TaskAssignment)
def build(task: TaskAssignment, ctx: telex.Context) -> StatusUpdate:
    worker.stop()
    return StatusUpdate(task_id=task.payload.task_id, status="COMPLETED", details="\\x1b[31m")
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    (tmp_path / "builder.py").write_text(MODULE, encoding="utf-8")
    yield tmp_path
    for name in set(sys.modules) - before:
        if name.startswith(("builder", "broken")):
            del sys.modules[name]
    logger = logging.getLogger("telex.worker")
    logger.handlers, logger.propagate = [], True


@proves("worker/command")
@pytest.mark.parametrize("target", ["builder", "builder:worker", "builder.py", "./builder.py"])
def test_a_worker_of_a_module_replies_and_ends(run: Run, folder: Path, target: str) -> None:
    with telex.connect(folder / "telex.db", settings=telex.Settings()) as bus:
        bus.join("w1", role="dev")
        bus.agent("lead", role="lead").send(task("T1"), to="w1", id="task")
        assert run("worker", target, "--store", str(folder / "telex.db")).code == 0
        assert bus.why("task")[0].state == "acked"


@proves("worker/command")
def test_one_module_runs_under_several_names(run: Run, folder: Path) -> None:
    with telex.connect(folder / "telex.db", settings=telex.Settings()) as bus:
        bus.join("w2", role="dev")
        bus.agent("lead", role="lead").send(task("T1"), to="w2", id="task")
        assert run("worker", "builder", "--as", "w2", "--store", str(folder / "telex.db")).code == 0
        assert bus.why("task")[0].state == "acked"


@proves("worker/command")
def test_garbage_of_handlers_is_collected(folder: Path) -> None:
    """Commands begin with the garbage collector disabled, and a worker may run for weeks."""
    with_state = MODULE.replace("\\x1b[31m", "").replace('details=""', "details=str(gc.isenabled())")
    (folder / "builder.py").write_text(f"import gc\n{with_state}", encoding="utf-8")
    with telex.connect(folder / "telex.db", settings=telex.Settings()) as bus:
        bus.join("w1", role="dev")
        lead = bus.agent("lead", role="lead")
        lead.send(task("T1"), to="w1", id="task")
        subprocess.run([sys.executable, "-m", "telex", "worker", "builder", "--store", "telex.db"], check=True)
        [reply] = lead.inbox()
        assert "True" in reply.text


@proves("worker/command")
@pytest.mark.parametrize(
    "text, target, code",
    [
        ("", "nothing", 64),
        ("", "broken", 64),
        ("", "builder:other", 64),
        ("", "../builder.py", 64),
        ("", ":worker", 64),
        ("import no_such_module", "broken", 1),
    ],
    ids=["no module", "no worker", "another name", "another folder", "no name", "a missing dependency"],
)
def test_what_is_wrong_with_the_module_is_named(run: Run, folder: Path, text: str, target: str, code: int) -> None:
    (folder / "broken.py").write_text(text, encoding="utf-8")
    result = run("worker", target)
    assert result.code == code
    assert target.partition(":")[0] in result.err

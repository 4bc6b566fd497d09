"""What is built works in an empty environment, with no server and no set-up, and is small."""

from pathlib import Path

import pytest

from tests.dist import (
    DEPENDENCIES_MAX,
    MEGABYTES_MAX,
    ROOT,
    RegistryUnreachable,
    build,
    install,
    measure,
    own_dependencies,
    pinned,
    smoke,
)
from tests.proofs import proves

pytestmark = pytest.mark.slow


def test_only_what_telex_needs_is_taken_from_the_lock() -> None:
    lock = (
        "a==1 \\\n    --hash=sha256:0\n    # via telex\nb==2\n    # via\n    #   a\n    #   d\nc==3\n    # via d\nd==4"
    )
    assert [part.partition("==")[0] for part in pinned(lock, ["a"])] == ["a", "b"]
    taken = pinned((ROOT / "requirements.lock").read_text(encoding="utf-8"), own_dependencies())
    assert all("--hash=sha256:" in part for part in taken)
    assert not {"pytest", "mypy", "hypothesis"} & {part.partition("==")[0] for part in taken}


@proves("docs/core-install")
def test_the_wheel_of_the_sdist_sends_and_shows_a_message_and_is_small(tmp_path: Path) -> None:
    wheel = build(tmp_path)
    try:
        environment = install(wheel, tmp_path)
    except RegistryUnreachable:
        pytest.skip("NOT CHECKED: the wheel was not installed; the package registry could not be reached")
    core = measure(environment)
    assert core.dependencies <= DEPENDENCIES_MAX
    assert core.megabytes < MEGABYTES_MAX
    smoke(environment, tmp_path / "work")

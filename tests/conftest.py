"""What every test shares: how hard properties try, the ledger of proofs, and what others made that tests need."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ["pytester", "tests.proofs", "tests.shares", "tests.bus.bus_team"]
pytest.register_assert_rewrite(
    "tests.bus.shutdown_kit", "tests.cli.cli_kit", "tests.http.auth_kit", "tests.mcp.mcp_kit"
)
for part in ("contract_base", "contract_delivery", "contract_events", "contract_messages", "store_contract"):
    pytest.register_assert_rewrite(f"telex.testing.{part}")  # before any test imports it

ROOT = Path(__file__).parent.parent
MEMORY, MEMORY_BYTES_MIN = "/dev/shm", 2**31

for name, examples in {"quick": 15, "test": 25, "long": 20_000}.items():
    settings.register_profile(
        name,
        max_examples=examples,
        deadline=None,  # a busy machine is no failure
        derandomize="CI" in os.environ,  # what lands must not depend on chance; everywhere else chance goes on looking
        print_blob=True,  # a failure anywhere can be replayed here
        suppress_health_check=[HealthCheck.too_slow],
    )
settings.load_profile(os.environ.get("TELEX_PROFILE", "test"))


def is_roomy(folder: str) -> bool:
    """Is there such a folder, with room for whatever tests write, and may what lies in it be run?"""
    return (
        os.path.isdir(folder)
        and shutil.disk_usage(folder).free > MEMORY_BYTES_MIN
        and not os.statvfs(folder).f_flag & os.ST_NOEXEC
    )


# What a test writes is thrown away, so it is kept in memory where that is possible: nothing waits there for a disk. A
# real power cut would lose it, and none happens: those that tests are about are simulated.
if "TMPDIR" not in os.environ and is_roomy(MEMORY):
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY

# The hubs of tests do not read alerts of the person who runs them.
os.environ["XDG_CONFIG_HOME"] = os.path.join(tempfile.gettempdir(), "telex-tests-without-configuration")

# These start processes or wait for real seconds, nearly every test of them.
SLOW = (
    "test_cloudevents", "test_http_client", "test_http_limits", "test_http_routes",
    "test_http_stream", "test_hub", "test_mcp", "test_metrics", "test_serve", "test_surfaces",
)  # fmt: skip


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.stem.startswith(SLOW):
            item.add_marker(pytest.mark.slow)


@pytest.fixture(scope="session")
def tsc() -> list[str]:
    """The command that runs the TypeScript compiler, which `make test` fetches where node is present."""
    compiler = ROOT / ".cache/node/node_modules/typescript/bin/tsc"
    node = shutil.which("node")
    if node is None or not compiler.exists():
        pytest.skip("NOT CHECKED: TypeScript types were not compiled; needs node and `make typescript`")
    return [node, str(compiler)]


@pytest.fixture(scope="session")
def asyncapi_schema() -> Path:
    """The official JSON Schema of AsyncAPI 3.0.0 documents."""
    return ROOT / "tests/vendor/asyncapi-3.0.0.json"

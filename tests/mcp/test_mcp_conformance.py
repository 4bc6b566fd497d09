"""Does the MCP endpoint of a hub pass the official conformance suite? Only where `make conformance` has installed it.

The suite tests servers over HTTP only.
"""

import os
import subprocess
from pathlib import Path

import pytest

from tests.load.hub_process import HubProcess

ROOT = Path(__file__).parents[2]
BASELINE = ROOT / "tests/mcp/mcp_conformance.yml"
PROGRAMS = ROOT / ".cache/conformance/node_modules/.bin"
SECONDS_MAX = 300


@pytest.mark.skipif(not (PROGRAMS / "conformance").exists(), reason="NOT CHECKED: needs npm and `make conformance`")
@pytest.mark.parametrize("version", ["2025-11-25", "2026-07-28"])
def test_the_endpoint_passes_every_check_but_those_in_the_baseline(version: str, tmp_path: Path) -> None:
    hub = HubProcess(tmp_path)
    try:
        address = f"http://127.0.0.1:{hub.port}/mcp?as=dev"
        options = ["--suite", "all", "--spec-version", version, "--expected-failures", str(BASELINE)]
        done = subprocess.run(
            [PROGRAMS / "conformance", "server", "--url", address, *options, "--output-dir", tmp_path / "results"],
            env=os.environ | {"PATH": f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"},  # with the node that it needs
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=SECONDS_MAX,
            check=False,
        )
    finally:
        hub.kill()
    summary = done.stdout.partition("=== SUMMARY ===")[2]
    assert done.returncode == 0, summary or done.stdout + done.stderr
    assert "dns-rebinding-protection: 2 passed, 0 failed" in summary

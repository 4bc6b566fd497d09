"""NATS servers for the tests of the replicated store: one of each kind for a test process."""

from collections.abc import Iterator

import pytest

from tests.nats.servers import Servers


@pytest.fixture(scope="session")
def one_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(tmp_path_factory.mktemp("nats1")).start()
    yield servers
    servers.stop()


@pytest.fixture(scope="session")
def three_servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    servers = Servers(tmp_path_factory.mktemp("nats3"), 3).start()
    yield servers
    servers.stop()

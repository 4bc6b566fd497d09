"""Store contract: every promise of `ports/store.py` as a test for any store.

    import pytest

    pytest.register_assert_rewrite("telex.testing")
    from telex.testing import StoreContract


    class TestMyStore(StoreContract):
        reopens = True

        async def make(self) -> Store:
            return MyStore(self.place / "store")

A store that waits, such as for a network, also defines `def run(self, work): return asyncio.run(work)` and its clock:
`clock = MyClock()` with a `lease_seconds` that is short enough to wait for.
"""

from telex.testing.contract_delivery import DeliveryPromises
from telex.testing.contract_events import EventPromises
from telex.testing.contract_members import MemberPromises
from telex.testing.contract_messages import MessagePromises
from telex.testing.contract_requests import RequestPromises
from telex.testing.contract_transactions import TransactionPromises
from telex.testing.contract_work import WorkPromises


class StoreContract(
    MessagePromises, DeliveryPromises, RequestPromises, EventPromises, MemberPromises, WorkPromises, TransactionPromises
):
    """Subclass it as `TestSomething`, say how your store is opened, and run pytest."""

"""What must a store keep to? Every promise of `ports/store.py` as a test that anybody's store can be put to.

    import pytest

    pytest.register_assert_rewrite("telex.testing")
    from telex.testing import StoreContract


    class TestMyStore(StoreContract):
        reopens = True

        async def make(self) -> Store:
            return MyStore(self.place / "store")

A store that waits (for a network, say) also says how it is run, `def run(self, work): return asyncio.run(work)`, and
what clock it lives by: `clock = MyClock()` with a `lease_seconds` that is short enough to wait for.
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

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

from telex.testing.contract_asking import AskingPromises
from telex.testing.contract_delivery import DeliveryPromises
from telex.testing.contract_keeping import KeepingPromises
from telex.testing.contract_record import RecordPromises
from telex.testing.contract_sharing import SharingPromises
from telex.testing.contract_work import WorkPromises


class StoreContract(KeepingPromises, DeliveryPromises, AskingPromises, RecordPromises, SharingPromises, WorkPromises):
    """Subclass it as `TestSomething`, say how your store is opened, and run pytest."""

"""The store contract, put to a store of one's own. Run it with pytest."""

from telex.ports.store import Store
from telex.stores.memory import MemoryStore
from telex.testing import StoreContract


class MyStore(MemoryStore):
    """Yours goes here; this one borrows everything."""


class TestMyStore(StoreContract):
    reopens = False  # True, if what was stored is there when it is opened again; the contract then looks

    async def make(self) -> Store:
        return MyStore()  # a store on disk lives in self.place, an empty folder for each test

"""The store contract for a store of your own. Run it with pytest."""

from telex.ports.store import Store
from telex.stores.memory import MemoryStore
from telex.testing import StoreContract


class MyStore(MemoryStore):
    """Replace this with your store."""


class TestMyStore(StoreContract):
    reopens = False  # True: data survives closing, and the contract checks it

    async def make(self) -> Store:
        return MyStore()  # a store on disk lives in self.place, an empty folder for each test

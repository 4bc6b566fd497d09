"""Does a search find the same, wherever the messages are kept?"""

from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from telex.bus import run_sync
from telex.model.message import NewMessage
from telex.model.text import digest_of
from telex.ports.store import Query, Store, events_with_messages
from telex.stores.memory import MemoryStore
from telex.stores.sqlite.store import SqliteStore
from telex.testing.contract_base import append

LETTERS = st.sampled_from("abAB12 éÉßẞåñ_-./'\"*():^+\n\t日本語\u0301\u00ad\u200b😀½")
TEXT = st.text(LETTERS, max_size=12)


def found(store: Store, bodies: list[str], wanted: str) -> list[str]:
    raws = [body.encode() for body in bodies]
    made = [
        NewMessage(f"m{number}", 1.0, "dev", "dev", "lead", None, None, 3, None, None, digest_of(raw), raw, ("lead",))
        for number, raw in enumerate(raws)
    ]
    run_sync(append(store, made))
    told = run_sync(store.read(events_with_messages, Query(text=wanted, kinds=("accepted",)), 100))
    run_sync(store.close())
    return [message.id for _, message in told if message is not None]


@given(st.lists(TEXT, min_size=1, max_size=4), TEXT)
def test_both_stores_find_the_same(bodies: list[str], wanted: str) -> None:
    with TemporaryDirectory() as folder:
        on_disk = found(SqliteStore.open(f"{folder}/telex.db", durable=False), bodies, wanted)
    assert on_disk == found(MemoryStore(), bodies, wanted)

"""Snapshots of a replicated team: whole copies, packed, in an object store of NATS, under their position.

Each is signed with the team's key. A hub without a copy starts from the newest one. The last two are kept, and the log
is cut behind the older of them.
"""

import os
import tempfile
import zlib
from contextlib import closing, suppress
from datetime import datetime

import apsw
from nats.js.api import ObjectStoreConfig, StorageType
from nats.js.errors import BucketNotFoundError, NotFoundError, ObjectNotFoundError
from nats.js.object_store import ObjectStore

from telex.errors import StoreDamaged
from telex.stores.disk import make_file, make_folder
from telex.stores.nats.batch import MAC_CHARACTERS, Signer
from telex.stores.nats.log import Log
from telex.stores.nats.replica_file import put_in_place, refuse_leftovers


class SnapshotStore:
    def __init__(self, log: Log) -> None:
        self._log = log

    async def _bucket(self) -> ObjectStore:
        return await self._log.stream.object_store(self._log.address.bucket)

    async def positions(self) -> list[int]:
        """The positions of the snapshots that are there, the newest last."""
        try:
            infos = await (await self._bucket()).list()
        except (BucketNotFoundError, NotFoundError):
            return []
        return sorted(int(info.name) for info in infos if info.name.isdecimal() and not info.deleted)

    async def made_at(self, position: int) -> float | None:
        """When a snapshot was stored, if the server says it."""
        info = await (await self._bucket()).get_info(f"{position:016}")
        made = info.mtime
        return datetime.fromisoformat(made).timestamp() if made else None

    async def put(self, position: int, data: bytes, signer: Signer, *, replicas: int | None = None) -> None:
        """Store a snapshot and read it back.

        Raises:
            StoreDamaged: what was read back is not what was stored.
        """
        try:
            bucket = await self._bucket()
        except (BucketNotFoundError, NotFoundError):
            if replicas is None:
                info = await self._log.stream.stream_info(self._log.address.stream)
                replicas = info.config.num_replicas or 1
            config = ObjectStoreConfig(replicas=replicas, storage=StorageType.FILE)
            bucket = await self._log.stream.create_object_store(self._log.address.bucket, config=config)
        name, sealed = f"{position:016}", signer.sign(_signed(position, data)).encode() + data
        await bucket.put(name, sealed)
        back = await bucket.get(name)
        if back.data != sealed:
            raise StoreDamaged(f"snapshot {position} was stored and read back as something else: it is not used.")

    async def remove(self, position: int) -> None:
        with suppress(ObjectNotFoundError, NotFoundError):
            await (await self._bucket()).delete(f"{position:016}")

    async def fetch(self, position: int, path: str, signer: Signer) -> None:
        """Make the copy at this path from a snapshot."""
        make_folder(os.path.dirname(path))
        refuse_leftovers(path)
        got = await (await self._bucket()).get(f"{position:016}")
        sealed = got.data or b""
        mac, data = sealed[:MAC_CHARACTERS], sealed[MAC_CHARACTERS:]
        if not signer.is_valid(_signed(position, data), mac.decode("ascii", "replace")):
            raise StoreDamaged(f"snapshot {position} is not signed with the team's key: it is not used.")
        part = path + ".new"
        if os.path.lexists(part):
            os.unlink(part)
        make_file(part)
        with open(part, "wb") as file:
            file.write(zlib.decompress(data))
        with closing(apsw.Connection(part)) as connection:
            connection.execute("PRAGMA journal_mode = WAL").fetchall()
            connection.execute("PRAGMA journal_mode = DELETE").fetchall()
        put_in_place(part, path)


def _signed(position: int, data: bytes) -> bytes:
    return b"snapshot %d " % position + data


def make_snapshot(path: str) -> tuple[int, bytes]:
    """Position and packed file of a copy. For a thread: it opens a connection of its own."""
    with tempfile.TemporaryDirectory(prefix="telex-", dir=os.path.dirname(path)) as folder:
        target = os.path.join(folder, "snapshot.db")
        with closing(apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)) as source:
            source.execute("VACUUM INTO ?", (target,))
        with closing(apsw.Connection(target, flags=apsw.SQLITE_OPEN_READONLY)) as copy:
            [(health,)] = copy.execute("PRAGMA integrity_check").fetchall()
            if health != "ok":
                raise StoreDamaged(f"the snapshot of {path} is damaged ({health}): it is not used.")
            [(position,)] = copy.execute("SELECT position FROM replica").fetchall()
        with open(target, "rb") as file:
            return int(str(position)), zlib.compress(file.read(), 1)

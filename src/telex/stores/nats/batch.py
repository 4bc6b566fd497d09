"""Entry of the replicated log: one batch of row changes, its encoding, and the checks of a reader.

A batch names the position it was made on and is valid only in the next place. The server checks that, and every reader
checks it again: a batch elsewhere, or one without a valid signature, is void for all readers of all versions. What a
reader cannot apply without guessing stops it: another history, a later format, a later schema.
"""

import hashlib
import hmac
import zlib
from collections.abc import Sequence
from typing import Final

import msgspec

from telex.errors import StoreDamaged, StoreTooNew

FORMAT: Final = 1
PACKED_FROM_BYTES = 2_048
MAC_HEADER = "Telex-Mac"
_ZLIB = 0x78  # the first byte of packed rows; a changeset starts with "T", a patchset with "P"
_DIGEST_BYTES = 16
MAC_CHARACTERS = 2 * _DIGEST_BYTES


class Head(msgspec.Struct, array_like=True, frozen=True):
    """The first five places, which keep their meaning in every format."""

    format: int
    base: int  # position it was made on
    node: str  # process that wrote it
    number: int  # of the node's attempts; a repeated publish has the same one
    chain: bytes  # hash of the log up to `base`


class Batch(Head, array_like=True, frozen=True):
    schema: int  # version of the tables, after this batch
    at: float  # the writer's time
    migrate: int = 0  # every copy goes to this schema; such a batch has no rows
    is_checkpoint: bool = False  # every hub computes a digest of its tables here
    rows: bytes = b""  # changeset or patchset of SQLite's session extension, perhaps packed
    turn: tuple[str, ...] = ()  # nodes that write next: the first has the turn with this batch, the others wait behind


_encode = msgspec.msgpack.Encoder().encode
_decode_head = msgspec.msgpack.Decoder(Head).decode
_decode_batch = msgspec.msgpack.Decoder(Batch).decode


def encode(batch: Batch) -> bytes:
    return _encode(batch)


def pack(rows: bytes) -> bytes:
    return zlib.compress(rows, 1) if len(rows) >= PACKED_FROM_BYTES else rows


def unpack(rows: bytes) -> bytes:
    return zlib.decompress(rows) if rows[:1] == bytes((_ZLIB,)) else rows


def next_chain(chain: bytes, position: int, data: bytes) -> bytes:
    """Hash of the log up to `position`, whose entry is `data`."""
    salt = position.to_bytes(hashlib.blake2b.SALT_SIZE, "big")
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES, key=chain[:_DIGEST_BYTES], salt=salt).digest()


class Signer:
    """Signatures of batches and of messages between hubs. The first key signs; the others are accepted too, so that a
    key can be replaced while hubs run."""

    def __init__(self, keys: Sequence[bytes], incarnation: str) -> None:
        self._keys = [hashlib.blake2b(key).digest() for key in keys]
        self._salt = incarnation.encode()

    def sign(self, data: bytes) -> str:
        return self._mac(self._keys[0], data)

    def is_valid(self, data: bytes, mac: str) -> bool:
        given = mac.encode(errors="replace")  # of a stranger it may have any characters
        return any(hmac.compare_digest(self._mac(key, data).encode(), given) for key in self._keys)

    def _mac(self, key: bytes, data: bytes) -> str:
        """The incarnation is part of it: an entry of an earlier log is void in a later one."""
        state = hashlib.blake2b(self._salt, digest_size=_DIGEST_BYTES, key=key)
        state.update(b"\0" + data)
        return state.hexdigest()


class Entry(msgspec.Struct, frozen=True):
    """An entry of the log as it was delivered."""

    position: int
    data: bytes
    mac: str
    at: float  # the server's time


def read_entry(entry: Entry, signer: Signer, chain: bytes, schema: int) -> Batch | None:
    """The batch; None: it is void, for every reader.

    Raises:
        StoreTooNew: a later version of Telex wrote it.
        StoreDamaged: this copy and its writer have different logs.
    """
    if not signer.is_valid(entry.data, entry.mac):
        return None
    try:
        head = _decode_head(entry.data)
    except msgspec.MsgspecError:
        return None
    if head.base != entry.position - 1:
        return None
    if head.format != FORMAT:
        raise StoreTooNew(
            f"the log has format {head.format} from entry {entry.position} on, and this Telex knows {FORMAT}: "
            "upgrade this hub. It serves reads meanwhile."
        )
    if head.chain != chain:
        raise StoreDamaged(
            f"this copy and the writer of entry {entry.position} have different logs: "
            "remove the copy, and the hub starts from a snapshot."
        )
    batch = _decode_batch(entry.data)
    if batch.schema != (batch.migrate or schema):
        raise StoreTooNew(
            f"the log has schema {batch.schema} at entry {entry.position}, and this copy {schema}: "
            "upgrade this hub. It serves reads meanwhile."
        )
    return batch

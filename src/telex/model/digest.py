"""Digest of a message's bytes, and a short hash of an id.

Directly from the C module if there is one: hashlib would load OpenSSL, which a cold `telex send` would pay for.
"""

try:
    from _blake2 import blake2b
except ImportError:  # another Python than CPython
    from hashlib import blake2b

DIGEST_BYTES = 16


def digest_of(raw: bytes) -> bytes:
    """What the bytes are known by: two messages of one digest are the same message."""
    made: bytes = blake2b(raw, digest_size=DIGEST_BYTES).digest()
    return made


def number_of(name: str) -> int:
    """A signed 64-bit number for a name, to find it by; whoever looks it up compares the name as well."""
    made: bytes = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(made, "little", signed=True)

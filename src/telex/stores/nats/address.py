"""Address of a replicated team, and the secrets that a hub needs for it.

`nats://HOST:PORT,HOST:PORT/TEAM`. Secrets come from the environment or from files, and are never part of the address,
which other users of the machine can see.
"""

import os
import re
from collections.abc import Mapping

from telex.errors import StoreUnavailable
from telex.model.named_tuple import NamedTuple

NATS = "nats://"
CREDS, KEY = "TELEX_NATS_CREDS", "TELEX_HUB_KEY"
KEY_BYTES_MIN = 16
_TEAM = re.compile(r"[A-Za-z0-9_-]{1,64}")  # part of a subject and of a stream's name
_SERVER = re.compile(r"(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+)(:\d{1,5})?")


class TeamAddress(NamedTuple):
    servers: tuple[str, ...]
    team: str

    def __str__(self) -> str:
        return NATS + ",".join(server.removeprefix(NATS) for server in self.servers) + "/" + self.team

    @property
    def stream(self) -> str:
        return f"TELEX_{self.team}"

    @property
    def subject(self) -> str:
        return f"telex.{self.team}.log"

    @property
    def bucket(self) -> str:
        return f"TELEX_{self.team}_snapshots"

    def hub(self, node: str) -> str:
        """Subject on which one hub gets messages of others."""
        return f"telex.{self.team}.hub.{node}"

    @property
    def hubs(self) -> str:
        """Subject on which hubs announce themselves."""
        return f"telex.{self.team}.hubs"


class HubSecrets(NamedTuple):
    keys: tuple[bytes, ...]  # of the team; the first signs, the others are accepted while it is replaced
    creds: str | None  # path of a NATS credentials file, or of a file with USER:PASSWORD


def is_replicated(where: str | None) -> bool:
    return where is not None and where.lower().startswith(NATS)


def parse_address(where: str) -> TeamAddress:
    """
    Raises:
        StoreUnavailable: it is no such address.
    """
    servers, slash, team = where[len(NATS) :].partition("/")
    if not slash or not _TEAM.fullmatch(team):
        raise StoreUnavailable(
            "the address of a replicated team ends with its name: nats://HOST:PORT/TEAM, "
            "of at most 64 letters, digits, hyphens and underscores."
        )
    names = servers.split(",")
    if any("@" in name for name in names):
        raise StoreUnavailable(f"an address contains no password: put it into a file, and name that in {CREDS}.")
    if not all(_SERVER.fullmatch(name) for name in names):
        raise StoreUnavailable("give the servers as nats://HOST:PORT,HOST:PORT/TEAM.")
    return TeamAddress(tuple(NATS + name for name in names), team)


def secrets_from(environment: Mapping[str, str]) -> HubSecrets:
    """The team's key, as text or as the path of a file with one key per line, and the credentials for NATS.

    Raises:
        StoreUnavailable: there is no key, or a file cannot be read.
    """
    text = environment.get(KEY, "").strip()
    if _is_path(text):
        text = _read(text, KEY)
    keys = tuple(line.strip().encode() for line in text.splitlines() if line.strip())
    if not keys:
        raise StoreUnavailable(
            f"hubs sign what they write: set {KEY} to the team's key or to a file that has it, the same for all hubs "
            '(python3 -c "import secrets; print(secrets.token_hex(32))" makes one).'
        )
    if any(len(key) < KEY_BYTES_MIN for key in keys):
        raise StoreUnavailable(f"{KEY} is too short: a key has at least {KEY_BYTES_MIN} characters.")
    return HubSecrets(keys, environment.get(CREDS) or None)


def _is_path(text: str) -> bool:
    """A path is never a key, also if nothing is there: it can be guessed. Keys in base64 may have a slash, but no dot
    or tilde."""
    return text.startswith(os.sep) or (os.sep in text and (not {".", "~"}.isdisjoint(text) or os.path.exists(text)))


def _read(path: str, variable: str) -> str:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise StoreUnavailable(f"{variable}: cannot read {path}: {getattr(error, 'strerror', error)}") from error


def user_and_password(path: str) -> tuple[str, str] | None:
    """User and password of a file with USER:PASSWORD; None: it is a NATS credentials file."""
    text = _read(path, CREDS).strip()
    if text.startswith("-----BEGIN") or "\n" in text:
        return None
    user, colon, password = text.partition(":")
    if not colon:
        raise StoreUnavailable(f"{path} is neither a NATS credentials file nor a line USER:PASSWORD.")
    return user, password

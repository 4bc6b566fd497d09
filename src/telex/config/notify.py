"""Settings of alerts: where a hub sends what waits for a person. They are read from the user's own file only.

A project's telex.toml comes with its repository, so a `[notify]` there could run a command or send the team's texts to
a stranger: it is an error. The file is `telex/notify.toml` in the user's configuration folder, or the one that
`telex serve --notify FILE` names.
"""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from telex.config import seen, text_of
from telex.config.loader import read_sections
from telex.config.settings import NOTIFY, NOTIFY_BOUNDS, NOTIFY_KINDS, NOTIFY_LIMITS, ValueBounds, number
from telex.dialects.toml.document import Key, TomlValue, one_of
from telex.errors import SettingsError
from telex.model.named_tuple import NamedTuple
from telex.project import notify_file

SECTION = "notify"
ARGUMENTS_MAX = 64
CHARACTERS_MAX = 4_096
SECRET_BYTES_MAX = 4_096
SECRET_BYTES_MIN = 16
ENVIRONMENT, FROM_FILE = "env:", "file:"
SECRETS = ("webhook_secret", "ntfy_token")  # settings that name a variable or a file
TARGETS = ("command", "webhook", "ntfy", "slack")


class NotifySettings(NamedTuple):
    """`[notify]` of the user's file."""

    command: tuple[str, ...] = ()
    webhook: str | None = None
    webhook_secret: str | None = None  # of the variable or file that the setting names
    ntfy: str | None = None
    ntfy_token: str | None = None
    slack: str | None = None
    links: bool = False
    public_url: str | None = None
    kinds: tuple[str, ...] = NOTIFY_KINDS
    batch_seconds: float = NOTIFY_LIMITS.batch_seconds
    link_seconds: float = NOTIFY_LIMITS.link_seconds
    source: str | None = None  # the file

    @property
    def targets(self) -> tuple[str, ...]:
        return tuple(name for name in TARGETS if getattr(self, name))


def load_notify(path: str | None = None) -> NotifySettings | None:
    """The settings of this file, or of the user's own; None: there is none, or it names no target.

    Raises:
        SettingsError: the file is invalid, a secret that it names is missing, or a named file does not exist.
    """
    if path is None:
        path = notify_file()
        if not os.path.lexists(path):
            return None
    path = os.path.abspath(path)
    try:
        text = text_of(path)
    except SettingsError as error:
        raise SettingsError(f"{seen(path)}: {error.say}") from error
    settings = read_notify(path, text, os.environ)
    return settings if settings.targets else None


def read_notify(path: str, text: str, environment: Mapping[str, str]) -> NotifySettings:
    """Parse and validate the text of the file.

    Raises:
        SettingsError: a line for each error.
    """
    reader = _NotifyReader(os.path.dirname(path), environment)
    settings = read_sections(path, text, {SECTION: Key(reader.read, default={})})[SECTION]
    return NotifySettings(**settings, source=path)


class _NotifyReader:
    def __init__(self, folder: str, environment: Mapping[str, str]) -> None:
        self._folder, self._environment = folder, environment

    def read(self, value: TomlValue) -> dict[str, Any]:
        default = NotifySettings()
        keys = {
            "command": Key(self._command, default=default.command),
            "webhook": Key(_url),
            "webhook_secret": Key(self._secret),
            "ntfy": Key(_topic_url),
            "ntfy_token": Key(self._secret),
            "slack": Key(self._url_or_secret),
            "links": Key(TomlValue.boolean, default=default.links),
            "public_url": Key(_url),
            "kinds": Key(_kinds, default=default.kinds),
            **{name: _number_key(name, getattr(default, name)) for name in NOTIFY_BOUNDS},
        }
        assert set(keys) == {*NOTIFY, *NOTIFY_BOUNDS}
        settings = value.read(keys)
        if settings["webhook"] and not settings["webhook_secret"] and not value.has("webhook_secret"):
            value.at("webhook").flaw('add webhook_secret = "file:PATH" or "env:NAME": every request is signed')
        public = settings["public_url"]
        if public:
            settings["public_url"] = public.rstrip("/")
        return settings

    def _command(self, value: TomlValue) -> tuple[str, ...] | None:
        words = [item.value for item in value.items(ARGUMENTS_MAX)]
        if not words or not all(isinstance(word, str) and "\0" not in word for word in words) or not words[0]:
            value.wrong('a list of texts, the program first, such as ["notify-send", "Telex"]')
            return None
        program = os.path.expanduser(words[0])
        if os.sep in program:  # never relative to the folder in which the hub was started: that is the project's
            program = os.path.join(self._folder, program)
        return (program, *words[1:])

    def _url_or_secret(self, value: TomlValue) -> str | None:
        named = isinstance(value.value, str) and value.value.startswith((ENVIRONMENT, FROM_FILE))
        return _checked_url(value, self._secret(value)) if named else _url(value)

    def _secret(self, value: TomlValue) -> str | None:
        """The content of the variable or the file that is named. The secret itself is never in the settings."""
        named = value.line(CHARACTERS_MAX)
        if named is None:
            return None
        if named.startswith(ENVIRONMENT):
            name = named.removeprefix(ENVIRONMENT)
            secret = self._environment.get(name, "").strip()
            if not secret:
                value.flaw(f"the variable {name} is not set")
        elif named.startswith(FROM_FILE):
            secret = self._secret_of_file(value, named.removeprefix(FROM_FILE))
        else:
            value.flaw('name a file or a variable: "file:PATH" or "env:NAME"; a secret is not written here')
            return None
        if secret and value.path[-1] == "webhook_secret" and len(secret) < SECRET_BYTES_MIN:
            value.flaw(f"the secret has fewer than {SECRET_BYTES_MIN} characters: openssl rand -hex 32 prints one")
        if secret and not (secret.isascii() and secret.isprintable()):
            value.flaw("the secret is not one line of printable ASCII")
        return secret or None

    def _secret_of_file(self, value: TomlValue, name: str) -> str:
        path = os.path.join(self._folder, os.path.expanduser(name))
        try:
            with open(path, "rb") as file:
                return file.read(SECRET_BYTES_MAX).decode("utf-8", "replace").strip()
        except OSError as error:
            value.flaw(f"{seen(path)} cannot be read: {error.strerror}")
            return ""


def _url(value: TomlValue) -> str | None:
    return _checked_url(value, value.line(CHARACTERS_MAX))


def _checked_url(value: TomlValue, url: str | None) -> str | None:
    if url is None:
        return None
    try:
        parts = urlsplit(url)
        is_url = parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        is_url = False
    if not is_url or not url.isascii() or any(letter in url for letter in ' "<>\\^`{|}') or parts.fragment:
        value.flaw("give an address that begins with https:// or http://")
        return None
    if parts.username or parts.password:
        value.flaw("leave user and password out of the address")
        return None
    return url


def _topic_url(value: TomlValue) -> str | None:
    url = _url(value)
    if url is not None and not urlsplit(url).path.strip("/"):
        value.flaw("add the topic, such as https://ntfy.sh/my-topic")
        return None
    return url.rstrip("/") if url is not None else None


def _kinds(value: TomlValue) -> tuple[str, ...] | None:
    read = one_of(*NOTIFY_KINDS)
    return tuple(dict.fromkeys(kind for item in value.items(len(NOTIFY_KINDS)) if (kind := read(item)))) or None


def _number_key(name: str, default: float) -> Key:
    bounds: ValueBounds = NOTIFY_BOUNDS[name]

    def read(value: TomlValue) -> float | None:
        given = value.number()
        if given is not None and not bounds.least <= given <= bounds.most:
            value.wrong(f"a number from {number(bounds.least)} to {number(bounds.most)}")
            return None
        return given

    return Key(read, default=default)

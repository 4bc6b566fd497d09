"""Targets of alerts: a command, a signed webhook, ntfy, and chats with Slack's incoming webhooks."""

import asyncio
import base64
import hmac
import json
import os
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from typing import Protocol
from urllib.parse import quote

from telex.config.notify import NotifySettings
from telex.model.text import shown
from telex.surfaces.alerts import DeliveryFailed
from telex.surfaces.alerts.http_post import post
from telex.surfaces.alerts.notification import Notification, cloud_event, ntfy_message, slack_message
from telex.surfaces.http.cloudevents import EVENT

COMMAND_SECONDS_MAX = 30.0
JSON = "application/json"
UNKNOWN_TO_OLD_SERVERS = (404, 405)


class Target(Protocol):
    name: str  # one of config.notify.TARGETS
    id: str  # name and address: a changed address is another target

    async def deliver(self, note: Notification) -> None:
        """Raises DeliveryFailed."""

    def problem(self) -> str | None:
        """Errors of configuration on this machine, as far as they can be found without sending."""


def targets_of(settings: NotifySettings) -> list[Target]:
    return list(_targets(settings))


def _targets(settings: NotifySettings) -> Iterator[Target]:
    if settings.command:
        yield CommandTarget(settings.command)
    if settings.webhook is not None:
        yield WebhookTarget(settings.webhook, settings.webhook_secret or "")
    if settings.ntfy is not None:
        yield NtfyTarget(settings.ntfy, settings.ntfy_token)
    if settings.slack is not None:
        yield SlackTarget(settings.slack)


def target_id(name: str, *address: str) -> str:
    return f"{name}:{sha256(chr(0).join(address).encode('utf-8', 'surrogatepass')).hexdigest()[:12]}"


def _require_success(status: int) -> None:
    if not 200 <= status < 300:
        raise DeliveryFailed(f"answered with status {status}")


class _NetworkTarget:
    def problem(self) -> str | None:
        return None


class CommandTarget:
    """Runs a program without a shell; the notification is on its stdin as JSON."""

    name = "command"

    def __init__(self, command: tuple[str, ...]) -> None:
        self._command = command
        self.id = target_id(self.name, *command)

    def problem(self) -> str | None:
        return None if shutil.which(self._command[0]) else f"no program {shown(self._command[0])}"

    async def deliver(self, note: Notification) -> None:
        if note.is_first and not note.items:
            return  # it never ran for what has been answered meanwhile
        body = json.dumps(cloud_event(note), ensure_ascii=True).encode() + b"\n"
        try:
            process = await asyncio.create_subprocess_exec(
                *self._command,
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.DEVNULL,
                stderr=asyncio.subprocess.DEVNULL,
                cwd=os.path.expanduser("~") if os.path.isdir(os.path.expanduser("~")) else os.sep,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            raise DeliveryFailed(f"cannot be started: {getattr(error, 'strerror', None) or error}") from error
        try:
            async with asyncio.timeout(COMMAND_SECONDS_MAX):
                await process.communicate(body)
        except TimeoutError as error:
            raise DeliveryFailed(f"has not ended within {COMMAND_SECONDS_MAX:g} seconds") from error
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(process.pid, signal.SIGKILL)  # and what it has started
                await process.wait()
        if process.returncode:
            raise DeliveryFailed(f"ended with exit code {process.returncode}")


class WebhookTarget(_NetworkTarget):
    """CloudEvents, signed as Standard Webhooks describe it."""

    name = "webhook"

    def __init__(self, url: str, secret: str) -> None:
        self._url, self._key = url, signing_key(secret)
        self.id = target_id(self.name, url)

    async def deliver(self, note: Notification) -> None:
        body = json.dumps(cloud_event(note), ensure_ascii=False).encode("utf-8", "replace")
        _require_success(await post(self._url, body, {"content-type": EVENT, **self._signature(note, body)}))

    def _signature(self, note: Notification, body: bytes) -> dict[str, str]:
        at = str(int(note.at))
        return {"webhook-id": note.id, "webhook-timestamp": at, "webhook-signature": sign(self._key, note.id, at, body)}


def signing_key(secret: str) -> bytes:
    """Bytes of the secret; base64 after the prefix `whsec_`."""
    if secret.startswith("whsec_"):
        with suppress(ValueError):
            return base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    return secret.encode()


def sign(key: bytes, id_: str, at: str, body: bytes) -> str:
    """`v1,` and the HMAC-SHA256 of id, timestamp and body in base64."""
    digest = hmac.new(key, f"{id_}.{at}.".encode() + body, sha256).digest()
    return f"v1,{base64.b64encode(digest).decode()}"


class NtfyTarget(_NetworkTarget):
    """A topic of an ntfy server. An update replaces the notification, and an answer deletes it, from ntfy 2.16 on."""

    name = "ntfy"

    def __init__(self, url: str, token: str | None) -> None:
        self._server, _, self._topic = url.rpartition("/")
        self._headers = {"authorization": f"Bearer {token}"} if token else {}
        self.id = target_id(self.name, url)

    async def deliver(self, note: Notification) -> None:
        if note.items:
            body = json.dumps(ntfy_message(note, self._topic), ensure_ascii=False).encode("utf-8", "replace")
            _require_success(await post(f"{self._server}/", body, {"content-type": JSON, **self._headers}))
            return
        url = f"{self._server}/{quote(self._topic, safe='')}/{note.batch}"
        status = await post(url, b"", self._headers, method="DELETE")
        if status not in UNKNOWN_TO_OLD_SERVERS:
            _require_success(status)


class SlackTarget(_NetworkTarget):
    """An incoming webhook. A message cannot be changed, so a short second one names what was answered."""

    name = "slack"

    def __init__(self, url: str) -> None:
        self._url = url
        self.id = target_id(self.name, url)

    async def deliver(self, note: Notification) -> None:
        if note.is_first and not note.items:
            return
        told = note if note.is_first else note._replace(items=())
        body = json.dumps(slack_message(told), ensure_ascii=False).encode("utf-8", "replace")
        _require_success(await post(self._url, body, {"content-type": JSON}))

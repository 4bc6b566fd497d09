"""Static files of the page, and its content security policy.

The files are part of the package. Nothing is loaded from elsewhere, and the policy makes the browser run nothing else,
whatever a message contains.
"""

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import Response

from telex.errors import NotFound
from telex.model.message import KINDS as EVENT_KINDS

WEB = Path(__file__).parent.parent / "web"
INDEX = "index.html"
KINDS = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-cache",  # kept, and asked about each time: a hub that was updated has its new page at once
}


_EVENT_KINDS = f"""\
// Which kinds of events are there, and what does each mean? Made by the hub from its own table.
export const KINDS = {json.dumps(EVENT_KINDS, indent=2)};
"""
MADE: Mapping[str, bytes] = {"kinds.js": _EVENT_KINDS.encode()}


def listed(folder: Path = WEB) -> dict[str, Path]:
    """Every file that may be asked for, by the name it is asked for with. Nothing else is ever opened."""
    found = (path for path in sorted(folder.rglob("*")) if path.suffix in KINDS and path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in found}


class StaticFiles:
    """The page's files, as they are when they are asked for."""

    def __init__(self, folder: Path = WEB) -> None:
        self._files = listed(folder)

    async def index(self, request: Request) -> Response:
        return self._answer(request, INDEX)

    async def static(self, request: Request) -> Response:
        return self._answer(request, request.path_params["file"])

    def _answer(self, request: Request, name: str) -> Response:
        content = MADE.get(name) or self._read(name)
        tag = f'"{blake2b(content, digest_size=16).hexdigest()}"'
        headers = {**HEADERS, "ETag": tag}
        if tag in _tags(request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=KINDS[PurePosixPath(name).suffix])

    def _read(self, name: str) -> bytes:
        path = self._files.get(name)
        if path is None:
            raise NotFound(f"the page has no file {name[:128]}.")
        return path.read_bytes()


def _tags(header: str) -> list[str]:
    return [one.strip().removeprefix("W/") for one in header.split(",")]

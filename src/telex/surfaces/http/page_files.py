"""Files of the page, from the package: compressed, and cached by the browser as long as they stay the same.

The index names the other files by an address with the hash of all of them, `/static/HASH/app.js`, which their relative
imports keep. Such an address never changes its content, so a browser asks for it once. After an update of the hub the
index has another hash, and no file of two versions meets in one page.
"""

import gzip
import re
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from pathlib import Path, PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from telex.errors import NotFound
from telex.model.named_tuple import NamedTuple

WEB = Path(__file__).parent.parent / "web"
MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".ico": "image/x-icon",
    ".woff2": "font/woff2",
}
COMPRESSED = (".html", ".js", ".css", ".svg")
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
FILE_HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Vary": "Accept-Encoding",
}
IMMUTABLE = "public, max-age=31536000, immutable"
REVALIDATED = "no-cache"  # the browser asks each time whether it has changed
HASH_BYTES = 10
IMPORT = re.compile(rb'^@import "([a-z_/]+\.css)";$', re.MULTILINE)  # replaced by the file: one request less


class PageFile(NamedTuple):
    content: bytes
    compressed: bytes | None  # None: compression would gain nothing
    tag: str


def listed(folder: Path = WEB) -> dict[str, Path]:
    """All files of the page by name. No other file is ever opened."""
    paths = (path for path in sorted(folder.rglob("*")) if path.suffix in MEDIA_TYPES and path.is_file())
    return {path.relative_to(folder).as_posix(): path for path in paths}


class StaticFiles:
    def __init__(self, folder: Path = WEB) -> None:
        self._paths = listed(folder)
        self._files: dict[str, PageFile] = {}
        self._stamps: dict[str, tuple[int, int]] = {}
        self._version = ""

    def routes(self) -> list[Route]:
        return [
            Route("/", self.index),
            Route("/static/{version}/{file:path}", self.versioned),
            Route("/static/{file:path}", self.plain),
        ]

    async def index(self, request: Request) -> Response:
        content = self._content("index.html").replace(b'"/static/', f'"/static/{self._fresh_version()}/'.encode())
        return _respond(request, _page_file("index.html", content), "index.html", REVALIDATED)

    async def versioned(self, request: Request) -> Response:
        version, name = request.path_params["version"], request.path_params["file"]
        if version == (self._version or self._fresh_version()):
            return _respond(request, self._file(name), name, IMMUTABLE)
        name = f"{version}/{name}"  # a folder
        return _respond(request, self._file(name), name, REVALIDATED)

    async def plain(self, request: Request) -> Response:
        name = request.path_params["file"]
        return _respond(request, self._file(name), name, REVALIDATED)

    def _fresh_version(self) -> str:
        """Hash of all files. They are read again if one was changed, so that a developer sees the change."""
        stamps = dict(self._read_stamps())
        if stamps != self._stamps:
            self._files.clear()
            self._stamps = stamps
            contents = b"".join(self._content(name) for name in self._paths)
            self._version = blake2b(contents, digest_size=HASH_BYTES).hexdigest()
        return self._version

    def _read_stamps(self) -> Iterator[tuple[str, tuple[int, int]]]:
        for name, path in self._paths.items():
            status = path.stat()
            yield name, (status.st_mtime_ns, status.st_size)

    def _file(self, name: str) -> PageFile:
        if name not in self._files:
            self._files[name] = _page_file(name, self._content(name))
        return self._files[name]

    def _content(self, name: str) -> bytes:
        if name not in self._paths:
            raise NotFound(f"the page has no file {name[:128]}.")
        content = self._paths[name].read_bytes()
        return IMPORT.sub(lambda found: self._content(found[1].decode()), content) if name.endswith(".css") else content


def _page_file(name: str, content: bytes) -> PageFile:
    compressed = None
    if PurePosixPath(name).suffix in COMPRESSED:
        compressed = gzip.compress(content, mtime=0)
        compressed = compressed if len(compressed) < len(content) else None
    return PageFile(content, compressed, f'"{blake2b(content, digest_size=16).hexdigest()}"')


def _respond(request: Request, file: PageFile, name: str, caching: str) -> Response:
    headers = {**FILE_HEADERS, "ETag": file.tag, "Cache-Control": caching}
    known = request.headers.get("if-none-match", "").split(",")
    if file.tag in [value.strip().removeprefix("W/") for value in known]:
        return Response(status_code=304, headers=headers)
    media_type = MEDIA_TYPES[PurePosixPath(name).suffix]
    if file.compressed is not None and "gzip" in request.headers.get("accept-encoding", ""):
        return Response(file.compressed, headers=headers | {"Content-Encoding": "gzip"}, media_type=media_type)
    return Response(file.content, headers=headers, media_type=media_type)

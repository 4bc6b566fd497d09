"""A browser that looks at a real hub, and notices whatever should not happen in it.

The browser is closed after the tests of this folder: while it is open, this process has an event loop running.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, Request, expect, sync_playwright

from tests.browser.hub_process import HubProcess
from tests.conftest import ROOT

CHROMIUM = os.environ.get("TELEX_CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
AXE = ROOT / ".cache/axe/node_modules/axe-core/axe.min.js"
NOT_SEEN = "NOT CHECKED: nobody looked at the page in a browser; needs chromium (`make chromium`)"
NOT_JUDGED = "NOT CHECKED: the page was not judged for accessibility; needs npm and `make axe`"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
WAIT_MS = 15_000  # for what should be there at once, on a machine that is busy
WIDE, PHONE = (1280, 860), (360, 740)
FITS = "() => document.documentElement.scrollWidth <= document.documentElement.clientWidth"
BEYOND = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 1)
  .slice(0, 9).map((one) => one.outerHTML.slice(0, 90)).join("\\n")"""
expect.set_options(timeout=WAIT_MS)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What cannot be looked at is skipped, and loudly; the ledger has counted it by then."""
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if Path(__file__).parent not in item.path.parents or "page" not in fixtures:
            continue
        item.add_marker(pytest.mark.slow)
        lacks = NOT_SEEN if CHROMIUM is None else NOT_JUDGED if "axe" in fixtures and not AXE.exists() else None
        if lacks is not None:
            item.own_markers = [mark for mark in item.own_markers if mark.name != "proves"]
            item.add_marker(pytest.mark.skip(reason=lacks))


def fits(page: Page, view: str = "") -> None:
    """The page is as wide as the window, once it is laid out."""
    try:
        page.wait_for_function(FITS)
    except Error:
        pytest.fail(f"wider than the window {view}: {page.evaluate(BEYOND)}")


@pytest.fixture(scope="session")
def axe() -> str:
    """The script that judges whether a page shuts anybody out."""
    return AXE.read_text(encoding="utf-8")


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
        yield browser
        browser.close()


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[HubProcess]:
    """A hub on an empty store."""
    hub = HubProcess(tmp_path)
    hub.start()
    yield hub
    hub.stop()


class Watch:
    """What a page did that it should not have done: errors, dialogs, and requests to anywhere but the hub."""

    def __init__(self, page: Page, address: str) -> None:
        self.wrong: list[str] = []
        self._forgiven: list[str] = []
        self._host = urlsplit(address).netloc
        page.on("console", self._console)
        page.on("pageerror", lambda error: self._note(f"error: {error}"))
        page.on("dialog", self._dialog)
        page.on("request", self._request)

    def forgive(self, words: str) -> None:
        """Errors with these words are what the test is about."""
        self._forgiven.append(words)

    def forgive_absence(self) -> None:
        """The hub goes away in this test, and the browser says so of whatever it was fetching just then."""
        self.forgive("Failed to load resource: net::ERR_")

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._note(f"console {message.type}: {message.text}")

    def _dialog(self, dialog: Dialog) -> None:
        self._note(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Request) -> None:
        where = urlsplit(request.url)
        if where.scheme not in ("data", "blob", "about") and where.netloc != self._host:
            self._note(f"request beyond the hub: {request.url}")

    def _note(self, words: str) -> None:
        if not any(forgiven in words for forgiven in self._forgiven):
            self.wrong.append(words)


@pytest.fixture
def page(browser: Browser, hub: HubProcess) -> Iterator[Page]:
    """A page of the hub, not loaded yet. The test fails if anything on it went wrong."""
    context = browser.new_context(base_url=hub.address, viewport={"width": WIDE[0], "height": WIDE[1]})
    context.set_default_timeout(WAIT_MS)
    page = context.new_page()
    watch = Watch(page, hub.address)
    page.watch = watch  # type: ignore[attr-defined]
    yield page
    context.close()
    assert "\n".join(watch.wrong) == ""


@pytest.fixture
def watch(page: Page) -> Watch:
    watch: Watch = page.watch  # type: ignore[attr-defined]
    return watch

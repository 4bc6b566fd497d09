"""Pictures of the page for the documentation, of stores that are generated anew.

    python -m tests.browser.pictures docs/pictures

Each view at three widths, in light and dark. The team of eleven agents is the one of `bench.big_store`, smaller.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Browser, sync_playwright

from bench.big_store import Size, make
from tests.browser.conftest import ARGUMENTS, CHROMIUM
from tests.browser.hub_process import HubProcess

TEAM = Size(
    messages=230, agents=11, conversations=16, refused=12, dead=2, approvals=2, escalations=1, hours=0.9, asleep_share=0
)  # fmt: skip
SIZES = ((1440, 900), (1024, 768), (390, 844))
COLOURS = ("light", "dark")
SETTLED_MS = 1_500
EMPTY, SMALL, LARGE = "empty", "team", "large"
VIEWS = {  # file: store and address
    "timeline": (SMALL, "/#/"),
    "needs": (SMALL, "/#/needs"),
    "agent": (SMALL, "/#/agent/auth-dev-1"),
    "agents": (SMALL, "/#/agents"),
    "conversation": (SMALL, "/#/conversation/1-1-T16"),
    "replay": (SMALL, "/#/?at={past}"),
    "refusals": (SMALL, "/#/refusals"),
    "empty": (EMPTY, "/#/"),
    "200-agents": (LARGE, "/#/"),
}
PAST = timedelta(minutes=15)  # of the moment that `replay` shows, before now


@contextmanager
def hub(folder: Path, size: Size | None) -> Iterator[HubProcess]:
    if size is not None:
        make(folder / ".telex" / "telex.db", size)
    process = HubProcess(folder)
    process.start()
    yield process
    process.stop()


def take(browser: Browser, address: str, path: str, picture: Path, *, size: tuple[int, int], colours: str) -> None:
    context = browser.new_context(
        base_url=address,
        viewport={"width": size[0], "height": size[1]},
        color_scheme="dark" if colours == "dark" else "light",
        reduced_motion="reduce",
    )
    page = context.new_page()
    page.goto(path)
    page.locator(".connection").filter(has_text="live").wait_for()
    page.locator("main h1, main h2").first.wait_for()
    page.wait_for_timeout(SETTLED_MS)
    page.screenshot(path=picture)
    context.close()


def main(folder: Path, names: list[str]) -> None:
    sizes = {EMPTY: None, SMALL: TEAM, LARGE: Size()}
    with sync_playwright() as playwright, TemporaryDirectory() as place:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS])
        for store, team in sizes.items():
            wanted = {name: path for name, (where, path) in VIEWS.items() if where == store and name in names}
            if not wanted:
                continue
            with hub(Path(place) / store, team) as process:
                past = (datetime.now(UTC) - PAST).isoformat()
                for name, path in wanted.items():
                    for size in SIZES:
                        for colours in COLOURS:
                            picture = folder / f"page-{name}-{size[0]}-{colours}.png"
                            address = path.replace("{past}", past.replace("+00:00", "Z"))
                            take(browser, process.address, address, picture, size=size, colours=colours)
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:] or [*VIEWS])

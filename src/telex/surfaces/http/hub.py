"""What is behind the door of a hub? The verbs, live events, the page, its numbers and the MCP door."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from telex.config import Settings
from telex.ports.bus import Bus
from telex.surfaces.http import page
from telex.surfaces.http.app import Lifespan, make_app
from telex.surfaces.http.asgi import App
from telex.surfaces.http.metrics import CONTENT_TYPE, Metrics
from telex.surfaces.http.openapi import document


def hub_app(bus: Bus, settings: Settings, *, doorkeeper: Callable[[App], App]) -> App:
    """Everything that `telex serve` serves."""
    metrics = Metrics(document()["paths"])

    async def numbers(request: Request) -> Response:
        return Response(await metrics.text(bus, time.time()), media_type=CONTENT_TYPE)

    @asynccontextmanager
    async def counting() -> AsyncIterator[None]:
        task = asyncio.create_task(metrics.follow(bus))
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    routes: list[BaseRoute] = [Route("/metrics", numbers), *page.routes(bus, settings)]
    lifespans: list[Lifespan] = [counting]
    return metrics.around(make_app(bus, settings, doorkeeper=doorkeeper, routes=routes, lifespans=lifespans))

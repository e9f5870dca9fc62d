"""The application: routes, refusals and the gate before them, put together."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, Gauge
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

import driftopt
from driftopt.packages import MissingPackage
from driftopt.service import errors, events, routes, schema
from driftopt.service.gate import Gate
from driftopt.service.kept_studies import KeptStudies
from driftopt.service.rate_limits import Rate, Streams, TooMany
from driftopt.service.settings import Settings
from driftopt.study import StudyError

_REFUSALS = (400, 401, 403, 404, 408, 409, 413, 415, 421, 422, 429, 503)


class Service:
    """The objects that all routes share."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.limits = limits = settings.limits
        self.studies = KeptStudies(settings.url, settings.clock, limits.work_seconds)
        self.rate = Rate(limits.requests_a_second, limits.requests_a_second)
        self.refusals = Rate(limits.refusals_a_second, limits.refusals_at_once)
        self.streams = Streams(limits.streams, limits.streams_of_a_token)
        self.strangers = Rate(limits.strangers_a_second, limits.strangers_at_once)
        self.stopping = asyncio.Event()  # streams end when it is set
        self.abandoned = 0  # requests that would not end when the server stopped
        self.registry = CollectorRegistry()
        for name, words, number in (
            ("driftopt_open_streams", "Open streams of events.", self.streams.open.total),
            ("driftopt_open_studies", "Studies that the server has open.", self.studies.__len__),
        ):
            Gauge(name, words, registry=self.registry).set_function(number)


def build(settings: Settings) -> FastAPI:
    """The application for a database, behind its gate."""
    service = Service(settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncGenerator[None]:
        yield
        service.stopping.set()
        service.abandoned = service.studies.close()

    def refused(request: Request, error: Exception) -> JSONResponse:
        caller = getattr(request.state, "caller", None)
        return errors.answer(error, settings.clock(), caller is not None and caller.study is not None)

    handlers: dict[Any, Any] = {
        **dict.fromkeys((StudyError, ValueError, TimeoutError, TooMany, MissingPackage), refused),
        HTTPException: errors.http_problem,
        RequestValidationError: errors.invalid_problem,
    }
    app = FastAPI(
        title="driftopt",
        version=driftopt.__version__,
        description="Live studies over HTTP: ask what to deploy, tell its result, read the recommendation.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
        exception_handlers=handlers,
    )
    app.state.service = service
    refusals = errors.described(_REFUSALS)
    app.include_router(routes.router, responses=refusals)
    app.include_router(routes.verbs(), responses=refusals | errors.described((410, 423)))
    app.include_router(events.router, responses=refusals)
    app.include_router(routes.server, responses=errors.described((401, 503)))
    routes.serve_files(app)
    if settings.origins:  # pages of these may use the application
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(settings.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["Retry-After"],
            max_age=600,
        )
    app.add_middleware(Gate, settings=settings, registry=service.registry, strangers=service.strangers)
    of_routes = app.openapi
    app.openapi = cache(lambda: schema.describe(of_routes()))
    return app

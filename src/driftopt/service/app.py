"""The application: routes, refusals and the gate before them, put together."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

import driftopt
from driftopt.packages import MissingPackage
from driftopt.service import (
    errors,
    events,
    models,
    routes_page,
    routes_service,
    routes_studies,
    routes_trials,
)
from driftopt.service.examples import EXAMPLES
from driftopt.service.gate import Gate
from driftopt.service.kept_studies import KeptStudies
from driftopt.service.rate_limits import Rate, Streams, TooMany
from driftopt.service.request_metrics import RequestMetrics
from driftopt.service.settings import Settings
from driftopt.study import StudyError

_REFUSALS = {
    400: "The request cannot be read",
    401: "No token, or one that is not known",
    403: "The token's role or study does not allow it",
    404: "No such study or trial",
    408: "The body took too long to arrive",
    409: "It contradicts what is recorded",
    413: "The body is too large",
    415: "The body is not JSON",
    421: "The server is not known by this name",
    422: "The request asks for something impossible",
    429: "Too many requests; Retry-After says when",
    503: "The database does not answer; Retry-After says when",
}
_ASKING = {
    410: "The budget is spent: ask for the recommendation",
    423: "Nothing can be asked now; Retry-After says when",
}


class Service:
    """What the routes share."""

    def __init__(self, settings: Settings):
        self.settings = settings
        self.limits = settings.limits
        self.studies = KeptStudies(settings.url, settings.clock, settings.limits.work_seconds)
        self.metrics = RequestMetrics()
        self.rate = Rate(self.limits.requests_a_second, self.limits.requests_a_second)
        self.refusals = Rate(self.limits.refusals_a_second, self.limits.refusals_at_once)
        self.streams = Streams(self.limits.streams, self.limits.streams_of_a_token)
        self.strangers = Rate(self.limits.strangers_a_second, self.limits.strangers_at_once)
        self.stopping = asyncio.Event()  # streams end when it is set
        self.abandoned = 0  # requests that would not end when the server stopped


def build(settings: Settings) -> FastAPI:
    """The application for a database, behind its gate."""
    service = Service(settings)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncGenerator[None]:
        yield
        service.stopping.set()
        service.abandoned = service.studies.close()

    app = FastAPI(
        title="driftopt",
        version=driftopt.__version__,
        description="Live studies over HTTP: ask what to deploy, tell what it gave, read the recommendation.",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        lifespan=life,
    )
    app.state.service = service
    for router, more in (
        (routes_studies.router, {}),
        (routes_trials.router, _ASKING),
        (events.router, {}),
        (routes_page.router, {}),
    ):
        app.include_router(router, responses=_responses(_REFUSALS | more))
    app.include_router(
        routes_service.router, responses=_responses({503: _REFUSALS[503], 401: _REFUSALS[401]})
    )
    routes_service.serve_files(app)
    routes_page.serve_page(app)
    _show_examples(app)
    _refuse(app, settings)
    _allow_origins(app, settings)
    app.add_middleware(Gate, settings=settings, metrics=service.metrics, strangers=service.strangers)
    return app


def _show_examples(app: FastAPI) -> None:
    """Put the answers' examples into the description as they are: FastAPI itself leaves every null out."""
    without_examples = app.openapi

    def described() -> dict[str, Any]:
        description = without_examples()
        for name, example in EXAMPLES.items():
            description["components"]["schemas"][name]["examples"] = [example]
        return description

    app.openapi = described


def _responses(refusals: dict[int, str]) -> dict[int | str, dict[str, Any]]:
    return {
        status: {
            "model": models.Refusal,
            "description": words,
            "content": {errors.MEDIA: {"schema": {"$ref": "#/components/schemas/Refusal"}}},
        }
        for status, words in refusals.items()
    }


def _refuse(app: FastAPI, settings: Settings) -> None:
    """Exceptions become problem+json; what nobody expected goes on to the gate."""

    def refused(request: Request, error: Exception) -> JSONResponse:
        caller = getattr(request.state, "caller", None)
        return errors.answer(error, settings.clock(), caller is not None and caller.study is not None)

    for kind in (StudyError, ValueError, TimeoutError, TooMany, MissingPackage):
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(HTTPException, errors.http_problem)
    app.add_exception_handler(RequestValidationError, errors.invalid_problem)


def _allow_origins(app: FastAPI, settings: Settings) -> None:
    """Let pages of other origins use the application, if any were allowed."""
    if settings.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=sorted(settings.origins),
            allow_methods=["GET", "POST", "DELETE"],
            allow_headers=["Authorization", "Content-Type", "Idempotency-Key", "Last-Event-ID"],
            expose_headers=["Retry-After"],
            max_age=600,
        )

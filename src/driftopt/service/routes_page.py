"""What the page needs beside the interface: who it is, a study's course, and the charts' library."""

import gzip
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Query, Request
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.staticfiles import StaticFiles

import driftopt
from driftopt.packages import package
from driftopt.service.access import Reader, StudyName, StudyReader
from driftopt.service.course import Course, course
from driftopt.service.routes_studies import kept

router = APIRouter(prefix="/v1", tags=["page"])
PAGE = Path(str(files("driftopt.service"))) / "page"
_KEPT = "public, max-age=86400"  # a day: the library's address changes with its version


class Caller(BaseModel):
    """Whose token it is."""

    name: str
    role: Literal["read", "operate", "admin"]
    study: str | None
    version: str
    charts: str  # where the library that draws is


@router.get("/caller", response_model=Caller)
async def caller(caller: Reader) -> Any:
    """Whose token it is, what it may do, and which driftopt serves."""
    about = {"name": caller.name, "role": caller.role, "study": caller.study}
    return about | {"version": driftopt.__version__, "charts": _library()[0]}


@router.get("/studies/{name}/course", response_model=Course)
async def study_course(
    request: Request,
    name: StudyName,
    caller: StudyReader,
    skip: Annotated[int, Query(ge=0, le=10_000, description="Coordinates of `order` to pass over.")] = 0,
    count: Annotated[int, Query(ge=0, le=100, description="Coordinates whose paths are wanted.")] = 12,
) -> Any:
    """Deployments over the calendar, control with its drift, coordinates, and what the search costs."""
    return await kept(request).read(name, lambda study: course(study, skip, count))


@cache
def _library() -> tuple[str, bytes]:
    """The address of plotly's own script, and the script, compressed."""
    plotly = package("plotly", "serve", "driftopt serve")
    script = Path(str(plotly.__file__)).parent / "package_data" / "plotly.min.js"
    return f"/charts/plotly-{plotly.__version__}.js", gzip.compress(script.read_bytes(), 6)


def serve_page(app: FastAPI) -> None:
    """The page's files and the library that draws, from this machine alone."""

    @app.get("/charts/{file}", include_in_schema=False)
    def charts(file: str) -> Response:
        address, script = _library()
        if address != f"/charts/{file}":
            return Response(status_code=404)
        headers = {"Content-Encoding": "gzip", "Cache-Control": _KEPT, "Vary": "Accept-Encoding"}
        return Response(script, media_type="text/javascript", headers=headers)

    app.mount("/page", _Files(directory=str(PAGE)), name="page")


class _Files(StaticFiles):
    """Files that a browser asks for again every time, and gets only where they changed."""

    def file_response(self, *args: Any, **more: Any) -> Response:
        """One file."""
        found = super().file_response(*args, **more)
        found.headers["Cache-Control"] = "no-cache"
        return found

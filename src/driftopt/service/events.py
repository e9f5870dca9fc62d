"""The events of a study as a stream of server-sent events.

The id of an event is the number of its row in the log: a browser that was cut off sends the last one as
Last-Event-ID and misses nothing. Changes by this server are sent immediately, those of other processes within
a second.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from typing import Annotated

from fastapi import APIRouter, Header, Query, Request
from fastapi.responses import StreamingResponse

from driftopt.service.access import Reader, StudyName
from driftopt.service.kept_studies import KeptStudies, KeptStudy
from driftopt.service.routes import kept
from driftopt.study import NoSuchStudy, Watch

router = APIRouter(prefix="/v1/studies/{name}", tags=["events"])
LOOK_EVERY = 1.0  # seconds between two reads of the log, for changes by other processes
ALIVE_EVERY = 15.0  # seconds, after which a comment says that the stream is alive


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {"schema": {"type": "string"}}}}},
)
async def events(
    request: Request,
    name: StudyName,
    caller: Reader,
    after: Annotated[
        int | None, Query(ge=0, lt=2**31, description="A row of the log: only later ones are returned.")
    ] = None,
    last: Annotated[
        str | None,
        Header(alias="Last-Event-ID", max_length=20, description="The last event that was received."),
    ] = None,
) -> StreamingResponse:
    """A stream of events: `id` is the row of the log, `event` the kind, `data` a `Change` as JSON."""
    begin = int(last) if last is not None and last.isascii() and last.isdigit() else after
    service = request.app.state.service
    open_stream = ExitStack()
    open_stream.enter_context(service.streams.one(caller.name))
    try:
        begin = None if begin is None else min(begin, 2**31 - 1)
        watch = await kept(request).read(name, lambda study: study.watch(begin))
        study = await kept(request).kept(name)
    except BaseException:
        open_stream.close()
        raise
    if request.scope.get("only_head"):
        open_stream.close()
        return StreamingResponse(iter(()), media_type="text/event-stream")
    stream = _stream(open_stream, service.studies, study, watch, service.stopping)
    return StreamingResponse(stream, media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})


async def _stream(
    open_stream: ExitStack, studies: KeptStudies, study: KeptStudy, watch: Watch, stopping: asyncio.Event
) -> AsyncGenerator[str]:
    """Events until the client goes, the study is deleted or the server stops."""
    news = asyncio.Event()
    study.listeners.add(news)
    quiet = 0.0
    with open_stream:
        try:
            yield "retry: 2000\n\n"
            while not stopping.is_set():
                news.clear()
                found = await studies.look(watch.new)
                for change in found:
                    data = json.dumps(change._asdict(), allow_nan=False)
                    yield f"id: {change.row}\nevent: {change.kind}\ndata: {data}\n\n"
                quiet = 0.0 if found else quiet + LOOK_EVERY
                if quiet >= ALIVE_EVERY:
                    quiet = 0.0
                    yield ": alive\n\n"
                waits = [asyncio.ensure_future(event.wait()) for event in (news, stopping)]
                try:
                    await asyncio.wait(waits, timeout=LOOK_EVERY, return_when=asyncio.FIRST_COMPLETED)
                finally:
                    for wait in waits:
                        wait.cancel()
        except NoSuchStudy:
            yield "event: deleted\ndata: {}\n\n"
        finally:
            study.listeners.discard(news)

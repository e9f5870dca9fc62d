"""The studies that a server has open: each opened once, with one queue for all its changes.

A change waits in the queue of its study and takes no thread from other studies; looking does not wait.
Changes of one kind that wait together are done in one transaction, with one flush to the disk. Other
processes may use the same database; a study sees their changes when it reads its log.
"""

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from driftopt import checks
from driftopt import study as studies
from driftopt.study import DatabaseRefused, Listed, NoSuchStudy, Study, catalogue, log_file
from driftopt.study.log import Database
from driftopt.study.verbs import Verb

T = TypeVar("T")
_MOST = 256  # studies open at a time; the one that was used longest ago is closed first
_LOOKING = 8  # threads that look
_LAST_SECONDS = 5.0  # that a database is waited for when the server stops


class KeptStudy:
    """An open study, its queue, and the streams that wait for news of it."""

    def __init__(self, study: Study):
        self.study = study
        self.listeners: set[asyncio.Event] = set()
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="driftopt-study")
        self._waiting: deque[tuple[str, Any, Future[Any]]] = deque()

    def change(self, work: Callable[[Study], T]) -> "Future[T]":
        """The outcome of a change, which waits in the queue."""
        return self._queue.submit(work, self.study)

    def do(self, verb: str, record: Any) -> "Future[Any]":
        """The answer of a verb, which waits in the queue and is done with its neighbours of the same verb."""
        answer: Future[Any] = Future()
        self._waiting.append((verb, record, answer))
        self._queue.submit(self._do_waiting)
        return answer

    def _do_waiting(self) -> None:
        """Do all that wait for the first one's verb; if they are refused together, each by itself."""
        waiting = [self._waiting.popleft() for _ in range(len(self._waiting))]
        verb = waiting[0][0] if waiting else ""
        self._waiting.extendleft(one for one in reversed(waiting) if one[0] != verb)
        begun = [
            (record, answer)
            for name, record, answer in waiting  # a request that waited too long was refused
            if name == verb and answer.set_running_or_notify_cancel()
        ]
        try:
            outcomes: list[Any] = (
                self.study.do_together(verb, [record for record, _ in begun]) if begun else []
            )
        except DatabaseRefused as error:  # each by itself would wait as long again
            outcomes = [error] * len(begun)
        except Exception:
            outcomes = [self._outcome(verb, record) for record, _ in begun]  # nothing was recorded
        for (_, answer), outcome in zip(begun, outcomes, strict=True):
            if isinstance(outcome, Exception):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)

    def _outcome(self, verb: str, record: Any) -> Any:
        try:
            return self.study.do(verb, record)
        except Exception as error:
            return error

    def news(self) -> None:
        """Wake the streams that wait for news."""
        for event in self.listeners:
            event.set()

    def close(self) -> None:
        """Finish what is in the queue; nothing more is accepted."""
        self._queue.shutdown(wait=False)


class KeptStudies:
    """The studies of one database."""

    def __init__(self, url: str, clock: Callable[[], float], seconds: float):
        self.database = Database(url)
        self.place = self.database.label
        self.database.label = "this server"  # clients need not know where it keeps its studies
        self._clock = clock
        self._seconds = seconds
        self._kept: OrderedDict[str, KeptStudy] = OrderedDict()
        self._looking = ThreadPoolExecutor(_LOOKING, thread_name_prefix="driftopt-look")
        self._begun: set[Future[Any]] = set()  # what is not done yet
        self._ping: Future[None] | None = None
        self._heavy = threading.Lock()  # one creation at a time

    def __len__(self) -> int:
        return len(self._kept)

    async def look(self, work: Callable[[], T]) -> T:
        """The outcome of work that changes nothing, which waits in no queue."""
        return await self._within(self._looking.submit(work))

    async def _within(self, future: "Future[T]") -> T:
        """The outcome; TimeoutError if it takes too long."""
        self._begun.add(future)
        future.add_done_callback(self._begun.discard)
        here = asyncio.wrap_future(future)
        # A client that waited may have gone: then nobody reads the exception, and asyncio must not log it.
        here.add_done_callback(lambda done: done.cancelled() or done.exception())
        try:
            return await asyncio.wait_for(asyncio.shield(here), self._seconds)
        except TimeoutError:
            if future.cancel():
                raise TimeoutError(
                    f"this was not begun within {self._seconds:.0f} s, because others came first. "
                    "Nothing was changed; try again"
                ) from None
            raise TimeoutError(
                f"this took longer than {self._seconds:.0f} s and goes on at the server: the same request "
                "again, with its Idempotency-Key or holder, is safe"
            ) from None

    async def kept(self, name: str) -> KeptStudy:
        """The open study of that name."""
        if name not in self._kept:
            self._keep(await self.look(lambda: Study.open(self.database, name, clock=self._clock)))
        self._kept.move_to_end(name)
        return self._kept[name]

    def _keep(self, study: Study) -> Study:
        if study.name not in self._kept:  # another request may have been quicker
            self._kept[study.name] = KeptStudy(study)
        idle = [one for one, kept in self._kept.items() if not kept.listeners and one != study.name]
        for one in idle[: max(0, len(self._kept) - _MOST)]:
            self._kept.pop(one).close()
        return study

    async def _use(self, name: str, use: Callable[[KeptStudy], "Future[T]"]) -> T:
        """Use a study; if another process deleted it and created it again, the new one."""
        before = self._kept.get(name)
        kept = await self.kept(name)
        try:
            return await self._within(use(kept))
        except NoSuchStudy:
            self._drop(name, kept)
            if kept is not before:
                raise
            return await self._within(use(await self.kept(name)))

    def _drop(self, name: str, kept: KeptStudy) -> None:
        if self._kept.get(name) is kept:
            del self._kept[name]
        kept.news()
        kept.close()

    async def read(self, name: str, work: Callable[[Study], T]) -> T:
        """The outcome of work that only reads a study."""
        return await self._use(name, lambda kept: self._looking.submit(work, kept.study))

    async def do(self, name: str, verb: Verb, record: Any) -> Any:
        """The answer of a verb."""
        if not verb.changes:
            return await self.read(name, lambda study: study.do(verb.name, record))
        try:
            return await self._use(name, lambda kept: kept.do(verb.name, record))
        finally:
            if name in self._kept:
                self._kept[name].news()

    async def create(self, name: str, options: Mapping[str, Any], key: str | None) -> Study:
        """A new study."""

        def work() -> Study:
            with self._heavy:
                return Study.create(self.database, name, clock=self._clock, key=key, **options)  # pyright: ignore[reportArgumentType]

        return self._keep(await self.look(work))

    async def listed(self) -> list[Listed]:
        """All studies of the database; none if it has no table yet."""

        def work() -> list[Listed]:
            try:
                return studies.studies(self.database)
            except NoSuchStudy:
                return []

        return await self.look(work)

    async def take_over(self, name: str | None, data: Mapping[str, Any], key: str | None) -> Study:
        """A study from the data of an exported file."""

        def work() -> Study:
            found = log_file.from_data("the body", data)
            new = checks.text("name", found.name if name is None else name)
            with self._heavy:
                catalogue.add(self.database, new, found, key)
                return Study.open(self.database, new, clock=self._clock)

        return self._keep(await self.look(work))

    async def delete(self, name: str, key: str | None = None) -> int:
        """Delete a study, after all changes in its queue; returns the number of rows of its log."""
        try:
            kept = await self.kept(name)
        except NoSuchStudy:
            if key is None:
                raise
            return await self.look(lambda: studies.delete(self.database, name, key=key))
        try:
            return await self._within(kept.change(lambda _: studies.delete(self.database, name, key=key)))
        finally:
            self._drop(name, kept)

    async def ready(self) -> None:
        """Raise DatabaseRefused if the database does not answer. One thread asks it, for all who wait."""
        if self._ping is None or self._ping.done():
            self._ping = self._looking.submit(self.database.ping)
        await self._within(self._ping)

    def hurry(self) -> None:
        """Limit the time for which a stopping server waits for a database that does not answer."""
        self.database.give_up_within(_LAST_SECONDS)

    def close(self) -> int:
        """Finish open work and close the connections; returns the number of requests that would not end."""
        self.hurry()
        hanging = wait(set(self._begun), 2 * _LAST_SECONDS).not_done
        for kept in self._kept.values():
            kept.close()
        self._looking.shutdown(wait=False)
        self.database.close()
        return len(hanging)

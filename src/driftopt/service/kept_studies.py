"""The studies that a server has open: each opened once, with one queue for all its changes.

A change waits in the queue of its study and takes no thread from other studies; reading does not wait.
Results that wait together are recorded in one transaction, with one flush to the disk; so are questions.
Other processes may use the same database; a study sees their changes when it reads its log.
"""

import asyncio
import threading
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from driftopt import checks
from driftopt import study as studies
from driftopt.study import DatabaseRefused, Listed, NoSuchStudy, Study, Trial, catalogue, log_file
from driftopt.study.log import Database

T = TypeVar("T")
_MOST = 256  # studies open at a time; the one that was used longest ago is closed first
_LOOKING = 8  # threads that read
_LAST_SECONDS = 5.0  # that a database is waited for when the server stops


class KeptStudy:
    """An open study, its queue, and the streams that wait for news of it."""

    def __init__(self, study: Study):
        self.study = study
        self.listeners: set[asyncio.Event] = set()
        self._queue = ThreadPoolExecutor(1, thread_name_prefix="driftopt-study")
        self._answers: deque[tuple[Mapping[str, Any], Future[str]]] = deque()
        self._questions: deque[tuple[Mapping[str, Any], Future[Trial]]] = deque()

    def change(self, work: Callable[[Study], T]) -> "Future[T]":
        """The outcome of a change, which waits in the queue."""
        return self._queue.submit(work, self.study)

    def tell(self, answer: Mapping[str, Any]) -> "Future[str]":
        """The outcome of a result, which waits in the queue and is recorded with all others that wait."""
        told: Future[str] = Future()
        self._answers.append((answer, told))
        self._queue.submit(self._record)
        return told

    def _record(self) -> None:
        """Record all waiting results; if one is refused, each by itself, so that only that one is."""
        waiting = _begun(self._answers)
        if len(waiting) > 1:
            try:
                states = self.study.tell_many([answer for answer, _ in waiting])
            except DatabaseRefused as error:  # each by itself would wait as long again
                for _, told in waiting:
                    told.set_exception(error)
                return
            except Exception:
                pass  # none of them was recorded
            else:
                for (_, told), state in zip(waiting, states, strict=True):
                    told.set_result(state)
                return
        for answer, told in waiting:
            try:
                told.set_result(self.study.tell(**answer))
            except Exception as error:
                told.set_exception(error)

    def ask(self, question: Mapping[str, Any]) -> "Future[Trial]":
        """The trial for a question, which waits in the queue and is answered with all others that wait."""
        asked: Future[Trial] = Future()
        self._questions.append((question, asked))
        self._queue.submit(self._hand_out)
        return asked

    def _hand_out(self) -> None:
        """Answer all waiting questions, in one transaction if possible."""
        waiting = _begun(self._questions)
        try:
            outcomes: list[Any] = self.study.do_together("ask", [question for question, _ in waiting])
        except Exception as error:
            outcomes = [error] * len(waiting)
        for (_, asked), outcome in zip(waiting, outcomes, strict=True):
            if isinstance(outcome, Exception):
                asked.set_exception(outcome)
            else:
                asked.set_result(outcome.trials[0])

    def news(self) -> None:
        """Wake the streams that wait for news."""
        for event in self.listeners:
            event.set()

    def close(self) -> None:
        """Finish what is in the queue; nothing more is accepted."""
        self._queue.shutdown(wait=False)


def _begun(
    queue: "deque[tuple[Mapping[str, Any], Future[T]]]",
) -> "list[tuple[Mapping[str, Any], Future[T]]]":
    """Everything in the queue, except requests that were refused because they waited too long."""
    waiting = [queue.popleft() for _ in range(len(queue))]
    return [one for one in waiting if one[1].set_running_or_notify_cancel()]


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
            study = await self.look(lambda: Study.open(self.database, name, clock=self._clock))
            self._keep(name, study)
        self._kept.move_to_end(name)
        return self._kept[name]

    def _keep(self, name: str, study: Study) -> None:
        if name not in self._kept:  # another request may have been quicker
            self._kept[name] = KeptStudy(study)
        idle = [one for one, kept in self._kept.items() if not kept.listeners and one != name]
        for one in idle[: max(0, len(self._kept) - _MOST)]:
            self._kept.pop(one).close()

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

    async def _change(self, name: str, use: Callable[[KeptStudy], "Future[T]"]) -> T:
        try:
            return await self._use(name, use)
        finally:
            if name in self._kept:
                self._kept[name].news()

    async def change(self, name: str, work: Callable[[Study], T]) -> T:
        """The outcome of work that changes a study, in its queue."""
        return await self._change(name, lambda kept: kept.change(work))

    async def ask(self, name: str, question: Mapping[str, Any]) -> Trial:
        """The next deployment of a study."""
        return await self._change(name, lambda kept: kept.ask(question))

    async def tell(self, name: str, answer: Mapping[str, Any]) -> str:
        """Record the result of a trial; returns its state."""
        return await self._change(name, lambda kept: kept.tell(answer))

    async def create(self, name: str, arguments: Mapping[str, Any], key: str | None) -> Study:
        """A new study."""

        def work() -> Study:
            with self._heavy:
                return Study.create(self.database, name, clock=self._clock, key=key, **arguments)

        study = await self.look(work)
        self._keep(name, study)
        return study

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

        study = await self.look(work)
        self._keep(study.name, study)
        return study

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

"""A study that a server keeps, with the methods of `Study`: each is one request.

Longer than 300 lines: every operation of a study once, in the order in which `Study` has them.
"""

import json
import math
import os
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import numpy as np

from driftopt import checks
from driftopt.runtime.files import write_whole
from driftopt.runtime.process_name import this_process
from driftopt.space import Space
from driftopt.study.errors import StudyError
from driftopt.study.export import SUFFIXES
from driftopt.study.recommendation import Gain, Improvement, Metric, Recommendation
from driftopt.study.service_client import ServiceClient, encoded
from driftopt.study.spec import Spec
from driftopt.study.status import Status
from driftopt.study.summary import Summary
from driftopt.study.telling import trial_number
from driftopt.study.trial import Event, Trial
from driftopt.study.watching import Change, Watch

if TYPE_CHECKING:
    from driftopt.stationarity import Stationarity

T = TypeVar("T")
_PAGE = 1000


class RemoteWatch(Watch):
    """What is new in a study, asked of its server."""

    def __init__(self, study: "Remote", after: int):
        self._study, self._after = study, after

    def new(self) -> list[Change]:
        found, after = list[Change](), self._after
        while True:
            page = self._study.request("changes", after=after, limit=_PAGE)
            found += [Change(**one) for one in page["changes"]]
            after = found[-1].row if found else after
            if page["next"] is None:
                self._after = after  # the last thing: an interruption loses no change
                return found


class Remote:
    """The half of a remote study that speaks to the server; the other half is `Study`."""

    def __init__(self, client: ServiceClient, name: str, plan: Mapping[str, Any], clock: Callable[[], float]):
        self.name = name
        self.spec = Spec.from_json(json.dumps(plan["spec"]))
        self._client = client
        self._clock = clock
        self._at = f"/v1/studies/{encoded(name)}"

    @classmethod
    def connect(cls, url: str, name: str, token: str | None, clock: Callable[[], float]) -> Any:
        """Take up a study of a server."""
        client = ServiceClient(url, token)
        return cls(client, name, client.get(f"/v1/studies/{encoded(name)}"), clock)

    @classmethod
    def begin(
        cls,
        url: str,
        name: str,
        token: str | None,
        clock: Callable[[], float],
        key: str | None,
        arguments: Mapping[str, Any],
    ) -> Any:
        """Begin a study at a server: the arguments of `Study.create` that are not the usual ones."""
        client = ServiceClient(url, token)
        plan = client.post("/v1/studies", {"name": name} | sendable(arguments), key=key, keyed=True)
        return cls(client, name, plan, clock)

    @property
    def url(self) -> str:
        """The server's address."""
        return self._client.label

    def close(self) -> None:
        """Give the connection back."""
        self._client.close()

    def __repr__(self) -> str:
        plan = f"{self.spec.method}, {self.spec.direction}, {self.spec.dim} coordinates"
        return f"<Study {self.name!r} at {self.url}: {plan}>"

    def request(self, what: str, **query: Any) -> Any:
        """Look at something of the study."""
        return self._client.get(f"{self._at}/{what}" if what else self._at, **query)

    def _say(self, id: Any, verb: str, **body: Any) -> str:
        return self._client.post(f"{self._at}/trials/{trial_number(id)}:{verb}", body)["state"]

    def ask_many(
        self,
        k: int,
        purpose: str = "method",
        holder: str | None = None,
        new: bool = False,
        key: str | None = None,
        *,
        context: Mapping[str, str] | None = None,
    ) -> list[Trial]:
        checks.choice("purpose", purpose, ("method", "confirm", "stationarity"))
        owner = checks.text("holder", this_process() if holder is None else holder)
        body = {"count": checks.one_count("k", k), "purpose": purpose, "holder": owner}
        body |= {"new": checks.flag("new", new) or holder is None}
        body |= {} if context is None else {"context": checks.table("context", context)}
        found = self._client.post(f"{self._at}/trials:ask", body, key=key, keyed=True)
        return [as_trial(one) for one in found["trials"]]

    def ask_each(self, questions: Sequence[Mapping[str, Any]]) -> list[Trial | Exception]:
        outcomes: list[Trial | Exception] = []
        for given in questions:
            try:
                outcomes += self.ask_many(1, **given)
            except (StudyError, ValueError) as error:
                outcomes.append(error)
        return outcomes

    def tell(
        self,
        id: int,
        value: Any = None,
        sem: Any = None,
        x_deployed: Any = None,
        *,
        who: str | None = None,
        **more: Any,
    ) -> str:
        body = self._answer(value, sem, x_deployed) | self._beside(more) | _named(who)
        return self._client.post(f"{self._at}/trials/{trial_number(id)}:tell", body)["state"]

    def tell_many(self, answers: Sequence[Mapping[str, Any]]) -> list[str]:
        given = [checks.table("each answer", one) for one in checks.several("answers", answers)]
        sent = [one | ({} if one.get("value") is None else {"value": _number(one["value"])}) for one in given]
        if not sent:
            return []
        told = self._client.post(f"{self._at}/trials:tell", {"answers": sent})
        return [one["state"] for one in told["states"]]

    def _beside(self, more: Mapping[str, Any]) -> dict[str, Any]:
        """What is told beside a value, checked here as the server checks it."""
        said = self.spec.beside(more)._asdict()
        return {name: said[name] for name, given in more.items() if given is not None}

    def _answer(self, value: Any, sem: Any, x_deployed: Any) -> dict[str, Any]:
        body: dict[str, Any] = {} if value is None else {"value": _number(value)}
        if sem is not None:
            body["sem"] = checks.number("sem", sem)
        if x_deployed is not None:
            body["x_deployed"] = checks.vector("x_deployed", x_deployed, self.spec.dim).tolist()
        return body

    def fail(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        return self._say(id, "fail", reason=reason, **_named(who))

    def correct(
        self,
        id: int,
        value: Any = None,
        reason: str = "",
        *,
        sem: Any = None,
        who: str | None = None,
        **more: Any,
    ) -> str:
        body: dict[str, Any] = {"reason": reason, "who": _by(who)}
        body |= {} if value is None else {"value": _number(value)}
        # None would leave what was told as it is.
        body |= {name: "NaN" if said is None else said for name, said in self._beside(more).items()}
        return self._say(id, "correct", **body, **({} if sem is None else {"sem": _number(sem, "sem")}))

    def void(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        return self._say(id, "void", reason=reason, who=_by(who))

    def accept(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        return self._say(id, "accept", reason=reason, who=_by(who))

    def hold(self, id: int, reason: str = "", *, who: str | None = None) -> str:
        return self._say(id, "hold", reason=reason, who=_by(who))

    def extend(self, budget: int, reason: str = "", *, who: str | None = None) -> None:
        body = {"budget": int(checks.count("budget", budget)), "reason": reason, "who": _by(who)}
        self._client.post(f"{self._at}:extend", body)

    def resume(self, reason: str = "", *, who: str | None = None) -> None:
        self._client.post(f"{self._at}:resume", {"reason": reason, "who": _by(who)})

    def stop(self, reason: str = "", *, who: str | None = None) -> None:
        self._client.post(f"{self._at}:stop", {"reason": reason, "who": _by(who)})

    def trials(
        self, state: str | None = None, kind: str | None = None, holder: str | None = None
    ) -> list[Trial]:
        found: list[Trial] = []
        after: int | None = None
        while True:
            wanted = {"state": state, "kind": kind, "holder": holder, "after": after, "limit": _PAGE}
            page = self.request("trials", **wanted)
            found += [as_trial(one) for one in page["trials"]]
            after = page["next"]
            if after is None:
                return found

    def trial(self, id: int) -> Trial:
        return as_trial(self.request(f"trials/{trial_number(id)}"))

    def watch(self, after: int | None = None) -> Watch:
        return RemoteWatch(self, self.status().rows if after is None else checks.whole("after", after))

    def status(self) -> Status:
        plan = self.request("")
        return Status(**{name: plan[name] for name in Status._fields})

    def recommend(self, *, context: Mapping[str, str] | None = None) -> Recommendation:
        query = {} if context is None else {"context": json.dumps(checks.table("context", context))}
        found = self.request("recommendation", **query)
        x, gain = found["x"], decoded(Improvement | None, found["improvement"])
        return Recommendation(
            np.array(list(x.values())),
            tuple(x),
            found["results"],
            found["spent"],
            gain,
            found["note"],
            tuple(Metric(**one) for one in found["metrics"]),
            decoded(Gain | None, found["gain"]),
        )

    def summary(self, place: str | None = None) -> Summary:
        return decoded(Summary, self.request("summary", place=place or self._client.label))

    def stationarity(
        self, confidence: float = 0.95, value_range: tuple[float, float] | None = None
    ) -> "Stationarity":
        low, high = (None, None) if value_range is None else value_range
        from driftopt.stationarity import Stationarity

        return decoded(Stationarity, self.request("stationarity", confidence=confidence, low=low, high=high))

    def verify(self) -> int:
        return self.request("verification")["rows"]

    def export(self, path: str | os.PathLike[str]) -> Path:
        target = checks.path("path", path)
        if target.suffix not in SUFFIXES:
            raise ValueError(f"path must end in {', '.join(SUFFIXES)}; got {checks.brief(str(path))}")
        write_whole(target, self._client.content(f"{self._at}/export", format=target.suffix[1:]))
        return target


def _named(who: str | None) -> dict[str, str]:
    """Who says so; where nobody is named, the server takes the token's name."""
    return {} if who is None else {"who": checks.text("who", who)}


def _by(who: str | None) -> str:
    """Who amends something; this process, unless named."""
    return this_process() if who is None else checks.text("who", who)


def _number(value: Any, name: str = "value") -> float | str:
    """A number as JSON knows it, which has no NaN and no infinity."""
    number = checks.number(name, value)
    if math.isfinite(number):
        return number
    return "NaN" if math.isnan(number) else "Infinity" if number > 0 else "-Infinity"


def as_trial(found: Mapping[str, Any]) -> Trial:
    """A trial from what the server sends."""
    deployed = None if found["x_deployed"] is None else np.array(found["x_deployed"], dtype=np.float64)
    plain: dict[str, Any] = {field.name: found[field.name] for field in fields(Trial) if field.name in found}
    x = np.array(list(found["x"].values()), dtype=np.float64)
    plain |= {"x": x, "names": tuple(found["x"]), "x_deployed": deployed}
    plain["history"] = tuple(Event(**event) for event in found["history"])
    return Trial(**plain)


def decoded(kind: Any, data: Any) -> Any:
    """Dataclasses, tuples and what they hold, from JSON."""
    if get_origin(kind) in (Union, types.UnionType):
        (one,) = [choice for choice in get_args(kind) if choice is not type(None)]
        return None if data is None else decoded(one, data)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return typing.cast(Any, kind)(**{name: decoded(hints[name], value) for name, value in data.items()})
    if get_origin(kind) is tuple:
        one, *rest = get_args(kind)
        parts = [one] * len(data) if rest == [...] else [one, *rest]
        return tuple(decoded(part, value) for part, value in zip(parts, data, strict=True))
    return data


def sendable(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Study.create` as JSON knows them; a space is checked here as it is there."""
    given = dict(arguments)
    decisions = {key: given.pop(key, None) for key in ("names", "bounds", "constraints", "grid")}
    space = Space.build(given.pop("x0"), **decisions)
    if "units" in space.given:
        raise ValueError("a Space with units cannot be sent to a server: give a radius for each coordinate")
    sent: dict[str, Any] = given | space.given | {"x0": space.start.tolist(), "names": list(space.names)}
    if isinstance(sent.get("rng"), np.random.Generator):
        sent["rng"] = int(sent["rng"].integers(2**32))
    return sent

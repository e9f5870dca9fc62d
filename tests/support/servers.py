"""Servers of studies in a thread of the test, on a port of this machine."""

import threading
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import quote

import httpx
import pytest

SECRET = "the-tests-admin-may-do-everything"
OTHERS = {  # name: (secret, role, study)
    "looker": ("the-tests-looker-may-only-look", "read", None),
    "till": ("the-tests-till-asks-and-tells", "operate", None),
    "shelf": ("the-tests-shelf-is-for-one-study", "admin", "another"),
}
PLAN = {"x0": {"tea": 1.0, "oil": -0.5}, "method": "zo-o2nc-2pt", "params": {"radius": 0.3}, "rng": 7}

# What each route asks for; tests/service/test_access.py holds that none is missing.
ROLES = {
    "GET /v1/studies": "read",
    "POST /v1/studies": "admin",
    "POST /v1/studies:import": "admin",
    "GET /v1/studies/{name}": "read",
    "DELETE /v1/studies/{name}": "admin",
    "POST /v1/studies/{name}:extend": "admin",
    "POST /v1/studies/{name}:stop": "admin",
    "POST /v1/studies/{name}:resume": "admin",
    "GET /v1/studies/{name}/summary": "read",
    "GET /v1/studies/{name}/recommendation": "read",
    "GET /v1/studies/{name}/stationarity": "read",
    "GET /v1/studies/{name}/verification": "read",
    "GET /v1/studies/{name}/export": "read",
    "GET /v1/studies/{name}/changes": "read",
    "GET /v1/studies/{name}/course": "read",
    "GET /v1/studies/{name}/outlook": "read",
    "GET /v1/studies/{name}/why": "read",
    "GET /v1/studies/{name}/log": "read",
    "GET /v1/studies/{name}/page": "read",
    "GET /v1/caller": "read",
    "GET /v1/studies/{name}/events": "read",
    "GET /v1/studies/{name}/trials": "read",
    "GET /v1/studies/{name}/trials/{id}": "read",
    "POST /v1/studies/{name}/trials:ask": "operate",
    "POST /v1/studies/{name}/trials:tell": "operate",
    "POST /v1/studies/{name}/trials/{id}:tell": "operate",
    "POST /v1/studies/{name}/trials/{id}:fail": "operate",
    "POST /v1/studies/{name}/trials/{id}:correct": "operate",
    "POST /v1/studies/{name}/trials/{id}:void": "operate",
    "POST /v1/studies/{name}/trials/{id}:accept": "operate",
    "POST /v1/studies/{name}/trials/{id}:hold": "operate",
    "GET /metrics": "read",
}


def settings(url, **more):
    """Settings with a token for every role, and one for a study of another name."""
    from driftopt.service.access import Tokens, token
    from driftopt.service.settings import Settings

    known = [token("admin", SECRET), *(token(name, *rest) for name, rest in OTHERS.items())]
    return Settings(url=str(url), tokens=Tokens(known), **more)


@contextmanager
def serving(told, port=0, **how):
    """A server that runs: (its address, itself)."""
    from driftopt.service import server

    ready, listening = server.build(told, **how), server.listen("127.0.0.1", port)
    thread = threading.Thread(target=ready.run, args=([listening],))
    thread.start()
    try:
        yield server.address(listening, tls=told.tls), ready
    finally:
        ready.should_exit = True
        thread.join()
        listening.close()


def client(address, secret=SECRET):
    """An HTTP client with a token."""
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    # No certificates: to read those of the system takes longer than most requests here.
    return httpx.Client(base_url=address, headers=headers, timeout=60, verify=False)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """A server for all tests of a module, each of which creates a study of its own: (address, Server)."""
    with serving(settings(tmp_path_factory.mktemp("served") / "studies.db")) as found:
        yield found


@pytest.fixture(scope="module")
def http(server):
    """A client who may do everything."""
    with client(server[0]) as found:
        yield found


class Switch:
    """An application that is another one in every test, so that one server does for all of them."""

    app = None

    async def __call__(self, scope, receive, send):
        await self.app(scope, receive, send)


@pytest.fixture(scope="session")
def switch():
    """A server whose application each test puts in: (its address, the switch)."""
    import uvicorn

    from driftopt.service import server

    changing, listening = Switch(), server.listen("127.0.0.1", 0)
    config = uvicorn.Config(
        changing, lifespan="off", log_config=None, access_log=False, timeout_keep_alive=60
    )
    running = uvicorn.Server(config)
    thread = threading.Thread(target=running.run, args=([listening],))
    thread.start()
    yield server.address(listening, tls=False), changing
    running.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture
def http_url(switch, tmp_path, clock, monkeypatch):
    """The address of a server of an empty database, with the test's own clock and token."""
    from driftopt.service import app

    address, changing = switch
    changing.app = app.build(settings(tmp_path / "served.db", clock=clock))
    monkeypatch.setenv("DRIFTOPT_TOKEN", SECRET)
    yield address
    changing.app.state.service.studies.close()


@pytest.fixture
def tighter():
    """Settings with other limits."""

    def make(url, **limits):
        told = settings(url)
        return replace(told, limits=replace(told.limits, **limits))

    return make


@pytest.fixture
def create(http, request):
    """Create a study named after the test; returns its address."""

    def make(name=None, **more):
        name = name or request.node.name
        created = http.post("/v1/studies", json={"name": name, "budget": 12} | PLAN | more)
        assert created.status_code == 201, created.text
        return f"/v1/studies/{quote(name, safe='')}"

    return make


def refused(response, status, kind):
    """The refusal's sentence."""
    assert response.headers["content-type"] == "application/problem+json"
    body = response.json()
    assert (response.status_code, body["status"], body["kind"]) == (status, status, kind), body
    return body["detail"]

"""Every route without a token, with a wrong one, with a lesser one, and with that of another study."""

import re
from pathlib import Path

import pytest

from driftopt.service.access import Tokens, from_file, new_token, token
from support.servers import OTHERS, PLAN, ROLES, SECRET, client

OPEN = {"GET /healthz", "GET /readyz"}
BODIES = {
    "POST /v1/studies": {"name": "new", "budget": 9} | PLAN,
    ":extend": {"budget": 99},
    ":import": {"study": "new", "spec": {}, "log": {}},
}


def call(http, route):
    """A request that would be done, were it allowed."""
    method, path = route.split(" ")
    body = next((body for end, body in BODIES.items() if route.endswith(end)), {"value": 1.0})
    if route.endswith("trials:tell"):
        body = {"answers": [{"id": 1, "value": 1.0}]}
    if re.search(":(ask|fail|void|accept|hold|stop|resume)$", route):
        body = {}
    address = path.replace("{name}", "mine").replace("{id}", "1")
    return http.request(method, address, json=body if method == "POST" else None)


def test_every_route_is_in_the_table(http):
    described = http.get("/openapi.json").json()["paths"]
    routes = {f"{method.upper()} {path}" for path, methods in described.items() for method in methods}
    assert routes == ROLES.keys() | OPEN


@pytest.mark.parametrize("route", sorted(ROLES))
def test_no_token_and_a_wrong_one_are_refused(server, route):
    for secret in (None, SECRET + "x"):
        with client(server[0], secret) as http:
            answer = call(http, route)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json()["kind"] == "Unauthorized"
        assert SECRET not in answer.text
    server[1]._service.refusals._buckets.clear()  # this address may go on guessing


@pytest.mark.parametrize("route", sorted(route for route, role in ROLES.items() if role != "read"))
def test_a_lesser_role_is_refused(server, http, route):
    secret = OTHERS["looker" if ROLES[route] == "operate" else "till"][0]
    with client(server[0], secret) as lesser:
        answer = call(lesser, route)
    assert (answer.status_code, answer.json()["kind"]) == (403, "Forbidden")
    assert f"this needs {ROLES[route]}" in answer.json()["detail"]
    assert "mine" not in [one["name"] for one in http.get("/v1/studies").json()["studies"]]


@pytest.mark.parametrize("route", sorted(ROLES.keys() - {"GET /v1/studies", "GET /v1/caller"}))
def test_a_token_of_another_study_is_refused(server, route):
    with client(server[0], OTHERS["shelf"][0]) as other:
        answer = call(other, route)
    assert (answer.status_code, answer.json()["kind"]) == (403, "Forbidden")


@pytest.mark.parametrize("route", sorted(ROLES))
def test_the_right_role_is_enough(server, http, route):
    """The twin of the tests above: with it the same request is let in."""
    if "{name}" in route:
        http.post("/v1/studies", json={"name": "mine", "budget": 9} | PLAN)
    secret = {"read": OTHERS["looker"][0], "operate": OTHERS["till"][0], "admin": SECRET}[ROLES[route]]
    if route.endswith("/events"):
        route = route.replace("/events", "/changes")  # a stream has no end: it has tests of its own
    with client(server[0], secret) as right:
        assert call(right, route).status_code not in (401, 403)


def test_a_token_of_one_study_sees_and_uses_that_one(server, http):
    for name in ("another", "third"):
        http.post("/v1/studies", json={"name": name, "budget": 9} | PLAN)
    with client(server[0], OTHERS["shelf"][0]) as shelf:
        assert [one["name"] for one in shelf.get("/v1/studies").json()["studies"]] == ["another"]
        assert shelf.post("/v1/studies/another/trials:ask").status_code == 200
        assert shelf.get("/v1/studies/%61nother").status_code == 200
        assert shelf.get("/v1/studies/third").status_code == 403
        assert shelf.get("/v1/studies/another%2F..%2Fthird").status_code == 403
        assert shelf.delete("/v1/studies/third?confirm=third").status_code == 403


@pytest.mark.parametrize(
    "header",
    [
        "Basic " + SECRET,
        "Bearer",
        f"Bearer {SECRET} x",
        f"Bearer {SECRET[:-1]}",
        f"Bearer {SECRET}{SECRET}",
        SECRET,
        "Bearer " + "x" * 5000,
    ],
)
def test_odd_authorization_headers_are_refused(server, header):
    with client(server[0], None) as http:
        assert http.get("/v1/studies", headers={"Authorization": header}).status_code == 401
    server[1]._service.refusals._buckets.clear()


def test_a_token_in_the_address_is_not_taken(server):
    with client(server[0], None) as http:
        assert http.get("/v1/studies", params={"token": SECRET}).status_code == 401


def test_guessing_is_slowed_down_and_locks_nobody_out(server, monkeypatch):
    refusals = server[1]._service.refusals
    monkeypatch.setattr(refusals, "_clock", lambda: 1e9)  # no time goes by, however slow the machine
    try:
        with client(server[0], "a guess that is long enough") as guesser:
            statuses = [guesser.get("/v1/studies").status_code for _ in range(30)]
            assert statuses[0] == 401
            assert statuses[-1] == 429
            assert guesser.get("/v1/studies").headers["retry-after"] == "1"
        with client(server[0], SECRET) as known:
            assert known.get("/v1/studies").status_code == 200
    finally:
        refusals._buckets.clear()


def test_secrets_are_long_and_kept_as_hashes():
    for short in ("", "short", "x" * 19, "a blank in the midst of it", "é" * 30, "x" * 501):
        with pytest.raises(ValueError, match="secret of token 'a'"):
            token("a", short)
    tokens, secret = new_token()
    found = tokens.find(secret)
    assert (found.role, found.study) == ("admin", None)
    assert secret not in repr(found) + repr(vars(tokens))
    assert tokens.find(secret + "x") is None
    assert tokens.find("\udcff") is None
    with pytest.raises(ValueError, match="the same secret"):
        Tokens([token("a", SECRET), token("b", SECRET)])


def test_the_secret_of_the_documentation_is_no_secret():
    page = (Path(__file__).parents[2] / "docs" / "guides" / "access.md").read_text(encoding="utf-8")
    examples = re.findall(r'^secret = "(.*)"', page, flags=re.MULTILINE)
    assert examples
    for example in examples:
        with pytest.raises(ValueError, match="is the example of the documentation"):
            token("a", example)


def test_requests_without_a_token_are_counted_and_lock_nobody_out(server, monkeypatch):
    """By address: whoever sends a token that is known is let in, whatever others send from there."""
    strangers = server[1]._service.strangers
    monkeypatch.setattr(strangers, "_clock", lambda: 1e9)
    monkeypatch.setattr(strangers, "_burst", 10.0)
    strangers._buckets.clear()
    try:
        for header in ({}, {"Authorization": "Basic x"}, {"Authorization": "Bearer a-wrong-one"}):
            with client(server[0], None) as stranger:
                answers = [stranger.get("/readyz", headers=header) for _ in range(12)]
                assert answers[-1].status_code == 429
                assert answers[-1].headers["retry-after"] == "1"
                assert answers[-1].json()["kind"] == "TooMany"
        with client(server[0], SECRET) as known:
            for path in ("/v1/studies", "/readyz", "/"):
                assert known.get(path).status_code == 200
    finally:
        strangers._buckets.clear()


def test_a_file_of_tokens(tmp_path):
    path = tmp_path / "tokens.toml"
    path.write_text(
        f'[[token]]\nname = "till"\nsecret = "{SECRET}"\nrole = "operate"\nstudy = "prices"\n'
        '[[token]]\nname = "wall"\nsecret = "another secret".\n'
    )
    with pytest.raises(ValueError, match="neither one secret nor TOML"):
        from_file(path)
    path.write_text(f'[[token]]\nname = "till"\nsecret = "{SECRET}"\nrole = "operate"\nstudy = "prices"\n')
    found = from_file(path).find(SECRET)
    assert (found.name, found.role, found.study) == ("till", "operate", "prices")
    path.write_text(f'[[token]]\nname = "till"\nsecret = "{SECRET}"\n')
    with pytest.raises(ValueError, match="token 1 must have name, secret and role"):
        from_file(path)
    path.write_text(f'[[token]]\nname = "till"\nsecret = "{SECRET}"\nrole = "boss"\n')
    with pytest.raises(ValueError, match="must be one of read, operate, admin"):
        from_file(path)
    path.write_text(SECRET + "\n")
    assert from_file(path).find(SECRET).role == "admin"


def test_a_token_of_one_study_learns_of_no_other(server):
    """Its own does not exist: whoever may see all is told what there is, and this one is not."""
    with client(server[0], SECRET) as admin:
        admin.delete("/v1/studies/another", params={"confirm": "another"})
    for secret, told in ((OTHERS["shelf"][0], False), (OTHERS["looker"][0], True)):
        with client(server[0], secret) as http:
            answer = http.get("/v1/studies/another")
        assert answer.status_code == 404
        assert ("it holds" in answer.json()["detail"]) == told
        assert "sqlite" not in answer.json()["detail"]

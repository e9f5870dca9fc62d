"""Requests made up from the description, right ones and wrong ones: what comes back is as described."""

import warnings

import hypothesis
import pytest
import requests
from hypothesis import strategies

from support.servers import PLAN, ROLES, SECRET

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of packages that it imports
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import (
        content_type_conformance,
        negative_data_rejection,
        not_a_server_error,
        response_schema_conformance,
        status_code_conformance,
    )


def wrong_data_is_refused(context, response, case):
    """With any refusal: schemathesis does not know that a body may also be too large."""
    return response.status_code != 413 and negative_data_rejection(context, response, case)


CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    wrong_data_is_refused,
]
ENDLESS = "GET /v1/studies/{name}/events"


@pytest.fixture(scope="module")
def schema(server, http):
    created = http.post("/v1/studies", json={"name": "served", "budget": 400} | PLAN)
    assert created.status_code == 201
    http.post("/v1/studies/served/trials:ask", json={"count": 2})
    return schemathesis.openapi.from_dict(http.get("/openapi.json").json())


def begins_as_described(case, address, mode):
    """A stream has no end: its head and its first line are looked at, a refusal as a whole."""
    given = case.as_transport_kwargs(base_url=address, headers={"Authorization": f"Bearer {SECRET}"})
    with requests.request(**given, stream=True, timeout=60) as got:
        described = case.operation.definition.raw["responses"]
        assert str(got.status_code) in described
        kind = got.headers["content-type"].split(";")[0]
        assert kind in described[str(got.status_code)]["content"]
        if got.status_code == 200:
            assert next(got.iter_lines()) == b"retry: 2000"
        else:
            assert mode is GenerationMode.NEGATIVE or got.status_code == 404
            assert got.json()["detail"]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=["right", "wrong"])
@pytest.mark.parametrize("route", sorted({*ROLES, "GET /healthz", "GET /readyz"}))
def test_what_comes_back_is_as_described(schema, server, route, mode):
    method, path = route.split(" ")
    operation = schema[path][method]

    @hypothesis.settings(
        max_examples=5,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
        phases=[hypothesis.Phase.generate],
    )
    @hypothesis.given(strategies.data())
    def check(data):
        case = data.draw(operation.as_strategy(generation_mode=mode))
        if mode is GenerationMode.POSITIVE and "name" in (case.path_parameters or {}):
            case.path_parameters["name"] = "served"  # else nearly every study would be one that is not there
        if route == ENDLESS:
            begins_as_described(case, server[0], mode)
            return
        case.call_and_validate(
            base_url=server[0], headers={"Authorization": f"Bearer {SECRET}"}, checks=CHECKS, timeout=60
        )

    try:
        check()
    except hypothesis.errors.Unsatisfiable:
        assert mode is GenerationMode.NEGATIVE  # of a route that takes nothing, nothing can be wrong

"""The examples that /docs shows are answers that the server could give."""

import pytest
from pydantic import TypeAdapter

from driftopt.service import models
from driftopt.service.examples import EXAMPLES
from driftopt.study.facts import Summary


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_shown_and_is_such_an_answer(http, name):
    example = EXAMPLES[name]
    assert http.get("/openapi.json").json()["components"]["schemas"][name]["examples"] == [example]
    kind = TypeAdapter(Summary if name == "Summary" else getattr(models, name))
    assert kind.dump_python(kind.validate_python(example), mode="json") == example


def test_the_example_of_a_plan_has_fields_of_a_study(http):
    plan = {"name": "like the example", "x0": {"tea": 2.5, "oil": 9.9}, "budget": 40, "radius": 0.3}
    created = http.post("/v1/studies", json=plan).json()
    assert set(created) == set(EXAMPLES["StudyPlan"])
    assert set(EXAMPLES["StudyPlan"]["spec"]) < set(created["spec"])

"""An agent's tools: the verbs, under its name, within its role, with everybody's refusals."""

import json
import os
import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from driftopt.service.mcp import Tools, server
from driftopt.study import Study
from driftopt.study.verbs import VERBS


@pytest.fixture
def url(tmp_path):
    place = str(tmp_path / "shop.db")
    Study.create(place, "prices", x0={"tea": 3.0}, direction="maximize", unit="€", rng=1).close()
    return place


def answered(result):
    assert not result.is_error, result.content
    return json.loads(result.content[0].text)


def test_an_agent_asks_tells_and_reads_under_its_name(url):
    tools = Tools(url, "bot", study="prices")
    (trial,) = answered(tools.call("ask", {}))["trials"]
    assert (trial["holder"], trial["x"]) == ("bot", {"tea": 3.0})
    assert answered(tools.call("ask", {}))["trials"][0]["id"] == trial["id"]  # again is the same
    assert answered(tools.call("tell", {"id": trial["id"], "value": 12.5}))["state"] == "complete"
    several = {"answers": [{"id": trial["id"], "value": 12.5}]}
    assert answered(tools.call("tell_many", several))["states"][0]["state"] == "complete"
    assert answered(tools.call("summary", {}))["results"] == 1
    assert answered(tools.call("recommend", {}))["x"] == {"tea": 3.0}
    with Study.open(url, "prices") as study:
        assert study.trial(trial["id"]).history[0].who == "bot"


@pytest.mark.parametrize(
    ("name", "given", "message"),
    [
        ("tell", {"id": 9, "value": 1.0}, "no trial 9"),
        ("tell", {"id": 1, "valu": 1.0}, "valu: unknown"),
        ("tell", {"id": 1, "value": 1.0, "who": "the boss"}, "the agent's own name"),
        ("stop", {}, "there is no tool 'stop'"),
        ("forecast", {"coordinates": 2}, "past values are needed"),
    ],
)
def test_refusals_are_sentences(url, name, given, message):
    found = Tools(url, "bot", study="prices").call(name, given)
    assert found.is_error
    assert message in found.content[0].text


@pytest.mark.parametrize("role", ["read", "operate", "admin"])
def test_every_verb_that_the_role_allows_is_a_tool(url, role):
    names = {tool.name for tool in Tools(url, "bot", role).listed()}
    order = ["read", "operate", "admin"]
    allowed = {verb.name for verb in VERBS.values() if order.index(verb.role) <= order.index(role)}
    assert names == allowed | {"forecast"}


def test_a_client_of_the_protocol_uses_the_tools(url):
    async def talk():
        async with Client(server(Tools(url, "bot"))) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["tell"].input_schema["required"] == ["study", "id"]
            assert "who" not in tools["tell"].input_schema["properties"]
            assert tools["summary"].annotations.read_only_hint
            return await client.call_tool("status", {"study": "prices"})

    assert answered(anyio.run(talk))["name"] == "prices"


def test_the_command_speaks_the_protocol(url):
    async def talk():
        args = ["-m", "driftopt", "mcp", url, "--study", "prices", "--agent", "bot"]
        command = StdioServerParameters(command=sys.executable, args=args, env=dict(os.environ))
        async with Client(stdio_client(command)) as client:
            return await client.call_tool("ask", {})

    assert answered(anyio.run(talk))["trials"][0]["holder"] == "bot"

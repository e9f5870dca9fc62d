"""Studies as tools for agents, by the Model Context Protocol: each verb is a tool, made from its record.

Each deed is in the log under the agent's name. Behind the address of a server the server's tokens, roles and
limits hold; on a database, the role that the command was given.
"""

import json
from collections.abc import Mapping
from functools import partial
from typing import Any

import anyio
from mcp import types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

import driftopt
from driftopt.service.schema import schema_of
from driftopt.study import Study, StudyError, forecast
from driftopt.study.records import Results, as_json, fields_of, request_from_json
from driftopt.study.verbs import VERBS, Verb

ROLES = ("read", "operate", "admin")  # each includes the ones before it
_LEAVE_OUT = ("who", "holder", "new", "key")  # the agent's name takes their place
_FORECAST: dict[str, Any] = {
    "coordinates": {"type": "integer", "description": "How many numbers a decision has."},
    "past": {"type": "array", "items": {"type": "number"}, "description": "Past values, one for each day."},
    "level": {"type": "number", "description": "The value of a day, without past values."},
    "noise": {"type": "number", "description": "The standard deviation of a day, without past values."},
    "change": {"type": "number", "description": "How much better the best may be, as a share of the value."},
}


class Tools:
    """What an agent may do with the studies of a database or a server."""

    def __init__(self, url: str, agent: str, role: str = "operate", study: str | None = None):
        self.url, self.agent, self.study = url, agent, study
        allowed = ROLES[: ROLES.index(role) + 1]
        self.verbs = {verb.name: verb for verb in VERBS.values() if verb.role in allowed}

    def listed(self) -> list[types.Tool]:
        """One tool for each verb that the role allows, and `forecast`."""
        named = {} if self.study else {"study": {"type": "string", "description": "The study's name."}}
        tools = [
            types.Tool(
                name="forecast",
                description="What a search would reach and cost, before it begins.",
                input_schema={"type": "object", "properties": _FORECAST, "required": ["coordinates"]},
            )
        ]
        for verb in self.verbs.values():
            parts: dict[str, Any] = {}
            schema = schema_of(verb.record, parts, _LEAVE_OUT, **named)
            text = json.dumps({**schema, "$defs": parts}).replace("#/components/schemas/", "#/$defs/")
            hint = types.ToolAnnotations(read_only_hint=not verb.changes)
            tools.append(
                types.Tool(
                    name=verb.name, description=verb.help, input_schema=json.loads(text), annotations=hint
                )
            )
        return tools

    def call(self, name: str, given: Mapping[str, Any]) -> types.CallToolResult:
        """What the tool answers; a refusal is an error with the sentence that everybody gets."""
        try:
            found = as_json(self._done(name, dict(given)))
        except (StudyError, ValueError) as error:
            said: list[types.ContentBlock] = [types.TextContent(type="text", text=str(error))]
            return types.CallToolResult(content=said, is_error=True)
        text = json.dumps(found, ensure_ascii=False)
        return types.CallToolResult(content=[types.TextContent(type="text", text=text)])

    def _done(self, name: str, given: dict[str, Any]) -> Any:
        if name == "forecast":
            return forecast(given.pop("past", None), **given)
        if name not in self.verbs:
            raise ValueError(f"there is no tool {name!r}: there are {', '.join(['forecast', *self.verbs])}")
        verb = self.verbs[name]
        study = self.study or given.pop("study", None)
        if not isinstance(study, str):
            raise ValueError("study is needed: the study's name")
        if said := sorted(set(given) & set(_LEAVE_OUT)):
            raise ValueError(f"{', '.join(said)}: the agent's own name stands in the log; leave it out")
        with Study.open(self.url, study) as opened:
            return opened.do(name, self._signed(verb, given))

    def _signed(self, verb: Verb, given: dict[str, Any]) -> Any:
        """The verb's record under the agent's name."""
        parts = {part.name for part in fields_of(verb.record)}
        if "who" in parts:
            given["who"] = self.agent
        if "holder" in parts and verb.changes:
            given["holder"] = self.agent
        if verb.record is Results and isinstance(given.get("answers"), list):
            given["answers"] = [
                {**one, "who": self.agent} if isinstance(one, dict) else one for one in given["answers"]
            ]
        return request_from_json(verb.record, given)


def server(tools: Tools) -> Server[Any]:
    """The server of the protocol; one call at a time, in a thread, so that others may be listed meanwhile."""

    async def listed(*_: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=tools.listed())

    async def called(_: Any, wanted: types.CallToolRequestParams) -> types.CallToolResult:
        return await anyio.to_thread.run_sync(partial(tools.call, wanted.name, wanted.arguments or {}))

    return Server("driftopt", version=driftopt.__version__, on_list_tools=listed, on_call_tool=called)


def run(tools: Tools) -> None:
    """Serve on standard input and output until the agent closes them."""

    async def served() -> None:
        ready = server(tools)
        async with stdio_server() as (read, write):
            await ready.run(read, write, ready.create_initialization_options())

    anyio.run(served)

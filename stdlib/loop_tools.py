"""The tools that a program offers to a model: names, parameters, the functions that run them, and their effects."""

from __future__ import annotations

from language.capabilities.grants import declared_set
from language.capabilities.tool_effects import ToolEffects
from language.errors import RuntimeFault
from language.models.conversation import Offer
from language.values import Bool, as_map, type_of
from language.values.display import display, quote
from language.values.schemas import Misfit, members, object_schema, params_of, read, text_member
from stdlib.mcp_tools import check_name, task_to_run
from stdlib.options import whole

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import Call
    from language.runtime.context import Context
    from language.values.schemas import Schema
    from stdlib.mcp_connection import ToolConnection

_OPTIONAL = ("params", "annotations", "limit", "confirm", "outside", "acts")
#: A description from another server is cut to this many characters.
_LONGEST_DESCRIPTION = 2000


class RemoteTool:
    """Runs a tool of another server: the ``run`` of an entry that ``mcp_toolset`` makes.

    ``description`` and ``schema`` are as that server gave them.
    """

    __slots__ = ("connection", "description", "name", "schema")

    language_type = "remote tool"

    def __init__(self, connection: ToolConnection, name: str, description: str, schema: dict[str, Any]) -> None:
        self.connection = connection
        self.name = name
        self.description = description
        self.schema = schema

    def display(self) -> str:
        return f"tool {self.name} of {self.connection.name}"


class LoopTool:
    """One tool of a loop.

    ``params`` is ``None`` if another server checks the arguments. ``limit`` is the most calls in one loop, ``None`` for any
    number. ``question`` is the question to a person before each call, ``None`` for none. ``brings_outside_text`` says whether
    its results count as text from outside, ``acts`` whether it acts outside. ``foreign`` says whether its description was
    written by another server.
    """

    __slots__ = ("acts", "brings_outside_text", "calls", "foreign", "limit", "name", "offer", "params", "question", "run")

    def __init__(self, name: str, run: Any, description: str, params: Schema | None, schema: dict[str, Any]) -> None:
        self.name = name
        self.run = run
        self.params = params
        self.offer = Offer(name, description, schema)
        self.limit: int | None = None
        self.question: str | None = None
        self.brings_outside_text = False
        self.acts = False
        self.foreign = False
        self.calls = 0

    def arguments(self, call: Call) -> dict[str, Any]:
        """The arguments of a call, converted to their types. Raises ``Misfit``."""
        if call.args is None:
            raise Misfit("", "must be map, got a text that is not a JSON object")
        arguments: dict[str, Any] = call.args
        if self.params is None:
            return arguments
        return read(self.params, arguments, exact_arguments(call))


def exact_arguments(call: Call) -> Any:
    """The arguments of a call with each number that has a point or an exponent as the text that the model sent."""
    from language.values.json_decoding import parse_written

    try:
        return parse_written(call.raw) if call.raw else None
    except ValueError:
        return None


def tools_of(who: str, value: Any) -> dict[str, LoopTool]:
    """The tools of a program's map. Raises ``RuntimeFault`` that names the tool and the wrong member."""
    entries = as_map(value)
    if entries is None:
        raise RuntimeFault(f"{who}: the tools must be a map, got {type_of(value)}", kind="type")
    return {name: _tool(who, name, entry) for name, entry in entries.items()}


def _tool(who: str, name: str, value: Any) -> LoopTool:
    check_name(who, name)
    place = f"{who}: tool '{name}'"
    fields = members(place, value, ("description", "run"), _OPTIONAL)
    description = text_member(place, "description", fields["description"])
    run = fields["run"]
    if type(run) is RemoteTool:
        if "params" in fields:
            raise RuntimeFault(f"{place}: member 'params' is for a task: the server of this tool describes its arguments")
        tool = LoopTool(name, run, description, None, run.schema)
        tool.brings_outside_text = tool.acts = True
        tool.foreign = description == run.description
    else:
        params = params_of(place, fields.get("params", {}))
        tool = LoopTool(name, task_to_run(place, run), description, params, object_schema(params))
        effects = ToolEffects(name for name, _ in declared_set(run))
        tool.brings_outside_text, tool.acts = effects.may_bring_outside_text, effects.acts_outside
    for member, attribute in (("outside", "brings_outside_text"), ("acts", "acts")):
        if member in fields:
            if type(fields[member]) is not Bool:
                raise RuntimeFault(f"{place}: member '{member}' must be bool, got {type_of(fields[member])}")
            setattr(tool, attribute, bool(fields[member]))
    if "limit" in fields:
        tool.limit = whole(fields["limit"])
        if tool.limit is None or tool.limit < 1:
            raise RuntimeFault(f"{place}: member 'limit' must be an integer of at least 1")
    confirm = fields.get("confirm")
    if type(confirm) is str:
        tool.question = confirm
    elif type(confirm) is Bool:
        tool.question = "run it" if confirm else None
    elif confirm is not None:
        raise RuntimeFault(f"{place}: member 'confirm' must be text (the question) or bool, got {type_of(confirm)}")
    return tool


def toolset(ctx: Context, conn: Any, names: Any) -> dict[str, Any]:
    """The tools of another server as entries of a loop's map."""
    from stdlib.mcp_client import mcp_tools

    if names is not None and type(names) is not list:
        raise RuntimeFault(f"mcp_toolset: the names must be a list of texts, got {type_of(names)}", kind="type")
    offered = {tool["name"]: tool for tool in mcp_tools(ctx, conn)}
    entries: dict[str, Any] = {}
    for name in offered if names is None else names:
        if type(name) is not str or name not in offered:
            there = ", ".join(offered) or "none"
            raise RuntimeFault(f"mcp_toolset: the server has no tool {quote(display(name))} (it has: {there})")
        check_name("mcp_toolset", name)
        described = offered[name]["description"]
        text = (described if type(described) is str else "")[:_LONGEST_DESCRIPTION] or name
        schema = offered[name]["inputSchema"] or {"type": "object", "properties": {}}
        entries[name] = {"description": text, "run": RemoteTool(conn, name, text, schema)}
    return entries

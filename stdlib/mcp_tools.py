"""The tools that a program offers, read out of its plain map and checked to the last member."""

from __future__ import annotations

from language.errors import FILE_MARK, RuntimeFault
from language.runtime.calls import VARARGS, is_constructor
from language.values import Bool, as_map, type_of
from language.values.display import quote
from language.values.operators import is_decimal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType
    from typing import Any

_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST_NAME = 64

#: The types of arguments and what JSON Schema calls them.
_SCHEMA_TYPES = {"text": "string", "number": "number", "bool": "boolean", "list": "array", "map": "object"}


class Param:
    """One argument of a tool; ``type`` is a key of the schema types."""

    __slots__ = ("description", "name", "required", "type")

    def __init__(self, name: str, type: str, description: str | None, required: bool) -> None:
        self.name = name
        self.type = type
        self.description = description
        self.required = required

    def takes(self, value: Any) -> bool:
        return type_of(value) == self.type or (self.type == "number" and is_decimal(value))

    def schema(self) -> dict[str, Any]:
        described = {} if self.description is None else {"description": self.description}
        return {"type": _SCHEMA_TYPES[self.type], **described}


class Tool:
    """One tool; ``run`` takes the arguments as a map and, with a second parameter, the user."""

    __slots__ = ("description", "name", "params", "run")

    def __init__(self, name: str, description: str, params: list[Param], run: FunctionType) -> None:
        self.name = name
        self.description = description
        self.params = params
        self.run = run

    def listed(self) -> dict[str, Any]:
        """The entry of ``tools/list``."""
        schema = {
            "type": "object",
            "properties": {param.name: param.schema() for param in self.params},
            "required": [param.name for param in self.params if param.required],
        }
        return {"name": self.name, "description": self.description, "inputSchema": schema}


class ToolServer:
    """What a program offers under one name."""

    __slots__ = ("instructions", "name", "tools", "version")

    def __init__(self, name: str, version: str, instructions: str | None, tools: dict[str, Tool]) -> None:
        self.name = name
        self.version = version
        self.instructions = instructions
        self.tools = tools


def server_of(value: Any) -> ToolServer:
    """Reads the map of a server. Raises ``RuntimeFault`` beginning ``mcp_reply: `` that names the tool and the member."""
    fields = _members("the server", value, ("name", "version", "tools"), ("instructions",))
    name = _text("the server", "name", fields["name"])
    version = _text("the server", "version", fields["version"])
    instructions = None if "instructions" not in fields else _text("the server", "instructions", fields["instructions"])
    tools = as_map(fields["tools"])
    if tools is None:
        raise _fault("the server", f"member 'tools' must be a map, got {type_of(fields['tools'])}")
    return ToolServer(name, version, instructions, {tool: _tool(tool, entry) for tool, entry in tools.items()})


def _tool(name: str, value: Any) -> Tool:
    if not 0 < len(name) <= _LONGEST_NAME or not _NAME.issuperset(name):
        raise _fault(f"tool {quote(name)}", f"a name is 1 to {_LONGEST_NAME} letters, digits, '_' and '-'")
    place = f"tool '{name}'"
    fields = _members(place, value, ("description", "run"), ("params",))
    description = _text(place, "description", fields["description"])
    params = as_map(fields.get("params", {}))
    if params is None:
        raise _fault(place, f"member 'params' must be a map, got {type_of(fields['params'])}")
    return Tool(name, description, [_param(place, param, entry) for param, entry in params.items()], _run(place, fields["run"]))


def _param(tool: str, name: str, value: Any) -> Param:
    place = f"{tool}, argument '{name}'"
    fields = _members(place, value, ("type",), ("description", "required"))
    kind = fields["type"]
    if type(kind) is not str or kind not in _SCHEMA_TYPES:
        shown = quote(kind) if type(kind) is str else type_of(kind)
        raise _fault(place, f"member 'type' must be one of {', '.join(_SCHEMA_TYPES)}, got {shown}")
    required = fields.get("required")
    if required is not None and type(required) is not Bool:
        raise _fault(place, f"member 'required' must be bool, got {type_of(required)}")
    description = None if "description" not in fields else _text(place, "description", fields["description"])
    return Param(name, kind, description, required is None or bool(required))


def _run(place: str, run: Any) -> FunctionType:
    """A task or lambda of the program with one or two parameters."""
    code = getattr(run, "__code__", None)
    if code is None or FILE_MARK not in run.__globals__ or is_constructor(code.co_name) or code.co_flags & VARARGS:
        raise _fault(place, f"member 'run' must be a task or lambda of the program, got {_kind(run)}")
    if code.co_argcount not in (1, 2):
        raise _fault(place, f"member 'run' must take one or two parameters (arguments, user), it takes {code.co_argcount}")
    return run  # type: ignore[no-any-return]


def _kind(run: Any) -> str:
    if getattr(run, "builtin", None) is not None:
        return "a builtin"
    return "a constructor" if callable(run) else type_of(run)


def _members(place: str, value: Any, needed: tuple[str, ...], optional: tuple[str, ...]) -> dict[str, Any]:
    """The members of a map as far as they are not ``nothing``; none may be missing or unknown."""
    fields = as_map(value)
    if fields is None:
        raise _fault(place, f"must be a map, got {type_of(value)}")
    for name in fields:
        if name not in needed and name not in optional:
            raise _fault(place, f"unknown member {quote(name)} (members: {', '.join(needed + optional)})")
    for name in needed:
        if fields.get(name) is None:
            raise _fault(place, f"member '{name}' is missing")
    return {name: member for name, member in fields.items() if member is not None}


def _text(place: str, name: str, value: Any) -> str:
    if type(value) is not str:
        raise _fault(place, f"member '{name}' must be text, got {type_of(value)}")
    return value


def _fault(place: str, what: str) -> RuntimeFault:
    return RuntimeFault(f"mcp_reply: {place}: {what}")

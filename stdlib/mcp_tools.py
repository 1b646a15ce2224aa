"""The tools that a program offers, read from its map; every member is validated."""

from __future__ import annotations

from language.errors import FILE_MARK, RuntimeFault
from language.runtime.calls import VARARGS, is_constructor
from language.values import as_map, type_of
from language.values.display import quote
from language.values.schemas import members, object_schema, params_of, text_member

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FunctionType
    from typing import Any

    from language.values.schemas import Schema

_NAME = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")
_LONGEST_NAME = 64
#: How every error of this module begins.
_WHO = "mcp_reply: "


class Tool:
    """One tool; ``run`` takes the arguments as a map and, with a second parameter, the user."""

    __slots__ = ("annotations", "description", "name", "params", "run")

    def __init__(
        self, name: str, description: str, params: Schema, run: FunctionType, annotations: dict[str, Any] | None
    ) -> None:
        self.annotations = annotations
        self.name = name
        self.description = description
        self.params = params
        self.run = run

    def listed(self) -> dict[str, Any]:
        """The entry of ``tools/list``."""
        listed = {"name": self.name, "description": self.description, "inputSchema": object_schema(self.params)}
        return listed if self.annotations is None else {**listed, "annotations": self.annotations}


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
    fields = members(f"{_WHO}the server", value, ("name", "version", "tools"), ("instructions",))
    name = text_member(f"{_WHO}the server", "name", fields["name"])
    version = text_member(f"{_WHO}the server", "version", fields["version"])
    instructions = (
        None if "instructions" not in fields else text_member(f"{_WHO}the server", "instructions", fields["instructions"])
    )
    tools = as_map(fields["tools"])
    if tools is None:
        raise _fault("the server", f"member 'tools' must be a map, got {type_of(fields['tools'])}")
    return ToolServer(name, version, instructions, {tool: _tool(tool, entry) for tool, entry in tools.items()})


def _tool(name: str, value: Any) -> Tool:
    check_name("mcp_reply", name)
    place = f"tool '{name}'"
    fields = members(f"{_WHO}{place}", value, ("description", "run"), ("params", "annotations"))
    description = text_member(f"{_WHO}{place}", "description", fields["description"])
    params = params_of(f"{_WHO}{place}", fields.get("params", {}))
    annotations = as_map(fields.get("annotations", {}))
    if annotations is None:
        raise _fault(place, f"member 'annotations' must be a map, got {type_of(fields['annotations'])}")
    return Tool(name, description, params, task_to_run(f"{_WHO}{place}", fields["run"]), annotations or None)


def check_name(who: str, name: str) -> None:
    """Raises ``RuntimeFault`` that begins with ``who`` for a name that no tool can have."""
    if not 0 < len(name) <= _LONGEST_NAME or not _NAME.issuperset(name):
        raise RuntimeFault(f"{who}: tool {quote(name)}: a name is 1 to {_LONGEST_NAME} letters, digits, '_' and '-'")


def task_to_run(who: str, run: Any) -> FunctionType:
    """A task or lambda of the program with one or two parameters. Raises ``RuntimeFault`` that begins with ``who``."""
    code = getattr(run, "__code__", None)
    if code is None or FILE_MARK not in run.__globals__ or is_constructor(code.co_name) or code.co_flags & VARARGS:
        raise RuntimeFault(f"{who}: member 'run' must be a task or lambda of the program, got {_kind(run)}")
    if code.co_argcount not in (1, 2):
        takes = code.co_argcount
        raise RuntimeFault(f"{who}: member 'run' must take one or two parameters (arguments, user), it takes {takes}")
    return run  # type: ignore[no-any-return]


def _kind(run: Any) -> str:
    if getattr(run, "builtin", None) is not None:
        return "a builtin"
    return "a constructor" if callable(run) else type_of(run)


def _fault(place: str, what: str) -> RuntimeFault:
    return RuntimeFault(f"{_WHO}{place}: {what}")

"""Tasks as tools: called with the least they need."""

from __future__ import annotations

from language.capabilities.grants import declared_set
from language.errors import RuntimeFault
from language.registry import Family
from language.runtime.calls import call_with
from language.values import as_map, is_callable, type_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("tools", "Tools")


@family.builtin("call_tool(task, args)", context=True)
def call_tool(ctx: Context, task: Any, args: Any) -> Any:
    """Calls a task like `call`, with exactly those capabilities that its own leading `require` lines declare and that the
    caller holds as a whole; `nothing` stands for no arguments. A parameter that the map omits is its default, or `nothing`.

    A task without `require` lines runs with none. What the task calls stays inside, further `call_tool` included. So a model
    may choose the tool and its arguments, and still reaches no more than the tool says.

    `call_tool(tools[step["name"]], step["args"])` runs the tool that was chosen.
    """
    if not is_callable(task):
        raise RuntimeFault(f"call_tool expects a task, got {type_of(task)}", kind="type")
    arguments = {} if args is None else as_map(args)
    if arguments is None:
        raise RuntimeFault(f"call_tool expects a map of named args, got {type_of(args)}", kind="type")
    capabilities = ctx.capabilities
    capabilities.enter(capabilities.held(declared_set(task)))
    try:
        return call_with(task, arguments)
    finally:
        capabilities.leave()

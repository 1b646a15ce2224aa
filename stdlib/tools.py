"""Tasks as tools: called with the least privilege that they need."""

from __future__ import annotations

from language.capabilities.grants import declared_set
from language.errors import RuntimeFault
from language.registry import Family
from language.runtime.calls import call_with
from language.values import as_map, is_callable, type_of
from language.values.display import quote
from language.values.schemas import Misfit, params_of, read

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context
    from language.values.schemas import Schema

family = Family("tools", "Tools")


@family.builtin("call_tool(task, args, params?)", context=True)
def call_tool(ctx: Context, task: Any, args: Any, params: Any = None) -> Any:
    """Calls a task like `call`, with exactly those capabilities that its own leading `require` lines declare and the caller
    holds completely. `nothing` as `args` means no arguments. A parameter that the map omits gets its default, or `nothing`.

    A task without `require` lines runs without capabilities. The limit also applies to everything that the task calls,
    including further `call_tool`. So a model may choose the tool and its arguments, but can reach no more than the tool
    declares.

    With `params`, a map that describes the arguments as for `mcp_reply`, they are converted to those types before the task
    runs: the text `"2"` for an `integer` is the number 2, defaults are filled in, and an argument that is missing, of another
    type or not described is an error that names it. Without it the arguments are passed as they are: `"2" + "3"` is `"23"`.

    `call_tool(add, step.args, {"a": {"type": "integer"}, "b": {"type": "integer"}})` runs the tool `add`.
    """
    if not is_callable(task):
        raise RuntimeFault(f"call_tool expects a task, got {type_of(task)}", kind="type")
    arguments = {} if args is None else as_map(args)
    if arguments is None:
        raise RuntimeFault(f"call_tool expects a map of named args, got {type_of(args)}", kind="type")
    if params is not None:
        arguments = _typed(arguments, params_of("call_tool", params))
    capabilities = ctx.capabilities
    capabilities.enter(capabilities.held(declared_set(task)), task)
    try:
        return call_with(task, arguments)
    finally:
        capabilities.leave()


def _typed(arguments: dict[str, Any], params: Schema) -> dict[str, Any]:
    for name in arguments:
        if name not in params:
            raise RuntimeFault(f"call_tool: unknown argument {quote(name)} (described: {', '.join(params) or 'none'})")
    try:
        return read(params, arguments, texts=True)
    except Misfit as misfit:
        raise RuntimeFault(f"call_tool: {misfit.told('argument')}") from None


def tell_refused(ctx: Context, name: str, failure: Exception) -> None:
    """Warns, once, whoever runs the program of a capability that a tool was refused though the program may hold it: the model
    or client that called the tool is told the message alone.
    """
    if isinstance(failure, RuntimeFault) and failure.code == "E0501" and failure.help:
        ctx.warn_once(f"the tool '{name}' was refused a capability: {failure.help}")

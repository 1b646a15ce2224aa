"""A model that works with tools until it has an answer: ``tool_loop``, and the tools of another server for it."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import Bool, type_of
from language.values.operators import is_decimal
from stdlib.options import option_map, text_option, whole_option

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.runtime.context import Context

family = Family("tool_loop", "Tool loop")

_OPTIONS = (
    *("max_steps", "max_tokens", "timeout", "parallel", "schema", "after_outside", "outside"),
    *("system", "model", "effort", "retries", "on_chunk"),
)
AFTER_OUTSIDE = ("gate", "deny", "allow")
_MOST_STEPS = 1000
_MOST_PARALLEL = 64
_LONGEST = 86_400.0


@family.builtin("tool_loop(prompt, tools, opts?)", capability="llm", context=True)
def tool_loop(ctx: Context, prompt: Any, tools: Any, opts: Any = None) -> dict[str, Any]:
    """Asks the model, runs the tools that it calls, returns their results to it, and repeats that until it answers without a
    tool call: `{text, data, stop, steps, usage, messages}`.

    `prompt` is a text, or the list of messages that an earlier `tool_loop` or `llm_chat` gave. `tools` is a map of tool name →
    `{description, params, run}` as for `mcp_reply`; the entries of `mcp_toolset` fit too. `run` is called with a map of
    arguments, typed as `params` says, with exactly the capabilities that its own leading `require` lines declare and the
    program holds. Further members of an entry:

    - `limit`: how often the tool may be called in one loop
    - `confirm`: the question that a person is asked before each call, or `true`
    - `outside`: whether its results are text from outside. By default that is so if it may reach the network, processes,
      standard input, files, databases, memory or another tool server
    - `acts`: whether it acts outside. By default that is so if it may reach the network, processes, databases or another tool
      server, or write files

    **Text from outside** can contain instructions that the model follows (prompt injection). After the first such result, a
    tool that acts asks a person before it runs, as with `confirm`. `after_outside` changes that.

    `opts` is a map of:

    - `max_steps`: the most requests to the model, 1 to 1000 (10)
    - `max_tokens`: tokens after which no further step begins; no answer is longer than what is left
    - `timeout`: seconds for the whole loop; a tool that is still running then is stopped
    - `parallel`: how many calls of one step run at the same time, 1 to 64 (1); with more than 1 each one runs on its own copy
      of the program's variables, as in `parallel_map`
    - `schema`: the schema of the answer, a map of parameters or a `type`; `data` is the validated map. If an answer does not
      match, the model is asked once more; a second mismatch is an error
    - `after_outside`: `"gate"`, `"deny"` or `"allow"`
    - `outside`: whether the prompt itself contains text from outside (`false`)
    - `on_chunk`: a task that is called with each fragment of what the model writes, in every step, as it arrives
    - `system`, `model`, `effort`, `retries`: as for `llm_chat`

    `stop` is `end`, `length` or `refusal` as the model said, or `max_steps`, `max_tokens`, `timeout`. If a budget around the
    loop (`llm_limit`, `PLATFORM_LLM_BUDGET`) is used up between two steps, `stop` is `max_tokens`, too. Every tool call has one
    result in `messages`, even if it was not run. A failed tool, an unknown name or a wrong argument is reported to the model as
    a result. If the model does not answer, that is an error.

    A loop that is cancelled by `time_limit`, `agent_stop` or the end of the program gives no result. One that is ended by its
    own `timeout` gives its messages.

    `tool_loop("What is 2 + 3?", {"add": {"description": "Adds", "params": numbers, "run": add}}).text`
    """
    ctx.check("llm", None)
    from language.runtime.calls import callback
    from language.values.schemas import schema_of
    from stdlib.loop_steps import Loop
    from stdlib.loop_tools import tools_of
    from stdlib.model_messages import check_answered, read_messages

    options = option_map("tool_loop", opts, _OPTIONS)
    loop = Loop(ctx, tools_of("tool_loop", tools))
    loop.max_steps = whole_option("tool_loop", options, "max_steps", 10, 1, _MOST_STEPS)
    if "max_tokens" in options:
        loop.max_tokens = whole_option("tool_loop", options, "max_tokens", 0, 1, 10**12)
    loop.parallel = whole_option("tool_loop", options, "parallel", 1, 1, _MOST_PARALLEL)
    loop.set_timeout(_seconds(options))
    loop.after_outside = text_option("tool_loop", options, "after_outside") or "gate"
    if loop.after_outside not in AFTER_OUTSIDE:
        raise RuntimeFault(f'tool_loop: option "after_outside" must be one of {", ".join(AFTER_OUTSIDE)}')
    for name in ("system", "model", "effort"):
        setattr(loop, name, text_option("tool_loop", options, name))
    if "retries" in options:
        loop.retries = whole_option("tool_loop", options, "retries", 0, 0, 10)
    if "on_chunk" in options:
        loop.on_chunk = callback(options["on_chunk"], 1)
    if "schema" in options:
        loop.schema = schema_of("tool_loop: the schema", options["schema"])
    outside = options.get("outside")
    if outside is not None and type(outside) is not Bool:
        raise RuntimeFault(f'tool_loop: option "outside" must be bool, got {type_of(outside)}', kind="type")
    messages = read_messages("tool_loop", prompt)
    check_answered("tool_loop", messages)
    loop.begin(messages, outside=outside is not None and bool(outside))
    return loop.run()


@family.builtin("mcp_toolset(conn, names?)", capability="net", context=True)
def mcp_toolset(ctx: Context, conn: Any, names: Any = None) -> dict[str, Any]:
    """The tools of another server for `tool_loop`: a map of tool name → `{description, run}`, those in the list `names`, or
    all. An unknown name is an error.

    Such a tool counts as reading text from outside and as acting outside: after its first result, each further call asks a
    person. Change that in the entry, with `set tools.search.acts to false` for a tool that you know only reads. The server's
    description is itself text from outside, so with it even the first call asks. Replace it by your own:
    `set tools.search.description to "Finds notes"`.

    `tool_loop(question, mcp_toolset(conn, ["search"]))`
    """
    from stdlib.loop_tools import toolset

    return toolset(ctx, conn, names)


def _seconds(options: dict[str, Any]) -> float | None:
    value = options.get("timeout")
    if value is None:
        return None
    number = value.to_float() if is_decimal(value) else value
    if type(number) not in (int, float) or not 0 < number <= _LONGEST:
        raise RuntimeFault(f'tool_loop: option "timeout" must be a number of seconds, more than 0 and at most {_LONGEST:.0f}')
    return float(number)

"""The language model: whether there is one, the tokens used, a conversation with it."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.registry import Family
from language.values import to_bool
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.models.conversation import ChatMessage, ModelReply, ModelRequest
    from language.runtime.context import Context
    from language.values import Bool
    from language.values.schemas import Schema

family = Family("llm", "Language model")

_OPTIONS = ("system", "tools", "schema", "model", "max_tokens", "effort", "timeout", "retries", "on_chunk", "choice")
_EFFORTS = ("low", "medium", "high")
_CHOICES = ("auto", "none", "any")
_MOST_RETRIES = 10
_LONGEST = 86_400
_DOES_NOT_FIT = (
    "The answer does not fit the schema: {problem}. Answer again, with one JSON object that fits it and nothing else."
)


@family.builtin("llm_available()", context=True)
def llm_available(ctx: Context) -> Bool:
    """Whether a model answers `reason`, `decide`, `analyze` and `generate`; without one they give placeholders."""
    return to_bool(ctx.host.llm is not None)


@family.builtin("llm_usage()", context=True)
def llm_usage(ctx: Context) -> int:
    """The tokens, of questions and answers, that this process has used so far. `PLATFORM_LLM_BUDGET` bounds them."""
    return ctx.host.llm_usage.used


@family.builtin("llm_chat(messages, opts?)", capability="llm", context=True)
def llm_chat(ctx: Context, messages: Any, opts: Any = None) -> dict[str, Any]:
    """Asks the model: `{text, data, calls, messages, stop, model, usage}`. Without an answer it is an error.

    `messages` is a text, or a list of `{role, content}` with the roles `system`, `user`, `assistant` and `tool`; the `messages`
    of the result have the model's answer at the end and can be given again. `stop` is `end`, `calls` (the model asks for
    tools), `length` (`max_tokens` were reached), `refusal` or `stopped`. `usage` is `{input, output, cached, reasoning}` in
    tokens.

    Options:

    - `system`: the system prompt.
    - `schema`: a map of fields as for `validate`, or a `type`. `data` is the answer, validated against the schema. If an answer
      does not match, the model is asked once more; a second mismatch is an error. Without a schema `data` is `nothing`.
    - `tools`: a list of `{name, describe, params}` as for `llm_step`; `calls` is a list of `{id, name, args}`. The result of
      each goes back as `{"role": "tool", "call_id": id, "content": text}`. `tool_loop` does that by itself.
    - `choice`: `auto`, `none`, `any` (some tool), or the name of the tool that the model must call.
    - `on_chunk`: a task that is called with each fragment of the text as it arrives.
    - `model`: one of the names that the host offers; `max_tokens`: of the answer; `effort`: `low`, `medium` or `high`;
      `timeout`: seconds for the whole call, 600 if not given; `retries`: how often a failed call is retried, 2 if not given.

    `llm_chat("Name a river in Spain.", {"schema": {"river": {"type": "text"}}})["data"]["river"]`
    """
    from stdlib.model_messages import check_answered, read_messages
    from stdlib.options import option_map

    ctx.check("llm", None)
    options = option_map("llm_chat", opts, _OPTIONS)
    said = read_messages("llm_chat", messages)
    if not said:
        raise RuntimeFault("llm_chat: the list of messages is empty: give at least one message of the user")
    check_answered("llm_chat", said)
    return _Chat(ctx, options).result(said)


@family.builtin("llm_stream(prompt, context, on_chunk)", capability="llm", context=True)
def llm_stream(ctx: Context, prompt: Any, context: Any, on_chunk: Any) -> str:
    """Asks the model and calls the task `on_chunk` with each fragment of the text, in order; gives the whole text. `context` is
    a text that is sent after the prompt, `""` for none. An error of the task ends the call.

    If the model fails before its first fragment, the text is the error in brackets, as for `reason`; a later failure is an
    error. Without a model the text is `[no llm provider]`, and the task is not called.

    `llm_stream("Tell a story.", "", (part) => print(part))`
    """
    from language.host.llm import converse, notice_no_model
    from language.models.conversation import ChatMessage, ModelFault, ModelRequest
    from language.runtime.calls import callback

    ctx.check("llm", None)
    task = callback(on_chunk, 1)
    if ctx.host.llm is None:
        notice_no_model(ctx)
        return "[no llm provider]"
    asked, more = display(prompt), display(context)
    if more:
        asked = f"{asked}\n{more}"
    called: list[bool] = []

    def chunk(text: str) -> None:
        called.append(True)
        task(text)

    try:
        return converse(ctx, ModelRequest((ChatMessage("user", asked),), operation="stream"), chunk).text
    except ModelFault as fault:
        if called:
            raise
        task(fault.marker)
        return fault.marker


class _Chat:
    """One call of ``llm_chat`` with its options."""

    def __init__(self, ctx: Context, options: dict[str, Any]) -> None:
        from language.models.conversation import TokenUsage
        from language.runtime.calls import callback
        from language.values.schemas import object_schema, schema_of
        from stdlib.llm_steps import offered_tools
        from stdlib.options import text_option, whole_option

        self._ctx = ctx
        self._used = TokenUsage()
        self._tools = offered_tools("llm_chat", options["tools"]) if "tools" in options else {}
        self._schema: Schema | None = None
        if "schema" in options:
            self._schema = schema_of("llm_chat: the schema", options["schema"])
        self._on_chunk: Callable[[str], Any] | None = callback(options["on_chunk"], 1) if "on_chunk" in options else None
        choice = text_option("llm_chat", options, "choice")
        if choice is not None and choice not in _CHOICES and choice not in self._tools:
            known = f"{', '.join(_CHOICES)} or the name of one of the tools"
            raise RuntimeFault(f'llm_chat: option "choice" must be {known}, got {display(choice)}')
        effort = text_option("llm_chat", options, "effort")
        if effort is not None and effort not in _EFFORTS:
            raise RuntimeFault(f'llm_chat: option "effort" must be one of {", ".join(_EFFORTS)}')
        most = whole_option("llm_chat", options, "max_tokens", 0, 1, 10**9)
        retries = whole_option("llm_chat", options, "retries", -1, 0, _MOST_RETRIES)
        self._parts: dict[str, Any] = {
            "system": text_option("llm_chat", options, "system"),
            "offers": tuple(offer for offer, _ in self._tools.values()),
            "choice": choice if self._tools else None,
            "schema": None if self._schema is None else object_schema(self._schema),
            "model": text_option("llm_chat", options, "model"),
            "max_tokens": most or None,
            "effort": effort,
            "timeout": _seconds(options),
            "retries": None if retries < 0 else retries,
        }

    def result(self, said: list[ChatMessage]) -> dict[str, Any]:
        """Asks the model, and once more if the answer does not match the schema."""
        from language.models.conversation import ChatMessage
        from language.values.schemas import Misfit
        from stdlib.llm_steps import typed_call
        from stdlib.loop_steps import answer_data
        from stdlib.model_messages import message_map, usage_map

        data = None
        for repaired in (False, True):
            reply = self._ask(said)
            said = [*said, reply.message]
            if self._schema is None or reply.stop != "end":
                break
            try:
                data = answer_data(self._schema, reply.text)
                break
            except Misfit as misfit:
                problem = misfit.told("field")
            if repaired:
                raise RuntimeFault(
                    f"llm_chat: the answer of the model does not fit the schema, twice: {problem}",
                    help="Describe the fields (`description`), ask for fewer, or handle the error with try and recover.",
                )
            said.append(ChatMessage("user", _DOES_NOT_FIT.format(problem=problem)))
        schemas = {name: schema for name, (_, schema) in self._tools.items()}
        return {
            "text": reply.text,
            "data": data,
            "calls": [{"id": call.id, **typed_call(call, schemas)} for call in reply.calls],
            "messages": [message_map(message) for message in said],
            "stop": reply.stop,
            "model": reply.model,
            "usage": usage_map(self._used),
        }

    def _ask(self, said: list[ChatMessage]) -> ModelReply:
        from language.host.llm import converse
        from language.models.conversation import ModelRequest

        request: ModelRequest = ModelRequest(tuple(said), **self._parts)
        reply = converse(self._ctx, request, self._on_chunk)
        self._used += reply.usage
        return reply


def _seconds(options: dict[str, Any]) -> float | None:
    from language.values.operators import is_decimal

    value = options.get("timeout")
    if value is None:
        return None
    seconds = value.to_float() if is_decimal(value) else value
    if type(seconds) not in (int, float) or not 0 < seconds <= _LONGEST:
        raise RuntimeFault(f'llm_chat: option "timeout" must be a number of seconds above 0, at most {_LONGEST}')
    return float(seconds)

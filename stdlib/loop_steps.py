"""The steps of a tool loop: each is a request to the model and the calls in its answer."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.host.llm import converse
from language.models.conversation import Call, ChatMessage, ModelFault, ModelRequest, TokenUsage
from language.values.schemas import Misfit, object_schema, read
from stdlib.loop_calls import NOT_RUN, Calls
from stdlib.model_messages import message_map, usage_map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import ModelReply, OnChunk
    from language.runtime.context import Context
    from language.values.schemas import Schema
    from stdlib.loop_tools import LoopTool

_DOES_NOT_FIT = "Your answer does not fit: {problem}. Answer again, with one JSON object that fits, and nothing else."


class Loop:
    """One ``tool_loop``. Its options are attributes, set before :meth:`begin`."""

    def __init__(self, ctx: Context, tools: dict[str, LoopTool]) -> None:
        self._ctx = ctx
        self._tools = tools
        self.max_steps = 10
        self.max_tokens: int | None = None
        self.parallel = 1
        self.schema: Schema | None = None
        self.after_outside = "gate"
        self.system: str | None = None
        self.model: str | None = None
        self.effort: str | None = None
        self.retries: int | None = None
        self.on_chunk: OnChunk | None = None
        self._deadline: float | None = None
        self._messages: list[ChatMessage] = []
        self._used = TokenUsage()
        self._steps = 0
        self._repaired = False
        self._ids: set[str] = set()

    def set_timeout(self, seconds: float | None) -> None:
        """Sets the deadline of the whole loop, from now on."""
        self._deadline = None if seconds is None else self._ctx.host.monotonic() + seconds

    def begin(self, messages: list[ChatMessage], *, outside: bool) -> None:
        """``outside`` says whether the messages contain text from outside. Results of tools among them always count as such,
        and so do descriptions of tools from other servers.
        """
        self._messages = list(messages)
        self._ids = {call.id for message in messages for call in message.calls}
        came = outside or any(message.role == "tool" for message in messages)
        came = came or any(tool.foreign for tool in self._tools.values())
        self._calls = Calls(self._ctx, self._tools, self.parallel, self.after_outside, outside_text=came)

    def run(self) -> dict[str, Any]:
        """The result of the loop."""
        with self._ctx.span("invoke_agent", "internal", {"gen_ai.operation.name": "invoke_agent"}):
            while True:
                limit = self._limit()
                if limit is not None:
                    return self._result(limit)
                try:
                    reply = self._ask()
                except ModelFault as fault:
                    if fault.kind == "timeout" and self._left() == 0:
                        return self._result("timeout")
                    if fault.kind == "resources" and self._steps:  # the budget is used up: the paid results are kept
                        return self._result("max_tokens")
                    raise
                self._steps += 1
                message = self._with_own_ids(reply.message)
                self._messages.append(message)
                if message.calls:
                    self._answer(message.calls)
                    continue
                found = self._answered(reply)
                if found is not None:
                    return found

    def _ask(self) -> ModelReply:
        left = self._left()
        request = ModelRequest(
            tuple(self._messages),
            self.system,
            tuple(tool.offer for tool in self._tools.values()),
            schema=None if self.schema is None else object_schema(self.schema),
            model=self.model,
            max_tokens=None if self.max_tokens is None else max(1, self.max_tokens - self._used.total),
            effort=self.effort,
            timeout=left,
            retries=self.retries,
        )
        reply = converse(self._ctx, request, self.on_chunk)
        self._used += reply.usage
        return reply

    def _answer(self, calls: tuple[Call, ...]) -> None:
        """Adds exactly one result for each call."""
        limit = self._limit()
        if limit is None:
            self._messages += self._calls.results(calls, self._deadline)
        else:
            text = f"{NOT_RUN}: the loop has reached its {limit}"
            self._messages += [ChatMessage("tool", text, call_id=call.id, failed=True) for call in calls]

    def _answered(self, reply: ModelReply) -> dict[str, Any] | None:
        """The result if the model's text is the answer; ``None`` if the model is asked once more."""
        stop = "end" if reply.stop == "calls" else reply.stop
        if self.schema is None or stop != "end":
            return self._result(stop)
        try:
            return self._result(stop, answer_data(self.schema, reply.text))
        except Misfit as misfit:
            problem = misfit.told("field")
        if self._repaired:
            raise RuntimeFault(
                f"tool_loop: the answer of the model does not fit the schema, twice: {problem}",
                help="Describe the fields (`description`), ask for fewer, or handle the error with try and recover.",
            )
        self._repaired = True
        self._messages.append(ChatMessage("user", _DOES_NOT_FIT.format(problem=problem)))
        return None

    def _limit(self) -> str | None:
        """The name of the limit that is reached; ``None`` if none is."""
        if self._steps >= self.max_steps:
            return "max_steps"
        if self.max_tokens is not None and self._used.total >= self.max_tokens:
            return "max_tokens"
        return "timeout" if self._left() == 0 else None

    def _left(self) -> float | None:
        """The seconds that are left; ``None`` without a timeout."""
        return None if self._deadline is None else max(0.0, self._deadline - self._ctx.host.monotonic())

    def _with_own_ids(self, message: ChatMessage) -> ChatMessage:
        """The message with a unique id for each call, because some servers send none or repeat one."""
        calls = []
        for call in message.calls:
            ident, number = call.id, len(self._ids)
            while not ident or ident in self._ids:
                number += 1
                ident = f"call_{number}"
            self._ids.add(ident)
            calls.append(call if ident == call.id else Call(ident, call.name, call.args, call.raw))
        return ChatMessage(message.role, message.content, tuple(calls), message.call_id, message.failed, message.opaque)

    def _result(self, stop: str, data: Any = None) -> dict[str, Any]:
        said = [message.content for message in self._messages if message.role == "assistant"]
        return {
            "text": said[-1] if said else "",
            "data": data,
            "stop": stop,
            "steps": self._steps,
            "usage": usage_map(self._used),
            "messages": [message_map(message) for message in self._messages],
        }


def answer_data(schema: Schema, text: str) -> dict[str, Any]:
    """The answer, validated against the schema. Raises ``Misfit``."""
    from language.values.json_decoding import parse, parse_written

    text = text.strip()
    if text.startswith("```") and text.endswith("```"):
        text = text[3:-3].removeprefix("json").strip()
    try:
        return read(schema, parse(text), parse_written(text))
    except Misfit:
        raise
    except ValueError:
        raise Misfit("", "must be a JSON object, got a text that is none") from None

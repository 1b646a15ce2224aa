"""The calls of one step of a tool loop: which of them run, the questions to a person before that, and their results."""

from __future__ import annotations

from language.capabilities.grants import declared_set
from language.errors import RuntimeFault, Uncatchable
from language.gates import LONGEST_MESSAGE, Gate
from language.models.conversation import ChatMessage
from language.runtime.calls import callback
from language.runtime.intrinsics import caught
from language.runtime.isolation import isolate
from language.runtime.threads import WorkerEnded, run_in_threads, run_until
from language.values import as_map
from language.values.display import display
from language.values.json_encoding import encode
from language.values.schemas import Misfit
from stdlib.loop_tools import RemoteTool
from stdlib.tools import tell_refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from language.models.conversation import Call
    from language.runtime.context import Context
    from stdlib.loop_tools import LoopTool

    #: A call that may run: its position in its step, its id, the tool, the arguments.
    _Allowed = tuple[int, str, LoopTool, dict[str, Any]]

NOT_RUN = "not run"
#: The most characters of a result that are sent to the model.
LONGEST_RESULT = 200_000


class Calls:
    """The calls of one loop. ``outside_text`` says whether text from outside has entered it."""

    def __init__(
        self, ctx: Context, tools: dict[str, LoopTool], parallel: int, after_outside: str, *, outside_text: bool
    ) -> None:
        self._ctx = ctx
        self._tools = tools
        self._parallel = parallel
        self._after_outside = after_outside
        self.outside_text = outside_text

    def results(self, calls: Sequence[Call], deadline: float | None) -> list[ChatMessage]:
        """One message for each call, in their order.

        The model decides on all calls of a step before it reads any result of that step. So text from outside has an effect
        only from the next step on.
        """
        found: list[tuple[str, bool] | None] = [None] * len(calls)
        allowed: list[_Allowed] = []
        for at, call in enumerate(calls):
            refusal, tool, arguments = self._decided(call)
            if tool is None or arguments is None:
                found[at] = (refusal, True)
            else:
                tool.calls += 1
                allowed.append((at, call.id, tool, arguments))
        begun: list[LoopTool] = []
        self._run_within(deadline, lambda: self._run_all(allowed, found, begun))
        self.outside_text = self.outside_text or any(tool.brings_outside_text for tool in begun)
        stopped = ("stopped: the time of the loop is over. What the tool had begun may have happened", True)
        return [
            ChatMessage("tool", text, call_id=call.id, failed=failed)
            for call, (text, failed) in zip(calls, (outcome or stopped for outcome in found))
        ]

    # ---- which calls run -------------------------------------------------------------------------------------------------

    def _decided(self, call: Call) -> tuple[str, LoopTool | None, dict[str, Any] | None]:
        """The tool and its arguments for a call that may run; otherwise the reason why it does not run."""
        tool = self._tools.get(call.name)
        if tool is None:
            return f"{NOT_RUN}: there is no tool '{call.name}' (tools: {', '.join(self._tools) or 'none'})", None, None
        try:
            arguments = tool.arguments(call)
        except Misfit as misfit:
            return (
                f"{NOT_RUN}: {misfit.told('argument') if misfit.place else 'the arguments are not a JSON object'}",
                None,
                None,
            )
        if tool.limit is not None and tool.calls >= tool.limit:
            return f"{NOT_RUN}: the tool may be called at most {tool.limit} times", None, None
        refusal = self._refusal(tool, arguments)
        return (refusal, None, None) if refusal else ("", tool, arguments)

    def _refusal(self, tool: LoopTool, arguments: dict[str, Any]) -> str:
        """Why a call may not run; empty if it may. Asks a person if that is required."""
        exposed = self.outside_text and tool.acts
        if exposed and self._after_outside == "deny":
            return f"{NOT_RUN}: after text from outside was read, no tool runs that acts outside"
        question = tool.question
        if exposed and self._after_outside == "gate" and question is None:
            question = "act outside, after text from outside was read"
        if question is None:
            return ""
        message = f"[tool {tool.name}] {question}: {encode(arguments, 'tool_loop')}"
        if len(message) > LONGEST_MESSAGE:
            return f"{NOT_RUN}: the arguments are too long for the person who is asked to read them"
        if self._ctx.gates.answer(Gate("confirm", message, None, None)):
            return ""
        return f"{NOT_RUN}: a person was asked and did not agree"

    # ---- running them ----------------------------------------------------------------------------------------------------

    def _run_within(self, deadline: float | None, work: Callable[[], None]) -> None:
        """Runs ``work`` until the deadline."""
        if deadline is None:
            work()
            return
        failures: list[BaseException] = []

        def guarded() -> None:
            try:
                work()
            except (Exception, Uncatchable) as failure:
                failures.append(failure)

        started = True
        try:
            run_until(guarded, max(0.001, deadline - self._ctx.host.monotonic()))
        except RuntimeFault:
            started = False
        if not started:  # a build without threads
            work()
        for failure in failures:
            if not isinstance(failure, WorkerEnded):
                raise failure

    def _run_all(self, allowed: list[_Allowed], found: list[tuple[str, bool] | None], begun: list[LoopTool]) -> None:
        # A connection belongs to this context, so workers cannot use it.
        local = [entry for entry in allowed if type(entry[2].run) is not RemoteTool]
        together = local if self._parallel > 1 and len(local) > 1 else []
        for at, ident, tool, arguments in allowed:
            if not any(at == other[0] for other in together):
                begun.append(tool)
                found[at] = _outcome(self._ctx, ident, tool, tool.run, arguments)
        if together:
            begun += [entry[2] for entry in together]
            self._run_together(together, found)

    def _run_together(self, allowed: list[_Allowed], found: list[tuple[str, bool] | None]) -> None:
        from itertools import count

        ctx = self._ctx
        workers = max(1, min(self._parallel, len(allowed), ctx.workers_left))
        numbers = count()  # advancing it is atomic
        lines: list[Sequence[str]] = [()] * len(allowed)
        failures: list[BaseException] = []

        def work() -> None:
            while not failures:
                number = next(numbers)
                if number >= len(allowed):
                    return
                at, ident, tool, arguments = allowed[number]
                child = ctx.fork(workers)
                lines[number] = child.collected
                try:
                    run, given = isolate([tool.run, arguments], child, redacted=True)
                    found[at] = _outcome(child, ident, tool, run, given)
                except (Exception, Uncatchable) as failure:
                    # Raised again in the caller's thread, where loops and limits handle it.
                    failures.append(failure)

        try:
            if workers > 1:
                run_in_threads(work, workers)
            else:
                work()
        finally:
            for written in lines:
                for line in written:
                    ctx.write(line)
        for failure in failures:
            raise failure


def _outcome(ctx: Context, ident: str, tool: LoopTool, run: Any, arguments: dict[str, Any]) -> tuple[str, bool]:
    """The text that a tool returns, and whether it failed. The tool runs with the least privilege, as with ``call_tool``.
    ``ident`` is the id of the call.
    """
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool.name, "gen_ai.tool.call.id": ident}
    with ctx.span(f"execute_tool {tool.name}", "internal", told) as span:
        try:
            return _shortened(_text(_value(ctx, tool, run, arguments))), False
        except Exception as failure:
            span.fail("tool")
            tell_refused(ctx, tool.name, failure)
            return _shortened(caught(failure)), True


def _value(ctx: Context, tool: LoopTool, run: Any, arguments: dict[str, Any]) -> Any:
    if type(run) is RemoteTool:
        from stdlib.mcp_client import mcp_call

        return mcp_call(ctx, run.connection, run.name, arguments)
    capabilities, outer = ctx.capabilities, ctx.tool
    capabilities.enter(capabilities.held(declared_set(run)), run)
    try:
        ctx.tool = tool.name
        return callback(run, 2)(arguments, None)
    finally:
        ctx.tool = outer
        capabilities.leave()


def _text(value: Any) -> str:
    return encode(value, "tool_loop") if type(value) is list or as_map(value) is not None else display(value)


def _shortened(text: str) -> str:
    more = len(text) - LONGEST_RESULT
    return text if more <= 0 else f"{text[:LONGEST_RESULT]}\n[{more} more characters are left out]"

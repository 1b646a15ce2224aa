"""The provider ``mock``: answers from a file, for tests of programs without a network."""

from __future__ import annotations

from language.errors import RuntimeFault
from language.locks import Lock
from language.models.conversation import ChatMessage, Model, ModelFault, ModelReply, TokenUsage
from language.models.hook import calls_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from language.models.conversation import ModelRequest, OnChunk
    from language.runtime.context import Context


class MockModel(Model):
    """Answers from a script, an object of

    - ``responses``: for each operation an answer or a list of answers. A list is used in order, and its last one repeats.
    - ``steps``: the answers of ``llm_step`` in order; after them ``responses.step`` holds.
    - ``match``: a list of ``{"contains", "answer"}``, perhaps with an ``operation``. The first one whose text occurs in the
      prompt answers in place of ``responses``, however often and in whatever order.
    - ``tokens``: what each call counts, 0 if not given.

    An answer is a text, or an object with ``text``, ``calls`` (a list of ``{"name", "args"}``), ``stop`` and ``error``.
    Without an answer the text is ``[mock:OPERATION]``.
    """

    provider = "mock"
    name = "mock"

    def __init__(self, script: dict[str, Any]) -> None:
        self._lock = Lock()
        self._calls = 0
        self._responses: dict[str, list[Any]] = {
            name: list(given) if isinstance(given, list) else [given] for name, given in script.get("responses", {}).items()
        }
        self._steps = list(script.get("steps") or [])
        self._match: list[dict[str, Any]] = list(script.get("match") or [])
        tokens = script.get("tokens", 0)
        self._tokens = tokens if type(tokens) is int and tokens > 0 else 0

    def most_tokens(self, request: ModelRequest) -> tuple[int, int]:
        return self._tokens, 0

    def converse(self, request: ModelRequest, on_chunk: OnChunk | None, ctx: Context) -> ModelReply:
        answer, tokens = self._answer(request)
        if not isinstance(answer, dict):
            answer = {"text": str(answer)}
        if answer.get("error") is not None:
            raise ModelFault(f"mock error: {answer['error']}", spent=tokens)
        calls = calls_of(answer.get("calls"), self._count(len(answer.get("calls") or ())))
        text = str(answer.get("text", ""))
        if on_chunk is not None:
            for chunk in text.splitlines(keepends=True):
                on_chunk(chunk)
        stop = str(answer.get("stop") or ("calls" if calls else "end"))
        message = ChatMessage("assistant", text, calls)
        return ModelReply(message, stop, request.model or self.name, TokenUsage(input=tokens))

    def _answer(self, request: ModelRequest) -> tuple[Any, int]:
        """The next answer and its tokens."""
        operation = request.operation
        for entry in self._match:
            if entry.get("operation", operation) == operation and str(entry.get("contains", "")) in request.prompt:
                return entry.get("answer", ""), self._tokens
        with self._lock:
            if operation == "step" and self._steps:
                return _step(self._steps.pop(0), self._tokens)
            answers = self._responses.get(operation)
            if not answers:
                return f"[mock:{operation}]", self._tokens
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        return answer, 0 if operation == "step" else self._tokens

    def _count(self, more: int) -> int:
        """Reserves ``more`` numbers for tool calls and returns the first."""
        with self._lock:
            first = self._calls + 1
            self._calls += more
            return first


def _step(step: Any, tokens: int) -> tuple[Any, int]:
    if not isinstance(step, dict):
        return step, tokens
    counted = step.get("tokens", tokens)
    counted = counted if type(counted) is int and counted > 0 else 0
    if step.get("kind") == "tool":
        return {"calls": [{name: step[name] for name in ("id", "name", "args") if name in step}]}, counted
    return step, counted


def scripted(script: object, path: str) -> MockModel:
    """The mock of a script, read from the JSON file at this path. Raises ``RuntimeFault`` for an invalid one."""
    if not isinstance(script, dict) or not isinstance(script.get("responses", {}), dict):
        raise RuntimeFault(
            f'PLATFORM_LLM_MOCK: {path} must hold an object like {{"responses": {{"reason": "..."}}}}', kind="file"
        )
    for name in ("steps", "match"):
        given = script.get(name, [])
        if not isinstance(given, list) or (name == "match" and not all(isinstance(entry, dict) for entry in given)):
            raise RuntimeFault(f'PLATFORM_LLM_MOCK: {path}: "{name}" must be a list of objects', kind="file")
    return MockModel(script)

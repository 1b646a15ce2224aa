"""The only way from a program to a language model, and the four operations of the language: their prompts, their results
without a provider, and how ``decide`` chooses among its options.

The host provides the model (``Host.llm``). :func:`converse` makes every call: it keeps the budget and writes the audit.
"""

from __future__ import annotations

from language.console_text import one_line
from language.errors import RuntimeFault
from language.models.budget import OF_IDENTITY, Reservation, Usage
from language.models.conversation import ChatMessage, ModelFault, ModelRequest, Offer
from language.values.display import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from language.host import Host
    from language.models.conversation import Model, ModelReply, OnChunk, TokenUsage
    from language.runtime.context import Context

__all__ = ["Usage", "configured_budget", "converse", "operation", "option_in"]

NO_PROVIDER = "no LLM provider is configured: LLM operations answer with placeholders. Set PLATFORM_LLM_PROVIDER and its key."
#: Seconds that a call waits for other calls to settle if its request names no limit.
_LONGEST_WAIT = 600.0
#: Characters of an answer shown in the error that it matches no option.
_SHOWN = 200
#: Removed from both ends of an answer before it is compared with the options.
_PUNCTUATION = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~" + "¿¡«»“”‘’"


def configured_budget(host: Host) -> int | None:
    """``PLATFORM_LLM_BUDGET``. Any value but a positive integer gives a warning and no limit."""
    from language.settings import read_setting, whole_number

    name = "PLATFORM_LLM_BUDGET"
    return read_setting(name, host.environ(name), whole_number(1, 10**15), "a positive integer", None, host.warn, "no budget")


def configured_identity_budgets(host: Host) -> dict[str, Usage]:
    """``PLATFORM_LLM_BUDGET_PER_IDENTITY``: ``id=N,id2=M``, the limits of tokens of users of a service. An invalid part gives a
    warning, and its user has no limit.
    """
    budgets: dict[str, Usage] = {}
    for part in (host.environ("PLATFORM_LLM_BUDGET_PER_IDENTITY") or "").split(","):
        name, equals, tokens = (piece.strip() for piece in part.rpartition("="))
        if name and equals and tokens.isascii() and tokens.isdigit() and len(tokens) <= 15 and int(tokens) > 0:
            budgets[name] = Usage(int(tokens), help=OF_IDENTITY, whose=f" for identity {one_line(name)}")
        elif part.strip():
            shown = one_line(part.strip()[:100])
            host.warn(f"PLATFORM_LLM_BUDGET_PER_IDENTITY must be like ana=20000,ben=5000, got {shown!r}: it is left out")
    return budgets


def converse(context: Context, request: ModelRequest, on_chunk: OnChunk | None = None) -> ModelReply:
    """Asks the host's model once, within the budget, and records provider, model and tokens in the audit.

    The caller has checked the capability. Raises ``ModelFault`` without a model, without room in the budget and without an
    answer.
    """
    host = context.host
    model = host.llm
    if model is None:
        raise ModelFault(
            "no LLM provider is configured",
            kind="unsupported",
            help="Set PLATFORM_LLM_PROVIDER and the key of that provider; `lang llm status` shows what is set.",
        )
    if model.takes_background:
        request = _with_background(context, request)
    # Every thread reserves from the outermost limit inwards, so that two calls never deadlock.
    limits = [(usage, Reservation()) for usage in (host.llm_usage, *_of_identity(context), *context.llm_limits)]
    spent = 0
    try:
        question, answer = model.most_tokens(request)
        most = answer
        for usage, held in limits:
            most = usage.reserve(held, question, most, request.timeout or _LONGEST_WAIT)
        if most < answer:
            request = request.changed(max_tokens=most)
        spent = question  # the cost to count if the call is cancelled
        with context.span("chat", "client") as span:
            if context.spans is not None:
                _describe_question(span, request.model or model.name, model)
            try:
                reply = model.converse(request, on_chunk, context)
            except ModelFault as fault:
                if context.spans is not None:
                    _describe_answer(span, fault.id, fault.first_chunk, fault.used)
                raise
            if context.spans is not None:
                _describe_question(span, request.model or model.name or reply.model, model)
                span.set("gen_ai.response.model", reply.model or None)
                span.set("gen_ai.response.finish_reasons", [reply.stop])
                _describe_answer(span, reply.id, reply.first_chunk, reply.usage)
        spent = reply.usage.total
    except ModelFault as fault:
        spent = fault.spent
        if model.provider:
            context.capabilities.note_use("llm", f"{model.provider} gave no answer: {spent} tokens", "model call")
        raise
    finally:
        for usage, held in limits:
            usage.settle(held, spent)
    if model.provider:
        used = reply.usage
        said = f"answered by {model.provider} {reply.model}: {used.input} + {used.output} tokens"
        context.capabilities.note_use("llm", said, "model call")
    return reply


def _with_background(context: Context, request: ModelRequest) -> ModelRequest:
    """The request with information about the program added. In a conversation the program's own instructions are kept."""
    if request.operation == "chat" or request.system or any(message.role == "system" for message in request.messages):
        return request
    return request.changed(system=context.background())


def _of_identity(context: Context) -> tuple[Usage, ...]:
    """The limit of the user whose request the service is answering; empty if there is none."""
    person = None if context.exchange is None else context.exchange.person
    usage = None if person is None else context.host.llm_identities.get(person)
    return () if usage is None else (usage,)


def _describe_question(span: Any, asked: str, model: Model) -> None:
    """Adds to a trace span which model is called (``asked`` is its name), but nothing of the prompt."""
    span.name = f"chat {asked}".strip()
    span.set("gen_ai.operation.name", "chat")
    span.set("gen_ai.provider.name", model.provider or None)
    span.set("gen_ai.request.model", asked or None)


def _describe_answer(span: Any, id: str, first_chunk: float | None, used: TokenUsage | None) -> None:
    """Adds to a trace span what the answer cost, also if the call failed midway, but nothing of the answer."""
    span.set("gen_ai.response.id", id or None)
    span.set("gen_ai.response.time_to_first_chunk", first_chunk)
    if used is not None:
        span.set("gen_ai.usage.input_tokens", used.input)
        span.set("gen_ai.usage.output_tokens", used.output)
        span.set("gen_ai.usage.cache_read.input_tokens", used.cached or None)
        span.set("gen_ai.usage.cache_creation.input_tokens", used.written or None)
        span.set("gen_ai.usage.reasoning.output_tokens", used.reasoning or None)


def operation(context: Context, name: str) -> Callable[..., str]:
    """The operation of that name for a program. The capability is checked before any argument is evaluated."""
    context.capabilities.check_operation("llm", "llm operation")
    run = _OPERATIONS[name]
    return lambda *operands: run(context, *operands)


# ---- the operations ----------------------------------------------------------------------------------------------------


def _reason(context: Context, subject: Any, name: str | None, value: Any) -> str:
    shown = display(subject)
    prompt = shown if name is None else f"Reason about: {shown} (context: {name}={display(value)})"
    return _ask(context, "reason", prompt, f"[reasoning about: {shown}]").text


def _analyze(context: Context, data: Any, objective: str) -> str:
    return _ask(context, "analyze", f"Analyze for {objective}: {display(data)}", f"[analysis of: {objective}]").text


def _generate(context: Context, target: str, has_given: bool, given: Any, name: str | None, value: Any) -> str:
    prompt = f"Generate {target}"
    if has_given:
        prompt += f" given {display(given)}"
    if name is not None:
        prompt += f" with {name}={display(value)}"
    return _ask(context, "generate", prompt, f"[generated: {target}]").text


def _decide(context: Context, choices: Any, given: Any) -> str:
    prompt = f"Decide between {display(choices)} given {display(given)}"
    options = [display(choice) for choice in choices] if type(choices) is list else []
    answer = _ask(context, "decide", prompt, "[decision pending]", options)
    model = context.host.llm
    if not options or answer.failed or model is None:
        return answer.text
    found = option_in(answer.text, options)
    if found is not None or not model.asks_again:
        return answer.text if found is None else found
    again = f"{prompt}\nYour answer '{answer.text}' is not valid. Answer with exactly one of: {', '.join(options)}"
    answer = _ask(context, "decide", again, "[decision pending]", options)
    if answer.failed:
        return answer.text
    found = option_in(answer.text, options)
    if found is None:
        said = answer.text if len(answer.text) <= _SHOWN else answer.text[:_SHOWN] + "…"
        raise RuntimeFault(
            f"decide: the model answered none of the {len(options)} options twice, at last {said!r}",
            help="Word the options so that each can be told from the others, or handle the error with try and recover.",
        )
    return found


_OPERATIONS: dict[str, Callable[..., str]] = {"reason": _reason, "analyze": _analyze, "generate": _generate, "decide": _decide}


class _Answer:
    """A text for the program. ``failed`` marks a text that is not from a model, which is returned unchanged."""

    __slots__ = ("failed", "text")

    def __init__(self, text: str, *, failed: bool = False) -> None:
        self.text = text
        self.failed = failed


def _ask(context: Context, name: str, prompt: str, placeholder: str, options: list[str] | None = None) -> _Answer:
    if context.host.llm is None:
        _notice(context, "llm", NO_PROVIDER)
        return _Answer(placeholder, failed=True)
    offers = (_choice(options),) if options else ()
    request = ModelRequest(
        (ChatMessage("user", prompt),), offers=offers, choice=offers[0].name if offers else None, operation=name
    )
    try:
        reply = converse(context, request)
    except ModelFault as fault:
        if fault.kind == "resources":
            _notice(context, "budget", fault.message)
        return _Answer(fault.marker, failed=True)
    for call in reply.calls:
        option = (call.args or {}).get("option")
        if isinstance(option, str):
            return _Answer(option)
    return _Answer(reply.text)


def _choice(options: list[str]) -> Offer:
    """A tool that the model is made to call, so that its answer is one of the options."""
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"option": {"type": "string", "enum": list(dict.fromkeys(options))}},
        "required": ["option"],
        "additionalProperties": False,
    }
    return Offer("choose", "Gives the option that was chosen.", schema)


def option_in(answer: str, options: list[str]) -> str | None:
    """The option that an answer names, as the program wrote it; ``None`` when there is none or more than one.

    The answer equals the option when case and punctuation at the ends are ignored, or contains that option alone as whole
    words.
    """
    said = _plain(answer)
    plain = [_plain(option) for option in options]
    for option, text in zip(options, plain):
        if text == said:
            return option
    found = [option for option, text in zip(options, plain) if text and _stands_in(text, said)]
    return found[0] if len(found) == 1 else None


def _plain(text: str) -> str:
    return text.strip().strip(_PUNCTUATION).strip().lower()


def _stands_in(word: str, text: str) -> bool:
    start = text.find(word)
    while start >= 0:
        end = start + len(word)
        if not (start and text[start - 1].isalnum()) and not (end < len(text) and text[end].isalnum()):
            return True
        start = text.find(word, start + 1)
    return False


def notice_no_model(context: Context) -> None:
    """Writes once that there is no model, and what is missing."""
    _notice(context, "llm", NO_PROVIDER)


def _notice(context: Context, key: str, text: str) -> None:
    from language.gates import notice

    notice(context.host, f"llm {key}", text)
